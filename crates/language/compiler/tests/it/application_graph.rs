//! The graph of an environment's applications, and what it and the catalogs of nodes refuse.

use serde_json::{Value as Json, json};

use crate::application_world::{HTTP, SQL, World};

fn component(produces: &[&str], consumes: &[&str], node: &str) -> Json {
    json!({ "produces": produces, "consumes": consumes, "node": node })
}

#[test]
fn the_graph_of_the_lamp_site_is_that_of_puppet_6() {
    let graph = World::lamp().graph().expect("a graph");
    let mut applications = serde_json::Map::new();
    for app in ["app2", "app1"] {
        let sql = format!("Sql[{app}]");
        let mut components = serde_json::Map::new();
        components.insert(
            format!("Lamp::Mysql[{app}]"),
            component(&[&sql], &[], "dev1.example.net"),
        );
        for number in 1..=3 {
            components.insert(
                format!("Lamp::Webapp[{app}-{number}]"),
                component(&[], &[&sql], &format!("dev{}.example.net", number + 1)),
            );
        }
        applications.insert(format!("Lamp[{app}]"), Json::Object(components));
    }
    let expected = json!({
        "environment": "production",
        "applications": applications,
        "code_id": null,
    });
    // as text, since the order of keys is that of the declarations
    let document = serde_json::to_string(&graph).expect("JSON");
    assert_eq!(document, expected.to_string());
    assert_eq!(graph.logs, []);
    assert_eq!(graph.component_cycle(), None);
}

