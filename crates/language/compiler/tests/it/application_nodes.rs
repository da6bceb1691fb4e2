//! Catalogs of the nodes of applications.

use std::sync::Arc;

use compiler::{DocumentForm, ProducedCapability};
use pcore::{Hash, Value};
use serde_json::json;

use crate::application_world::{HTTP, SQL, World, attributes, references, resource};

#[test]
fn web_nodes_get_the_values_of_the_database() {
    let world = World::lamp();
    let error = world.catalog("dev2.example.net").expect_err("no database");
    assert_eq!(
        error,
        "Evaluation Error: Error while evaluating a Resource Statement, Resource Sql[app2] could not be \
         found; it might not have been produced yet (file: /modules/lamp/manifests/init.pp, line: 4) on \
         node dev2.example.net"
    );

    let database = world.catalog("dev1.example.net").expect("a catalog");
    assert_eq!(
        references(&database),
        [
            "Lamp[app2]",
            "Lamp[app1]",
            "Lamp::Mysql[app2]",
            "Lamp::Mysql[app1]",
            "Notify[mysql app2]",
            "Notify[mysql app1]",
        ]
    );
    let lamp = resource(&database, "Lamp[app1]").expect("the application");
    assert_eq!(lamp.get("parameters"), None, "no parameters of other nodes");
    let mysql = resource(&database, "Lamp::Mysql[app1]").expect("the component");
    assert_eq!(
        mysql["parameters"],
        json!({ "db_password": "secret", "db_user": "lamp", "port": 3306 })
    );

    let web = world.catalog("dev2.example.net").expect("a catalog");
    let webapp = resource(&web, "Lamp::Webapp[app1-1]").expect("the component");
    assert_eq!(
        webapp["parameters"],
        json!({
            "db_host": "dev1.example.net",
            "db_user": "lamp",
            "db_password": "secret",
            "port": 80,
        })
    );
    assert_eq!(resource(&web, "Sql[app1]"), None);
    assert_eq!(resource(&web, "Site[site]"), None);
    assert!(resource(&web, "Notify[web app2-1]").is_some());
    let edges = web["edges"].as_array().expect("edges");
    assert!(edges.contains(&json!({ "source": "Lamp[app1]", "target": "Lamp::Webapp[app1-1]" })));

    let other = world.catalog("dev9.example.net").expect("a catalog");
    assert_eq!(references(&other), [""; 0]);
}

#[test]
fn agents_of_puppet_6_get_capabilities_as_they_were() {
    let world = World::lamp();
    let request = |certname: &str| {
        let mut request = world.request(certname);
        request.facts = [("puppetversion", "6.29.0")].into_iter().collect();
        request
    };
    let database = world
        .compile(&request("dev1.example.net"))
        .expect("a catalog");
    let mysql = resource(&database, "Lamp::Mysql[app1]").expect("the component");
    assert_eq!(mysql["parameters"]["export"], json!("Sql[app1]"));
    let sql = resource(&database, "Sql[app1]").expect("the capability");
    assert_eq!(sql["parameters"]["require"], json!(["Lamp::Mysql[app1]"]));
    assert_eq!(sql["parameters"]["host"], json!("dev1.example.net"));
    let tags = sql["tags"].as_array().expect("tags");
    assert!(tags.contains(&json!("producer:production")));

    let web = world
        .compile(&request("dev2.example.net"))
        .expect("a catalog");
    let webapp = resource(&web, "Lamp::Webapp[app1-1]").expect("the component");
    assert_eq!(webapp["parameters"]["consume"], json!("Sql[app1]"));
    let sql = resource(&web, "Sql[app1]").expect("the capability");
    let tags = sql["tags"].as_array().expect("tags");
    assert!(!tags.contains(&json!("producer:production")));
    assert_eq!(sql["parameters"].get("require"), None);
}

