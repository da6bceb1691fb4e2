//! Relationships between components and to capabilities in the catalogs of nodes.

use compiler::DocumentForm;
use serde_json::{Value as Json, json};

use crate::application_world::{HTTP, SQL, World, resource};

/// A world with a database and a web server whose body has the statement `body`; `statements` are in
/// the application, and `nodes` is its map.
fn world(body: &str, statements: &str, nodes: &str) -> World {
    let manifest = format!(
        "
define db($host = 'h') {{ notify {{ 'of db': }} }}
Db produces Sql {{ }}
define web($host) {{
  notify {{ 'x': }}
  {body}
}}
Web consumes Sql {{ }}
Web produces Http {{ ip => $host }}
define lb() {{ }}
application it() {{
  web {{ 'w': consume => Sql['d'], export => Http['w'] }}
  db {{ 'd': export => Sql['d'] }}
  lb {{ 'l': require => Http['w'] }}
  {statements}
}}
site {{ it {{ 'one': nodes => {{ {nodes} }} }} }}
"
    );
    let mut files = HTTP.to_vec();
    files.push(SQL);
    World::new(&manifest, &files)
}

const TOGETHER: &str = "Node['a'] => [Web['w'], Db['d'], Lb['l']]";
const APART: &str = "Node['a'] => Db['d'], Node['b'] => Web['w'], Node['c'] => Lb['l']";

fn parameter(catalog: &Json, reference: &str, name: &str) -> Json {
    let found = resource(catalog, reference).expect("a resource");
    found["parameters"].get(name).cloned().unwrap_or_default()
}

#[test]
fn relationships_to_a_capability_other_than_require_are_refused() {
    for (body, name) in [
        ("notify { 'y': before => Sql['d'] }", "before"),
        ("notify { 'y': notify => [[Sql['d']]] }", "notify"),
        ("notify { 'y': subscribe => 'Sql[d]' }", "subscribe"),
        ("notify { 'y': before => Http['w'] }", "before"),
        ("Notify['x'] -> Sql['d']", "before"),
        ("Notify['x'] ~> Sql['d']", "notify"),
        ("Sql['d'] -> Http['w']", "before"),
        (
            "Notify['late'] { before => Sql['d'] }\nnotify { 'late': }",
            "before",
        ),
    ] {
        let world = world(body, "", TOGETHER);
        let mut request = world.request("a");
        for version in ["8.10.0", "6.29.0"] {
            request.facts = [("puppetversion", version)].into_iter().collect();
            let error = world.compile(&request).expect_err(body);
            let expected = format!("'{name}' is not a valid relationship to a capability");
            assert!(error.contains(&expected), "{body}: {error}");
        }
    }
}

#[test]
fn what_comes_after_a_pruned_capability_comes_after_its_producer() {
    let body = "
notify { 'y': require => [Notify['x'], Sql['d'], Http['w']] }
notify { 'z': }
Sql['d'] -> Notify['x']
Sql['d'] ~> Notify['z']
Notify['late'] { require => Sql['d'] }
notify { 'late': }
notify { 'more': require => Notify['x'] }
Notify <| title == 'more' |> { require +> Sql['d'] }
";
    let catalog = world(body, "", TOGETHER).catalog("a").expect("a catalog");
    assert_eq!(
        parameter(&catalog, "Notify[x]", "require"),
        json!(["Db[d]"])
    );
    assert_eq!(
        parameter(&catalog, "Notify[z]", "require"),
        json!(["Db[d]"])
    );
    let require = parameter(&catalog, "Notify[y]", "require");
    assert_eq!(require, json!(["Notify[x]", "Db[d]", "Http[w]"]));
    assert_eq!(
        parameter(&catalog, "Notify[late]", "require"),
        json!("Db[d]")
    );
    let require = parameter(&catalog, "Notify[more]", "require");
    assert_eq!(require, json!(["Notify[x]", "Db[d]"]));
    assert!(!catalog.to_string().contains("Sql[d]"), "{catalog}");

    // an agent that knows capabilities gets the order as it is
    let world = world(body, "", TOGETHER);
    let mut request = world.request("a");
    request.facts = [("puppetversion", "6.29.0")].into_iter().collect();
    let catalog = world.compile(&request).expect("a catalog");
    assert_eq!(
        parameter(&catalog, "Sql[d]", "before"),
        json!(["Notify[x]"])
    );
    assert_eq!(parameter(&catalog, "Notify[x]", "require"), Json::Null);
}

#[test]
fn without_its_producer_a_pruned_capability_orders_nothing() {
    let body = "
notify { 'y': require => Sql['d'] }
Sql['d'] -> Notify['x']
";
    let world = world(body, "", APART);
    world.catalog("a").expect("a catalog");
    let catalog = world.catalog("b").expect("a catalog");
    assert_eq!(parameter(&catalog, "Notify[x]", "require"), Json::Null);
    assert_eq!(parameter(&catalog, "Notify[y]", "require"), Json::Null);
    assert!(!catalog.to_string().contains("Sql[d]"), "{catalog}");
}