/// Definitions for the cases: a database, a web server and a balancer.
const DEFINITIONS: &str = "
define db(Integer $port = 3306, String $host = 'h') { }
Db produces Sql { }
define web(String $host, Integer $port, String $extra = 'x') { }
Web consumes Sql { }
Web produces Http { ip => $host }
define lb($balancers = []) { }
define plain() { }
class prod(Integer $port = 1) { }
Class[prod] produces Sql { host => 'of class' }
application stack($size = 1) {
  db { $name: export => Sql[$name] }
  web { \"${name}-1\": consume => Sql[$name], export => Http[$name] }
  lb { $name: require => Http[$name] }
}
application free($nothing = undef) { }
";

/// The node map of a whole stack.
const MAP: &str = "{ Node['a'] => Db['one'], Node['b'] => [Web['one-1'], Lb['one']] }";

/// A case: its name, an application body or a whole site, and the results of the environment and of
/// the node `a`: the part of a message, or `ok`.
struct Case {
    name: &'static str,
    manifest: String,
    graph: &'static str,
    node: &'static str,
}

/// A site with one `stack`.
fn stack(parameters: &str) -> String {
    format!("site {{ stack {{ 'one': {parameters} }} }}")
}

/// A site with one application `it` of this body, whose components `refs` are mapped to node `a`.
fn app(body: &str, refs: &str) -> String {
    format!(
        "application it() {{ {body} }}\nsite {{ it {{ 'one': nodes => {{ Node['a'] => [{refs}] }} }} }}"
    )
}

/// One case for each row of the table of checks in the reference, G and N, with the improvements.
fn cases() -> Vec<Case> {
    let case = |name, manifest: String, graph, node| Case {
        name,
        manifest,
        graph,
        node,
    };
    vec![
        case("complete", stack(&format!("nodes => {MAP}")), "ok", "ok"),
        case(
            "component not mapped",
            stack("nodes => { Node['a'] => Db['one'] }"),
            "Application Stack[one] has components without assigned nodes: Web[one-1], Lb[one] (file: site.pp, line:",
            "ok",
        ),
        case(
            "mapped, does not exist",
            stack(
                "nodes => { Node['a'] => [Db['one'], Web['zzz']], Node['b'] => [Web['one-1'], Lb['one']] }",
            ),
            "Application Stack[one] assigns nodes to non-existent components: Web[zzz]",
            "ok",
        ),
        case(
            "mapped, belongs to another application",
            "application it() { db { $name: export => Sql[$name] } }
             site {
               it { 'one': nodes => { Node['a'] => [Db['one'], Db['two']] } }
               it { 'two': nodes => { Node['b'] => Db['two'] } }
             }"
            .to_owned(),
            "Application It[one] assigns nodes to non-existent components: Db[two] (file: site.pp, line: 19)",
            "ok",
        ),
        case(
            "mapped twice",
            stack(
                "nodes => { Node['a'] => Db['one'], Node['b'] => [Db['one'], Web['one-1'], Lb['one']] }",
            ),
            "Application Stack[one] assigns multiple nodes to component Db[one]",
            "Application Stack[one] maps component Db[one] to multiple nodes",
        ),
        case(
            "no nodes",
            stack("size => 1"),
            "Stack[one]: expects a value for parameter 'nodes'",
            "ok",
        ),
        case(
            "nodes not a hash",
            stack("nodes => 'x'"),
            "Stack[one]: parameter 'nodes' expects a Hash value, got String",
            "Invalid node mapping in Stack[one]: Mapping must be a hash",
        ),
        case(
            "key not Node[]",
            stack("nodes => { 'd' => Db['one'] }"),
            "parameter 'nodes' key of entry 'd' expects a Type[Resource] value, got String",
            "Invalid node mapping in Stack[one]: Key d is not a Node",
        ),
        case(
            "value not a resource",
            stack("nodes => { Node['a'] => 'Db[one]' }"),
            "parameter 'nodes' expects a",
            "Invalid node mapping in Stack[one]: Value Db[one] is not a resource",
        ),
        case(
            "the same key twice",
            stack("nodes => { Node['a'] => Db['one'], Node['a'] => [Web['one-1'], Lb['one']] }"),
            "The key '[\"a\"]' is declared more than once",
            "The key '[\"a\"]' is declared more than once",
        ),
        case(
            "the same computed key twice: the later one wins",
            format!(
                "$a = 'a'\n{}",
                stack("nodes => { Node['a'] => Db['one'], Node[$a] => [Web['one-1'], Lb['one']] }")
            ),
            "Application Stack[one] has components without assigned nodes: Db[one]",
            "Resource Sql[one] could not be found; it might not have been produced yet",
        ),
        case(
            "consumed, exported by nobody",
            app("web { 'w': consume => Sql['nope'] }", "Web['w']"),
            "Capability 'Sql[nope]' referenced by 'consume' is never exported",
            "Resource Sql[nope] could not be found; it might not have been produced yet",
        ),
        case(
            "required, exported by nobody",
            app("lb { 'l': require => [Http['nope']] }", "Lb['l']"),
            "Capability 'Http[nope]' referenced by 'require' is never exported",
            "Resource Http[nope] could not be found; it might not have been produced yet",
        ),
        case(
            "exported twice",
            app(
                "db { 'f-a': export => Sql['f'] } db { 'f-b': export => Sql['f'] }",
                "Db['f-a'], Db['f-b']",
            ),
            "'Sql[f]' is exported by both 'Db[f-a]' and 'Db[f-b]'",
            "Duplicate declaration: Sql[f] is already declared",
        ),
        case(
            "plain resource in the site",
            "site { notify { 'x': } }".to_owned(),
            "Only application components can appear inside a site - Notify[x] is not allowed",
            "ok",
        ),
        case(
            "component without a capability link",
            app("plain { 'x': }", "Plain['x']"),
            "Only application components can appear inside a site - Plain[x] is not allowed",
            "ok",
        ),
        case(
            "loose resource in an application",
            app("db { 'd': export => Sql['d'] } notify { 'x': }", "Db['d']"),
            "Only application components can appear inside a site - Notify[x] is not allowed",
            "ok",
        ),
        case(
            "loose class in an application",
            app("db { 'd': export => Sql['d'] } include prod", "Db['d']"),
            "Only application components can appear inside a site - Class[Prod] is not allowed",
            "ok",
        ),
        case(
            "before a capability",
            app("lb { 'x': before => Sql['d'] }", "Lb['x']"),
            "Only application components can appear inside a site - Lb[x] is not allowed",
            "'before' is not a valid relationship to a capability",
        ),
        case(
            "subscribe to a capability, by a component",
            app(
                "db { 'x': export => Sql['x'], subscribe => Http['x'] }",
                "Db['x']",
            ),
            "'subscribe' is not a valid relationship to a capability",
            "'subscribe' is not a valid relationship to a capability",
        ),
        case(
            "export set twice",
            app(
                "db { 'd': export => Sql['d'], * => { export => Sql['e'] } }",
                "Db['d']",
            ),
            "The attribute 'export' has already been set (file: site.pp, line:",
            "The attribute 'export' has already been set (file: site.pp, line:",
        ),
        case(
            "consume by default, and at the declaration",
            app(
                "Web { consume => Sql['nope'], port => 1 }
                 db { 'd': export => Sql['d'] } web { 'w': consume => Sql['d'] }",
                "Db['d'], Web['w']",
            ),
            "ok",
            "ok",
        ),
        case(
            "export without a clause",
            app("plain { 'p': export => Sql['p'] }", "Plain['p']"),
            "Resource type Plain does not produce Sql (file: site.pp, line:",
            "Resource type Plain does not produce Sql",
        ),
        case(
            "consume without a clause",
            app(
                "db { 'f': export => Sql['f'] } plain { 'f': consume => Sql['f'] }",
                "Db['f'], Plain['f']",
            ),
            "Resource Plain[f] tries to consume Sql[f] but no 'consumes' mapping exists for Plain and Sql",
            "Resource Plain[f] tries to consume Sql[f] but no 'consumes' mapping exists for Plain and Sql",
        ),
        case(
            "consume of a resource that is no capability",
            app("db { 'one': consume => Db['one'] }", "Db['one']"),
            "Invalid consume in Db[one]: Db[one] is not a capability resource",
            "Invalid consume in Db[one]: Db[one] is not a capability resource",
        ),
        case(
            "export of a text",
            app("db { 'f': export => 'Sql[f]' }", "Db['f']"),
            "Could not find resource 'Sql[f]' in parameter 'export'",
            "Invalid export in Db[f]: Sql[f] is not a resource",
        ),
        case(
            "not yet produced",
            app(
                "db { 'd': export => Sql['d'] } web { 'w': consume => Sql['d'] }",
                "Web['w']",
            ),
            "has components without assigned nodes: Db[d]",
            "Resource Sql[d] could not be found; it might not have been produced yet",
        ),
        case(
            "application outside of the site",
            "stack { 'x': nodes => {} }".to_owned(),
            "Application instances like 'Stack[x]' can only be contained within a Site",
            "Application instances like 'Stack[x]' can only be contained within a Site",
        ),
        case(
            "application in an application",
            app("stack { 'x': nodes => {} }", "Db['x']"),
            "Application instances like 'Stack[x]' can only be contained within a Site",
            "Application instances like 'Stack[x]' can only be contained within a Site",
        ),
        case(
            "reference to an application",
            "site { free { 'x': nodes => { Node['a'] => Free['y'] } } }".to_owned(),
            "Resource type not found: Free",
            "Resource type not found: Free",
        ),
        case(
            "two sites",
            "site { }\nsite { }".to_owned(),
            "Site is already defined (file: site.pp, line: 17); cannot redefine (file: site.pp, line: 18)",
            "Site is already defined (file: site.pp, line: 17); cannot redefine",
        ),
        case(
            "same title twice",
            "site { free { 'x': nodes => {} } free { 'x': nodes => {} } }".to_owned(),
            "Duplicate declaration: Free[x] is already declared at (file: site.pp, line: 17)",
            "Duplicate declaration: Free[x] is already declared at",
        ),
        case(
            "same component title in two applications",
            "application it() { db { 'd': export => Sql[$name] } }
             site {
               it { 'one': nodes => { Node['a'] => Db['d'] } }
               it { 'two': nodes => { Node['b'] => Db['d'] } }
             }"
            .to_owned(),
            "Duplicate declaration: Db[d] is already declared at",
            "ok",
        ),
        case(
            "mapping for an unknown type",
            "Nosuch produces Sql { }\nsite { }".to_owned(),
            "Capability mapping error: produces clause references nonexistent type Nosuch",
            "Capability mapping error: produces clause references nonexistent type Nosuch",
        ),
        case(
            "mapping for an unknown class",
            "Class[nosuch] consumes Sql { }\nsite { }".to_owned(),
            "Capability mapping error: consumes clause references nonexistent class nosuch",
            "Capability mapping error: consumes clause references nonexistent class nosuch",
        ),
        case(
            "small letters in a mapping",
            "Db produces sql { }\nsite { }".to_owned(),
            "Illegal type reference. The given name 'sql' does not conform to the naming rule",
            "Illegal type reference. The given name 'sql' does not conform to the naming rule",
        ),
        case(
            "unknown parameter of an application",
            stack(&format!("nodes => {MAP}, wrong => 1")),
            "Stack[one]: has no parameter named 'wrong'",
            "Stack[one]: has no parameter named 'wrong'",
        ),
        case(
            "wrong type of a producer's parameter",
            app("db { 'd': export => Sql['d'], port => 'x' }", "Db['d']"),
            "Db[d]: parameter 'port' expects an Integer value, got String",
            "Db[d]: parameter 'port' expects an Integer value, got String",
        ),
        case(
            "missing parameter of a consumer",
            "define odd($host, $unmapped) { }\nOdd consumes Sql { }\n".to_owned()
                + &app(
                    "db { 'd': export => Sql['d'] } odd { 'o': consume => Sql['d'] }",
                    "Db['d'], Odd['o']",
                ),
            "Odd[o]: expects a value for parameter 'unmapped' (file: site.pp, line:",
            "Odd[o]: expects a value for parameter 'unmapped'",
        ),
        case(
            "cycle between components",
            "Db consumes Http { }\n".to_owned()
                + &app(
                    "db { 'd': export => Sql['d'], consume => Http['w'] }
                     web { 'w': consume => Sql['d'], export => Http['w'] }",
                    "Db['d'], Web['w']",
                ),
            "ok",
            "components wait for each other: Db[d] -> Web[w] -> Db[d]",
        ),
        case(
            "cycle between nodes only",
            "application two() {
               ['x', 'y'].each |$n| {
                 db { $n: export => Sql[$n] }
                 web { $n: consume => Sql[$n] }
               }
             }
             site { two { 'one': nodes => {
               Node['a'] => [Db['x'], Web['y']], Node['b'] => [Db['y'], Web['x']]
             } } }"
                .to_owned(),
            "ok",
            "Resource Sql[y] could not be found; it might not have been produced yet",
        ),
        case(
            "class as a component",
            app(
                "class { 'prod': export => Sql['c'] } web { 'w': consume => Sql['c'] }",
                "Class['prod'], Web['w']",
            ),
            "ok",
            "ok",
        ),
        case(
            "facts in the map",
            stack("nodes => { Node[$facts['fqdn']] => Db['one'] }"),
            "parameter 'nodes' expects a Hash[Type[Node], Variant[",
            "ok",
        ),
    ]
}

