//! Catalogs of nodes that wait for each other, without the components that are left for a later run.

use std::sync::Arc;

use compiler::{DeferredComponents, VolatileCause};
use serde_json::{Value as Json, json};

use crate::application_world::{HTTP, SQL, World, references, resource};

/// Databases and their web servers, each on the other node; what follows a web server is on its node.
const PAIR: &str = "
define db() { notify { \"db ${name}\": } }
Db produces Sql { host => $trusted['certname'] }
define web($host) { notify { \"web ${name} of ${host}\": } }
Web consumes Sql { }
Web produces Http { ip => '10.0.0.1' }
define tail() { notify { \"tail ${name}\": } }
class after_web { notify { 'after web': } }
application pair() {
  ['a', 'b'].each |$it| {
    db { $it: export => Sql[$it] }
    web { $it: consume => Sql[$it], export => Http[$it] }
  }
  tail { 'b': require => Http['b'] }
  class { 'after_web': require => Sql['b'] }
  notify { 'native': require => Sql['b'] }
}
site {
  pair { 'one': nodes => {
    Node['x'] => [Db['a'], Web['b'], Tail['b'], Class['after_web'], Notify['native']],
    Node['y'] => [Db['b'], Web['a']],
  } }
}
";

fn pair() -> World {
    let mut files = HTTP.to_vec();
    files.push(SQL);
    World::new(PAIR, &files)
}

/// Components that wait for `y`.
const DEFERRED: [&str; 4] = ["Web[b]", "Tail[b]", "Class[After_web]", "Notify[native]"];

/// The catalog of `x` without these components, and those that are left out of it.
fn first_pass(world: &World, deferred: &[&str]) -> Result<(Json, Vec<String>), String> {
    let mut request = world.request("x");
    request.deferred_components = Arc::new(DeferredComponents {
        left_out: deferred.iter().map(|&it| it.to_owned()).collect(),
        followers: ["Tail[b]".to_owned()].into(),
    });
    let compiled = compiler::compile(&world.environment, &request);
    let compiled = compiled.map_err(|error| error.to_string())?;
    assert_eq!(compiled.reads.volatile, Some(VolatileCause::Capabilities));
    let warnings: Vec<&str> = compiled.logs.iter().map(|log| &*log.message).collect();
    let left_out = compiled.left_out.iter();
    let expected = left_out
        .map(|it| format!("{it} is left out: what it needs has not been produced yet"))
        .collect::<Vec<_>>();
    assert_eq!(warnings, expected);
    Ok((world.compile(&request)?, compiled.left_out))
}

#[test]
fn deferred_components_are_left_out_with_all_that_shows_them() {
    let world = pair();
    let error = world.catalog("x").expect_err("y has not run");
    assert!(
        error.contains("Resource Sql[b] could not be found"),
        "{error}"
    );
    let (catalog, left_out) = first_pass(&world, &DEFERRED).expect("a catalog");
    assert_eq!(references(&catalog), ["Pair[one]", "Db[a]", "Notify[db a]"]);
    assert_eq!(left_out, DEFERRED);
    // what follows a component that is left out
    let without_tail: Vec<&str> = DEFERRED.into_iter().filter(|it| *it != "Tail[b]").collect();
    assert_eq!(
        first_pass(&world, &without_tail),
        Ok((catalog.clone(), left_out))
    );
    let shown = catalog.to_string();
    for absent in ["Web", "Tail", "After_web", "native"] {
        assert!(!shown.contains(absent), "{absent} in {shown}");
    }

    // then y has what it needs, and x after it
    let y = world.catalog("y").expect("x has produced Sql[a]");
    assert!(resource(&y, "Notify[web a of x]").is_some());
    let (again, _) = first_pass(&world, &DEFERRED).expect("a catalog");
    assert_eq!(again, catalog, "also if y has produced Sql[b] meanwhile");
    let complete = world.catalog("x").expect("y has produced Sql[b]");
    assert!(resource(&complete, "Notify[web b of y]").is_some());
    let tail = resource(&complete, "Tail[b]").expect("the component");
    assert_eq!(tail["parameters"]["require"], json!("Http[b]"));
}

#[test]
fn components_that_are_not_deferred_fail_as_ever() {
    let world = pair();
    for deferred in [&["Web[other]"][..], &["Web[b]", "Tail[b]"], &DEFERRED[1..]] {
        let error = first_pass(&world, deferred).expect_err("y has not run");
        assert!(error.contains("could not be found"), "{error}");
    }
}

#[test]
fn relationships_to_a_component_that_is_left_out_order_nothing() {
    let site = "
define db() { }
Db produces Sql { host => 'h' }
define web($host) { }
Web consumes Sql { }
application pair() {
  db { 'b': export => Sql['b'] }
  web { 'b': consume => Sql['b'] }
}
site { pair { 'one': nodes => { Node['x'] => Web['b'], Node['y'] => Db['b'] } } }
node default { notify { 'other': require => Web['b'] } }
";
    let world = World::new(site, &[SQL]);
    let (catalog, left_out) = first_pass(&world, &["Web[b]"]).expect("a catalog");
    assert_eq!(left_out.len(), 1);
    let other = resource(&catalog, "Notify[other]").expect("the resource");
    assert_eq!(other.get("parameters"), None);
}