/// A producer after its consumers, with a capability that an agent can test, and a data capability.
const STACK: &str = "
define web($host, $port, $extra = undef) { notify { \"${name} ${host}:${port} ${extra}\": } }
Web consumes Sql { extra => \"from ${name} as ${user}\" }
Web produces Http { ip => '10.0.0.1' }
define lb($members = []) {
  $ips = $members.map |$member| { $member['ip'] }
  notify { \"lb ${ips}\": }
}
define db($host = 'h', $user = 'u', Integer $port = 5) { }
Db produces Sql { }
application stack() {
  lb { 'l': require => [Http['w1'], Http['w2']], members => [Http['w1'], Http['w2']] }
  web { ['w1']: consume => Sql['d'], export => Http['w1'] }
  web { ['w2']: consume => [[Sql['d']]], export => [Http['w2']], port => 81 }
  db { 'd': export => Sql['d'] }
}
";

fn stack_world(nodes: &str) -> World {
    let manifest = format!("{STACK}site {{ stack {{ 'one': nodes => {{ {nodes} }} }} }}");
    let mut files = HTTP.to_vec();
    files.push(SQL);
    World::new(&manifest, &files)
}

#[test]
fn producers_on_the_same_node_come_first_whatever_the_order() {
    let world = stack_world("Node['a'] => [Lb['l'], Web['w1'], Web['w2'], Db['d']]");
    let catalog = world.catalog("a").expect("a catalog");
    // values of the declaration win over consumed ones, and those over defaults
    assert!(resource(&catalog, "Notify[w1 h:5 from d as u]").is_some());
    assert!(resource(&catalog, "Notify[w2 h:81 from d as u]").is_some());
    assert!(resource(&catalog, "Notify[lb [10.0.0.1, 10.0.0.1]]").is_some());
    let require = |reference: &str| {
        let found = resource(&catalog, reference).expect("a resource");
        found["parameters"]["require"].clone()
    };
    // Sql has no provider, so its producer stands for it
    assert_eq!(require("Web[w1]"), json!("Db[d]"));
    assert_eq!(require("Lb[l]"), json!(["Http[w1]", "Http[w2]"]));
    assert_eq!(require("Http[w1]"), json!(["Web[w1]"]));
    assert_eq!(resource(&catalog, "Sql[d]"), None);
    let lb = resource(&catalog, "Lb[l]").expect("the component");
    assert_eq!(lb["parameters"].get("consume"), None);
}

#[test]
fn required_capabilities_of_other_nodes_are_in_the_catalog() {
    let world = stack_world(
        "Node['a'] => [Db['d']], Node['b'] => [Web['w1'], Web['w2']], Node['c'] => Lb['l']",
    );
    for node in ["a", "b"] {
        world.catalog(node).expect("a catalog");
    }
    let catalog = world.catalog("c").expect("a catalog");
    let http = resource(&catalog, "Http[w2]").expect("the capability");
    assert_eq!(http["parameters"]["ip"], json!("10.0.0.1"));
    assert_eq!(http["parameters"]["port"], json!(81));
    assert!(resource(&catalog, "Notify[lb [10.0.0.1, 10.0.0.1]]").is_some());
    let web = world.catalog("b").expect("a catalog");
    let web = resource(&web, "Web[w1]").expect("the component");
    assert_eq!(web["parameters"].get("require"), None, "{web}");
}

#[test]
fn sensitive_values_stay_sensitive() {
    let manifest = "
capability secret(Sensitive[String] $password, String $plain = 'p') { }
define db(Sensitive[String] $password) { }
Db produces Secret { }
define web(Sensitive[String] $password, String $plain) {
  notify { \"web ${plain}\": message => $password }
}
Web consumes Secret { }
application it() {
  db { 'd': password => Sensitive('hidden'), export => Secret['d'] }
  web { 'w': consume => Secret['d'] }
}
site { it { 'one': nodes => { Node['a'] => Db['d'], Node['b'] => Web['w'] } } }
";
    let world = World::new(manifest, &[]);
    let producer = world.catalog("a").expect("a catalog");
    let database = resource(&producer, "Db[d]").expect("the component");
    assert_eq!(database["sensitive_parameters"], json!(["password"]));
    let consumer = world.catalog("b").expect("a catalog");
    let web = resource(&consumer, "Web[w]").expect("the component");
    assert_eq!(web["sensitive_parameters"], json!(["password"]));
    let notify = resource(&consumer, "Notify[web p]").expect("a resource of its body");
    assert_eq!(notify["sensitive_parameters"], json!(["message"]));
    assert_eq!(resource(&consumer, "Secret[d]"), None);
    assert_eq!(
        references(&consumer),
        ["It[one]", "Web[w]", "Notify[web p]"]
    );
}

#[test]
fn two_capabilities_for_one_parameter_are_refused() {
    let manifest = "
define db($host = 'h') { }
Db produces Sql { }
define web($host) { }
Web consumes Sql { }
application it() {
  db { ['d', 'e']: }
  db { 'f': export => Sql['f'] }
  db { 'g': export => Sql['g'] }
  web { 'w': consume => [Sql['f'], Sql['g']] }
}
site { it { 'one': nodes => { Node['a'] => [Db['f'], Db['g'], Web['w']] } } }
";
    let error = World::new(manifest, &[SQL]).catalog("a");
    let error = error.expect_err("two values");
    assert!(
        error.contains("Attempt to reassign attribute 'host' in 'Web[w]' caused by multiple consumed mappings to the same attribute"),
        "{error}"
    );
}

fn produced(host: &str) -> Vec<ProducedCapability> {
    vec![ProducedCapability {
        type_name: "Sql".into(),
        title: "d".into(),
        attributes: attributes(&[
            ("host", Value::from(host)),
            ("port", Value::from(1)),
            ("forgotten", Value::from(2)),
        ]),
    }]
}

#[test]
fn the_code_version_decides_between_several_producers() {
    // no component of the application exports it, so that no node is known to produce it
    let manifest = "
define web($host) { }
Web consumes Sql { }
application it() { web { 'w': consume => Sql['d'] } }
site { it { 'one': nodes => { Node['b'] => Web['w'] } } }
";
    let world = World::new(manifest, &[SQL]);
    let place = |certname| ("production", certname);
    world
        .capabilities
        .replace(place("x"), Some("1"), produced("old"));
    world
        .capabilities
        .replace(place("y"), Some("2"), produced("new"));
    world
        .capabilities
        .replace(("other", "z"), Some("1"), produced("elsewhere"));
    let mut request = world.request("b");
    request.code_id = Some("2".to_owned());
    let catalog = world.compile(&request).expect("a catalog");
    let web = resource(&catalog, "Web[w]").expect("the component");
    assert_eq!(web["parameters"]["host"], json!("new"));

    request.code_id = Some("3".to_owned());
    let error = world.compile(&request).expect_err("two producers");
    assert!(
        error.contains("when looking up Sql[d]: expected exactly one resource but got 2; it is produced by x, y"),
        "{error}"
    );
    request.capabilities = None;
    let error = world.compile(&request).expect_err("no store");
    assert!(error.contains("PuppetDB is not available"), "{error}");
}

#[test]
fn a_node_does_not_consume_what_its_earlier_catalog_produced() {
    let world = stack_world("Node['a'] => Db['d'], Node['b'] => [Web['w1'], Web['w2']]");
    let place = |certname| ("production", certname);
    // the component was on node b before
    world
        .capabilities
        .replace(place("b"), None, produced("old"));
    let error = world.catalog("b").expect_err("no database");
    assert!(
        error.contains("Resource Sql[d] could not be found; it might not have been produced yet"),
        "{error}"
    );
    world
        .capabilities
        .replace(place("a"), None, produced("new"));
    let catalog = world.catalog("b").expect("a catalog");
    let web = resource(&catalog, "Web[w1]").expect("the component");
    assert_eq!(web["parameters"]["host"], json!("new"));
}

#[test]
fn the_node_map_decides_between_an_earlier_and_the_present_producer() {
    let body = "
define web($host, $of_class) { }
Web consumes Sql { }
Web consumes Http { host => undef, of_class => $ip }
define db() { }
Db produces Sql { }
class prod() { }
Class[prod] produces Http { }
application it() {
  web { 'w': consume => [Sql['d'], [Http['c']]] }
  db { 'd': export => [[Sql['other']], Sql['d'], 'nothing'] }
  class { 'prod': export => Http['c'] }
}
site { it { 'one': nodes => { Node['new'] => [Db['d'], Class['prod']], Node['web'] => Web['w'] } } }
";
    let mut files = HTTP.to_vec();
    files.push(SQL);
    let world = World::new(body, &files);
    let produce = |certname: &str| {
        let mut produced = produced(certname);
        produced.push(ProducedCapability {
            type_name: "Http".into(),
            title: "c".into(),
            attributes: attributes(&[("ip", Value::from(certname))]),
        });
        world
            .capabilities
            .replace(("production", certname), None, produced);
    };
    // the components were on other nodes, whose last catalogs still produce
    produce("old");
    produce("older");
    let error = world.catalog("web").expect_err("not produced yet");
    assert!(
        error.contains("Resource Sql[d] could not be found; it might not have been produced yet"),
        "{error}"
    );
    produce("new");
    let catalog = world.catalog("web").expect("a catalog");
    let web = resource(&catalog, "Web[w]").expect("the component");
    assert_eq!(web["parameters"]["host"], json!("new"));
    assert_eq!(web["parameters"]["of_class"], json!("new"));
}

#[test]
fn the_site_shadows_top_scope_and_native_types_are_components() {
    let manifest = "
$who = 'top'
define db($host = $who) { notify { \"db ${who}\": } }
Db produces Sql { host => \"${host} ${who} ${title}\", port => [1].map |$n| { $n + 1 } }
Notify consumes Sql { message => \"${host} ${port}\" }
application it() {
  $inner = $who
  notify { 'n': consume => Sql['d'] }
  db { 'd': host => $inner, export => Sql['d'] }
}
site {
  $who = 'site'
  it { 'one': nodes => { Node['a'] => [Db['d'], Notify['n']] } }
}
";
    let world = World::new(manifest, &[SQL]);
    assert!(world.graph().is_ok(), "{:?}", world.graph());
    let catalog = world.catalog("a").expect("a catalog");
    assert!(resource(&catalog, "Notify[db site]").is_some());
    let notify = resource(&catalog, "Notify[n]").expect("the component");
    assert_eq!(notify["parameters"]["message"], json!("site site d [2]"));
    assert_eq!(notify["parameters"]["require"], json!("Db[d]"));
}

#[test]
fn native_components_produce_before_defined_ones_that_consume() {
    let manifest = "
Notify produces Sql { host => $message, port => 1 }
define web($host) { notify { \"web ${host}\": } }
Web consumes Sql { }
application it() {
  web { 'w': consume => Sql['d'] }
  notify { 'n': message => 'h', export => Sql['d'] }
}
site { it { 'one': nodes => { Node['a'] => [Web['w'], Notify['n']] } } }
";
    let world = World::new(manifest, &[SQL]);
    // the second catalog finds what the first one produced
    for _ in 0..2 {
        let catalog = world.catalog("a").expect("a catalog");
        assert!(resource(&catalog, "Notify[web h]").is_some());
        let web = resource(&catalog, "Web[w]").expect("the component");
        assert_eq!(web["parameters"]["require"], json!("Notify[n]"));
    }
}

#[test]
fn a_native_component_between_two_defined_ones_takes_and_gives_values() {
    let manifest = "
define db($host = 'h') { }
Db produces Sql { }
Notify consumes Sql { message => \"for ${host}\" }
Notify produces Http { ip => $message }
define web($ip) { notify { \"web ${ip}\": } }
Web consumes Http { }
application it() {
  web { 'w': consume => Http['x'] }
  notify { 'n': consume => Sql['d'], export => Http['x'] }
  db { 'd': export => Sql['d'] }
}
site { it { 'one': nodes => { Node['a'] => [Web['w'], Notify['n'], Db['d']] } } }
";
    let mut files = HTTP.to_vec();
    files.push(SQL);
    let catalog = World::new(manifest, &files).catalog("a");
    let catalog = catalog.expect("a catalog");
    assert!(resource(&catalog, "Notify[web for h]").is_some());
    let notify = resource(&catalog, "Notify[n]").expect("the component");
    assert_eq!(notify["parameters"]["require"], json!("Db[d]"));
    let http = resource(&catalog, "Http[x]").expect("the capability");
    assert_eq!(http["parameters"]["require"], json!(["Notify[n]"]));
}

#[test]
fn class_components_are_evaluated_after_their_producers() {
    let manifest = "
class cache($host) { notify { \"cache ${host}\": } }
Class[cache] consumes Sql { }
define db($host = 'h') { }
Db produces Sql { }
application it() {
  class { 'cache': consume => Sql['d'] }
  db { 'd': export => Sql['d'] }
}
site { it { 'one': nodes => { Node['a'] => [Class['cache'], Db['d']], Node['b'] => [] } } }
";
    let world = World::new(manifest, &[SQL]);
    let graph = world.graph().expect("a graph");
    assert_eq!(
        graph.applications[0].components[0].reference,
        "Class[Cache]"
    );
    let catalog = world.catalog("a").expect("a catalog");
    assert!(resource(&catalog, "Notify[cache h]").is_some());
    let class = resource(&catalog, "Class[Cache]").expect("the component");
    assert_eq!(class["parameters"]["require"], json!("Db[d]"));
}

#[test]
fn the_words_of_components_stay_parameters_of_those_that_declare_them() {
    let manifest = "define nfs($export, $consume = 1) { notify { \"${export} ${consume}\": } }
nfs { 'x': export => '/srv' }
";
    let catalog = World::new(manifest, &[]).catalog("a").expect("a catalog");
    assert!(resource(&catalog, "Notify[/srv 1]").is_some());
    let error = World::new("notify { 'x': export => 'a' }", &[]).catalog("a");
    assert_eq!(error.map(drop), Ok(()));
}

#[test]
fn catalogs_that_consume_are_compiled_again_for_each_request() {
    let world = World::lamp();
    world.catalog("dev1.example.net").expect("a catalog");
    let request = world.request("dev2.example.net");
    let compiled = compiler::compile(&world.environment, &request).expect("a catalog");
    let cause = compiled.reads.volatile.expect("a cause");
    assert_eq!(
        cause.as_str(),
        "it produces or consumes capabilities of applications"
    );
    assert!(compiled.capabilities.is_empty());
    let producer = world.request("dev1.example.net");
    let compiled = compiler::compile(&world.environment, &producer).expect("a catalog");
    assert!(compiled.reads.volatile.is_some());
    let other = world.request("dev9.example.net");
    let other = compiler::compile(&world.environment, &other).expect("a catalog");
    assert_eq!(other.reads.volatile, None);
    let titles: Vec<Arc<str>> = compiled
        .capabilities
        .iter()
        .map(|it| Arc::clone(&it.title))
        .collect();
    assert_eq!(titles, ["app2".into(), "app1".into()]);
    let values: &Hash = &compiled.capabilities[1].attributes;
    assert_eq!(
        values.get_str("host"),
        Some(&Value::from("dev1.example.net"))
    );
    assert!(compiled.document.to_text(DocumentForm::Rich).is_ok());
}

#[test]
fn a_long_chain_of_native_components_is_refused_and_a_short_one_linked() {
    let chain = |length: u32| {
        let manifest = format!(
            "
Notify produces Sql {{ host => $message }}
Notify consumes Sql {{ message => $host }}
define web($host) {{ notify {{ \"web ${{host}}\": }} }}
Web consumes Sql {{ }}
application it() {{
  web {{ 'w': consume => Sql['{length}'] }}
  notify {{ 'n0': message => 'first', export => Sql['0'] }}
  Integer[1, {length}].each |$n| {{
    notify {{ \"n${{n}}\": consume => Sql[\"${{$n - 1}}\"], export => Sql[\"${{n}}\"] }}
  }}
}}
site {{
  $chain = Integer[0, {length}].map |$n| {{ Notify[\"n${{n}}\"] }}
  it {{ 'one': nodes => {{ Node['a'] => $chain + [Web['w']] }} }}
}}
"
        );
        World::new(&manifest, &[SQL]).catalog("a")
    };
    let catalog = chain(300).expect("a catalog");
    assert!(resource(&catalog, "Notify[web first]").is_some());
    let error = chain(2000).expect_err("too deep");
    assert!(error.contains("more than 400 deep"), "{error}");
}
