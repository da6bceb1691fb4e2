//! Random applications on two nodes: no panic, the same catalog twice, relationships to resources of the
//! catalog only, and no catalog that fails for a reason that the graph could have named.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::Value as Json;

use crate::application_world::World;
use crate::entry;

/// Types that components produce and consume.
const TYPES: &str = "
capability sql(Optional[String] $host = undef, Integer $port = 1) { }
define db($host = 'h') { notify { \"in db ${name}\": } }
Db produces Sql { port => 3306 }
Db consumes Sql { }
define web($host = 'x', Integer $port = 2) { file { \"/web/${name}\": before => Notify['last'] } }
Web consumes Sql { }
Notify produces Sql { host => $name }
Notify consumes Sql { message => $host }
class k($host = 'k') { notify { 'in k': } }
Class[k] produces Sql { }
notify { 'last': }
";

/// Components, and the statements about them that an application may have.
const COMPONENTS: &[(&str, &str)] = &[
    ("Db['d']", "db { 'd': export => Sql['a'] }"),
    (
        "Db['e']",
        "db { 'e': export => [Sql['b'], Sql['c']], consume => Sql['a'] }",
    ),
    ("Db['f']", "db { 'f': export => Sql['a'] }"),
    ("Web['w']", "web { 'w': consume => Sql['a'] }"),
    (
        "Web['x']",
        "web { 'x': require => Sql['b'], consume => Sql['c'] }",
    ),
    ("Web['y']", "web { 'y': consume => [Sql['a'], Sql['n']] }"),
    ("Web['z']", "web { 'z': require => Sql['k'] }"),
    (
        "Notify['n']",
        "notify { 'n': export => Sql['n'], consume => Sql['b'] }",
    ),
    (
        "Notify['o']",
        "notify { 'o': consume => Sql['n'], tag => 'o' }",
    ),
    ("Class['k']", "class { 'k': export => Sql['k'] }"),
];

/// Statements that name two components, which an application may have if it declares both.
const RELATIONSHIPS: &[([&str; 2], &str)] = &[
    (["Db['d']", "Web['w']"], "Db['d'] -> Web['w']"),
    (["Web['x']", "Notify['o']"], "Web['x'] ~> Notify['o']"),
    (["Db['d']", "Web['z']"], "Web['z'] { require +> Db['d'] }"),
    (
        ["Db['e']", "Notify['n']"],
        "Notify['n'] { before => Db['e'] }",
    ),
    (["Web['w']", "Web['w']"], "Web <| |>"),
];

const NODES: [&str; 2] = ["one.example.net", "two.example.net"];

/// Reasons that only the catalog of a node has: a value that its producer has not given yet, also because
/// the two nodes wait for each other, and two values for one parameter.
const REASONS_OF_NODES: &[&str] = &[
    "it might not have been produced yet",
    "caused by multiple consumed mappings",
];

prop_compose! {
    fn environment()(
        components in prop::sample::subsequence(COMPONENTS, 0..=COMPONENTS.len()),
        relationships in prop::sample::subsequence(RELATIONSHIPS, 0..=RELATIONSHIPS.len()),
        places in prop::collection::vec(0..NODES.len(), COMPONENTS.len()),
    ) -> String {
        let mapped = |place: usize| {
            let here = components.iter().zip(&places).filter(|(_, it)| **it == place);
            here.map(|((reference, _), _)| *reference).collect::<Vec<_>>().join(", ")
        };
        let is_declared = |reference: &&str| components.iter().any(|(it, _)| it == reference);
        let relationships = relationships.iter().filter(|(ends, _)| ends.iter().all(is_declared));
        let declared = components.iter().map(|(_, text)| *text);
        let declared: Vec<&str> = declared.chain(relationships.map(|(_, text)| *text)).collect();
        format!(
            "{TYPES}application app() {{\n{}\n}}\nsite {{ app {{ 'one': nodes => {{ Node['{}'] => [{}], \
             Node['{}'] => [{}] }} }} }}\n",
            declared.join("\n"), NODES[0], mapped(0), NODES[1], mapped(1),
        )
    }
}

proptest! {
    #[test]
    fn catalogs_follow_from_a_graph(text in environment()) {
        let world = World::new(&text, &[]);
        let graph = entry::graph(&world.environment, &text);
        // what a node needs comes from the other one, which may need something of this one
        for _ in 0..3 {
            for node in NODES {
                let catalog = world.catalog(node);
                match (&graph, &catalog) {
                    (_, Ok(catalog)) => check(catalog, &text),
                    (Ok(_), Err(error)) => prop_assert!(
                        REASONS_OF_NODES.iter().any(|reason| error.contains(reason)),
                        "{error}\n{text}"
                    ),
                    (Err(_), Err(_)) => {}
                }
                prop_assert_eq!(world.catalog(node), catalog, "{}", text);
            }
        }
    }
}

/// Fails if an edge or a relationship has a resource at an end that is not in the catalog.
fn check(catalog: &Json, text: &str) {
    entry::check_edges(catalog, text);
    let resources = catalog["resources"].as_array().expect("a list");
    let word = |value: &Json| value.as_str().expect("a text").to_owned();
    let names: HashSet<String> = resources
        .iter()
        .map(|it| format!("{}[{}]", word(&it["type"]), word(&it["title"])))
        .collect();
    for resource in resources {
        for name in ["require", "before", "notify", "subscribe"] {
            let ends = match &resource["parameters"][name] {
                Json::Null => continue,
                Json::Array(ends) => ends.clone(),
                end => vec![end.clone()],
            };
            for end in ends {
                assert!(names.contains(&word(&end)), "no {end} in {text}");
            }
        }
    }
}
