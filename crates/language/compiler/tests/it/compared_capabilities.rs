//! Catalogs of the nodes of applications, compared with the capabilities that there are now.

use std::sync::Arc;

use compiler::defaults::CAPABILITY_QUERIES_MAX;
use compiler::{DataQueryResult, DataSources, ProducedCapability};
use pcore::Value;

use crate::application_world::{World, attributes};

/// The capability of a database, with this title.
fn sql(title: &str, host: &str) -> Vec<ProducedCapability> {
    vec![ProducedCapability {
        type_name: "Sql".into(),
        title: title.into(),
        attributes: attributes(&[("host", Value::from(host))]),
    }]
}

/// The queries of a catalog that have another result now.
fn changed_queries(world: &World, certname: &str, queries: &[DataQueryResult]) -> Vec<String> {
    let sources = DataSources {
        capabilities: Some(Arc::clone(&world.capabilities) as _),
        ..DataSources::default()
    };
    let interrupt = Arc::default();
    let changed = queries
        .iter()
        .filter(|it| it.query.run(certname, &sources, &interrupt).as_ref() != Ok(&it.digest));
    changed.map(|it| it.query.to_string()).collect()
}

#[test]
fn a_catalog_is_compared_with_the_capabilities_that_it_took() {
    let world = World::lamp();
    let of_database = ("production", "dev1.example.net");
    world.catalog("dev1.example.net").expect("a catalog");
    let web = world.request("dev2.example.net");
    let compiled = compiler::compile(&world.environment, &web).expect("a catalog");
    let queries = compiled.reads.queries;
    let changed = || changed_queries(&world, "dev2.example.net", &queries);
    assert_eq!(queries.len(), 2);
    assert_eq!(changed(), [""; 0]);
    let written = format!("{queries:?}");
    assert!(!written.contains("secret"), "{written}");

    // the node's own ones of an earlier catalog do not count
    world
        .capabilities
        .replace(("production", "dev2.example.net"), None, sql("app1", "h"));
    assert_eq!(changed(), [""; 0]);
    // a component of the same name on a further node does
    world
        .capabilities
        .replace(("production", "dev5.example.net"), None, sql("app1", "h"));
    assert_eq!(changed(), ["Sql[app1]"]);
    world
        .capabilities
        .replace(("production", "dev5.example.net"), None, Vec::new());
    world.capabilities.replace(of_database, None, Vec::new());
    assert_eq!(changed(), ["Sql[app2]", "Sql[app1]"]);
    world
        .capabilities
        .replace(of_database, None, sql("app1", "another"));
    assert_eq!(changed(), ["Sql[app2]", "Sql[app1]"]);
    world.catalog("dev1.example.net").expect("a catalog");
    assert_eq!(changed(), [""; 0]);
}

#[test]
fn an_earlier_producer_is_not_compared() {
    let world = World::lamp();
    let earlier = ("production", "dev0.example.net");
    world
        .capabilities
        .replace(earlier, None, sql("app1", "earlier"));
    world.catalog("dev1.example.net").expect("a catalog");
    let web = world.request("dev2.example.net");
    let compiled = compiler::compile(&world.environment, &web).expect("a catalog");
    let queries = compiled.reads.queries;
    let changed = || changed_queries(&world, "dev2.example.net", &queries);
    assert_eq!(changed(), [""; 0]);
    // it runs, and produces nothing any more
    world.capabilities.replace(earlier, None, Vec::new());
    assert_eq!(changed(), [""; 0]);
}

#[test]
fn a_failed_compilation_tells_the_capability_that_it_lacks() {
    let world = World::lamp();
    let web = world.request("dev2.example.net");
    let failed = compiler::compile(&world.environment, &web).err();
    let queries = failed.expect("nothing is produced yet").queries;
    let changed = || changed_queries(&world, "dev2.example.net", &queries);
    assert_eq!((queries.len(), changed().len()), (1, 0));
    world.catalog("dev1.example.net").expect("a catalog");
    assert_eq!(changed(), [queries[0].query.to_string()]);
}

#[test]
fn no_more_capabilities_are_compared_than_the_limit() {
    let number = CAPABILITY_QUERIES_MAX + 1;
    let manifest = format!(
        "capability cap(String $host) {{ }}
define gives() {{ }}
Gives produces Cap {{ host => 'h' }}
define needs() {{ }}
application app() {{
  Integer[1, {number}].each |$n| {{ gives {{ \"g${{n}}\": export => Cap[\"c${{n}}\"] }} }}
  needs {{ 'n': require => Integer[1, {number}].map |$n| {{ Cap[\"c${{n}}\"] }} }}
}}
site {{ app {{ 'a': nodes => {{
  Node['a'] => Integer[1, {number}].map |$n| {{ Gives[\"g${{n}}\"] }}, Node['b'] => Needs['n'] }} }} }}
"
    );
    let world = World::new(&manifest, &[]);
    world.catalog("a").expect("a catalog");
    let compiled = compiler::compile(&world.environment, &world.request("b")).expect("a catalog");
    assert_eq!(compiled.reads.queries.len(), CAPABILITY_QUERIES_MAX);
    assert_eq!(
        changed_queries(&world, "b", &compiled.reads.queries),
        [""; 0]
    );
}