#[test]
fn every_row_of_the_table_of_checks() {
    let mut wrong = Vec::new();
    for case in cases() {
        let mut files = HTTP.to_vec();
        files.push(SQL);
        let world = World::new(&format!("{DEFINITIONS}{}", case.manifest), &files);
        let shown = |result: Result<(), String>| result.err().unwrap_or_else(|| "ok".to_owned());
        let graph = shown(world.graph().map(drop));
        let node = shown(world.catalog("a").map(drop));
        for (side, expected, found, ending) in [
            ("graph", case.graph, graph, " in environment production"),
            ("node", case.node, node, " on node a"),
        ] {
            let fits = match expected {
                "ok" => found == "ok",
                part => found.contains(part) && found.ends_with(ending),
            };
            if !fits {
                wrong.push(format!(
                    "{} ({side}):\n  expected {expected}\n  found    {found}",
                    case.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_cycle_is_named_as_a_path_and_logged() {
    let manifest = format!(
        "{DEFINITIONS}Db consumes Http {{ }}\n{}",
        app(
            "db { 'd': export => Sql['d'], consume => Http['w'] }
             web { 'w': consume => Sql['d'], export => Http['w'] }",
            "Db['d'], Web['w']",
        )
    );
    let mut files = HTTP.to_vec();
    files.push(SQL);
    let graph = World::new(&manifest, &files).graph().expect("a graph");
    assert_eq!(
        graph.component_cycle(),
        Some(vec!["Db[d]", "Web[w]", "Db[d]"])
    );
    let message = &graph.logs.last().expect("a warning").message;
    assert!(message.ends_with("Db[d] -> Web[w] -> Db[d]"), "{message}");
}

#[test]
fn an_environment_without_a_site_has_an_empty_graph_and_a_warning() {
    let graph = World::new("notify { 'x': }", &[]).graph().expect("a graph");
    assert_eq!(
        serde_json::to_value(&graph).expect("JSON"),
        json!({ "environment": "production", "applications": {}, "code_id": null })
    );
    assert_eq!(
        graph.logs[0].message,
        "Environment Compiler: Could not find a site definition to evaluate"
    );
}

#[test]
fn names_that_a_mapping_sets_in_vain_are_logged() {
    let manifest = "define db() { }
Db produces Sql { host => 1, hots => 2 }
Db consumes Sql { nothing => 3 }
Db consumes Nosuch { }
site { }
";
    let graph = World::new(manifest, &[SQL]).graph().expect("a graph");
    let messages: Vec<&str> = graph.logs.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the produces clause sets 'hots', which is no attribute of the capability",
            "the consumes clause sets 'nothing', which is no parameter of the component",
        ]
    );
}

#[test]
fn a_graph_of_many_components_is_fast_and_complete() {
    let manifest = "
capability link() { }
define part() { }
Part produces Link { }
Part consumes Link { }
application chain(Integer $length) {
  part { 'p0': export => Link['l0'] }
  Integer[1, $length].each |$n| {
    part { \"p${n}\": export => Link[\"l${n}\"], consume => Link[\"l${$n - 1}\"] }
  }
}
site {
  $nodes = Integer[0, 999].reduce({}) |$map, $n| { $map + { Node[\"n${$n % 200}-${n}\"] => Part[\"p${n}\"] } }
  chain { 'c': length => 999, nodes => $nodes }
}
";
    let graph = World::new(manifest, &[]).graph().expect("a graph");
    let components = &graph.applications[0].components;
    assert_eq!(components.len(), 1000);
    assert_eq!(components[999].consumes, ["Link[l998]"]);
    assert_eq!(components[999].node, "n199-999");
    assert_eq!(graph.component_cycle(), None);
}