#[test]
fn relationships_between_nodes_order_nothing() {
    let statements = "
Db['d'] -> Web['w'] ~> Lb['l']
Db['d'] -> Sql['d'] -> Web['w']
Lb['l'] { before => Db['d'] }
lb { 'late': require => [Db['d'], Http['w'], 'Web[w]', Lb['l']], before => Web['w'], subscribe => Db['d'] }
";
    let nodes = "Node['a'] => Db['d'], Node['b'] => Web['w'], Node['c'] => [Lb['l'], Lb['late']]";
    let body = "notify { 'y': require => [Db['d'], Notify['x']] }";
    let world = world(body, statements, nodes);
    let graph = world.graph().expect("a graph");
    assert_eq!(graph.applications[0].components.len(), 4);
    let error = world.catalog("a").expect_err("the capability of the node");
    assert!(
        error.contains("'before' is not a valid relationship to a capability"),
        "{error}"
    );
    let allowed = statements.replace("Db['d'] -> Sql['d'] -> Web['w']", "Sql['d'] -> Web['w']");
    let world = self::world(body, &allowed, nodes);
    for node in ["a", "b", "c"] {
        let catalog = world.catalog(node).expect("a catalog");
        let text = catalog.to_string();
        for (component, own) in [("Db[d]", "a"), ("Web[w]", "b"), ("Lb[l]", "c")] {
            assert!(node == own || !text.contains(component), "{node}: {text}");
        }
    }
    let catalog = world.catalog("b").expect("a catalog");
    assert_eq!(parameter(&catalog, "Web[w]", "notify"), Json::Null);
    assert_eq!(
        parameter(&catalog, "Notify[y]", "require"),
        json!("Notify[x]")
    );
    let catalog = world.catalog("c").expect("a catalog");
    let require = parameter(&catalog, "Lb[late]", "require");
    assert_eq!(require, json!(["Http[w]", "Lb[l]"]));
    for name in ["before", "subscribe"] {
        assert_eq!(parameter(&catalog, "Lb[late]", name), Json::Null);
    }

    // on one node they order the components
    let all = "Node['a'] => [Db['d'], Web['w'], Lb['l'], Lb['late']]";
    let statements =
        "Db['d'] -> Web['w'] ~> Lb['l']\nlb { 'late': require => [Http['w'], Lb['l']] }";
    let catalog = self::world(body, statements, all).catalog("a");
    let catalog = catalog.expect("a catalog");
    assert_eq!(parameter(&catalog, "Db[d]", "before"), json!(["Web[w]"]));
    assert_eq!(parameter(&catalog, "Web[w]", "notify"), json!(["Lb[l]"]));
}

#[test]
fn relationships_to_applications_of_other_nodes_order_nothing() {
    let manifest = "
define db($host = 'h') { }
Db produces Sql { }
application it() { db { $name: export => Sql[$name] } }
application empty() { }
notify { 'x': before => ['It[one]'] }
site {
  it { 'one': nodes => { Node['a'] => Db['one'] } }
  -> it { 'two': nodes => { Node['b'] => Db['two'] }, require => 'It[one]' }
  -> empty { 'no': nodes => {} }
  Db['one'] -> Db['two'] ~> Notify['x']
}
";
    let world = World::new(manifest, &[SQL]);
    for node in ["a", "b", "c"] {
        let catalog = world.catalog(node).expect("a catalog");
        let text = catalog.to_string();
        assert_eq!(text.contains("It[one]"), node == "a", "{text}");
        assert_eq!(text.contains("Db[one]"), node == "a", "{text}");
        assert!(!text.contains("Empty[no]"), "{text}");
    }
    let error = World::new("site { Db['x'] -> Db['y'] }\ndefine db() { }", &[]).catalog("a");
    let error = error.expect_err("no such component");
    assert!(
        error.contains("Could not find resource 'Db[x]' for relationship on 'Db[y]'"),
        "{error}"
    );
}

#[test]
fn a_pruned_resource_is_missing_for_relationships() {
    let error = world("notify { 'y': require => 'Site[site]' }", "", TOGETHER).catalog("a");
    let error = error.expect_err("no document shows the site");
    assert!(
        error.contains("Could not find resource 'Site[site]' in parameter 'require'"),
        "{error}"
    );
}

#[test]
fn sensitive_values_of_capabilities_are_kept_before_they_are_unwrapped() {
    let manifest = "
capability secret(Sensitive[String] $password) { }
define db(Sensitive[String] $password) { }
Db produces Secret { }
application it() { db { 'd': password => Sensitive('hidden'), export => Secret['d'] } }
site { it { 'one': nodes => { Node['a'] => Db['d'] } } }
";
    let world = World::new(manifest, &[]);
    let compiled = compiler::compile(&world.environment, &world.request("a"));
    let compiled = compiled.expect("a catalog");
    let password = compiled.capabilities[0].attributes.get_str("password");
    assert!(matches!(password, Some(pcore::Value::Sensitive(_))));
    assert!(compiled.document.to_json(DocumentForm::Rich).is_ok());
}
