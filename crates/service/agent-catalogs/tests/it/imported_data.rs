//! Nodes whose imported data have changed since their last catalogs.

use agent_catalogs::ImportChanges;
use pcp::Certname;
use serde_json::json;

use crate::site::{NODE, NodeState, Site};

const COLLECTS: &str = "Notify <<| tag == 'web' |>>";

fn node() -> Certname {
    NODE.parse().unwrap()
}

/// A web server on the node, and its database on another one, from which no node is known to produce it.
const CONSUMES: &str = "capability sql(Sensitive[String] $password) { }
define web(Sensitive[String] $password) { notify { $name: message => $password } }
Web consumes Sql { }
application shop() { web { 'w': consume => Sql['x'] } }
site { shop { 'eu': nodes => { Node['node1.test'] => Web['w'] } } }
";

/// A node that has got its catalog.
async fn start() -> Site {
    let site = Site::start().await;
    site.classify("0").await;
    site.export("1").await;
    site.deploy('a', &[("manifests/site.pp", COLLECTS)]);
    let node = NodeState::with_facts(json!({"role": "web"}));
    node.catalog(&site.agents).await.unwrap();
    site
}

async fn compare(site: &Site) -> ImportChanges {
    let names = ["unknown.test".parse().unwrap(), node()];
    site.agents.compare_imports(names.into()).await
}

fn changed() -> ImportChanges {
    ImportChanges {
        changed: vec![node()],
        ..ImportChanges::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_named_as_long_as_its_catalog_has_other_data_than_there_are() {
    let mut site = start().await;
    assert_eq!(compare(&site).await, ImportChanges::default());
    site.export("2").await;
    assert_eq!(compare(&site).await, changed());
    site.restart("build").await;
    assert_eq!(compare(&site).await, changed(), "also after a restart");
    let node = NodeState::with_facts(json!({"role": "web"}));
    node.catalog(&site.agents).await.unwrap();
    assert_eq!(compare(&site).await, ImportChanges::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_was_compiled_in_advance_is_not_the_nodes_last_one() {
    let site = start().await;
    site.deploy('b', &[("manifests/site.pp", "Notify <<| |>>")]);
    site.compile_ahead().await;
    assert_eq!(compare(&site).await, changed());
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_cannot_be_read_are_not_the_same() {
    let site = start().await;
    site.store.close().await;
    let names: Vec<Certname> = std::iter::repeat_n(node(), 100).collect();
    let changes = site.agents.compare_imports(names).await;
    assert_eq!((changes.changed.len(), changes.unknown.len()), (0, 100));
    assert!(changes.failure.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_is_named_if_its_capability_has_another_value_or_producer() {
    let mut site = Site::start().await;
    site.classify("0").await;
    let files = [
        ("environment.conf", "applications = true"),
        ("manifests/site.pp", CONSUMES),
    ];
    site.deploy('a', &files);
    site.produce("db1.test", "first").await;
    let node = NodeState::with_facts(json!({"role": "web"}));
    node.catalog(&site.agents).await.unwrap();
    assert_eq!(compare(&site).await, ImportChanges::default());

    site.produce("db1.test", "second").await;
    assert_eq!(compare(&site).await, changed());
    site.restart("build").await;
    assert_eq!(compare(&site).await, changed(), "also after a restart");
    site.produce("db1.test", "first").await;
    assert_eq!(compare(&site).await, ImportChanges::default());

    // the component is mapped to another node, which has run before the former one
    site.produce("db2.test", "first").await;
    assert_eq!(compare(&site).await, changed());
    site.produce("db1.test", "").await;
    assert_eq!(compare(&site).await, changed());
    node.catalog(&site.agents).await.unwrap();
    assert_eq!(compare(&site).await, ImportChanges::default());

    site.produce("db2.test", "").await;
    assert_eq!(compare(&site).await, changed());
    // the node keeps the catalog that it has, and another run would bring no other one
    assert!(node.catalog(&site.agents).await.is_err());
    assert_eq!(compare(&site).await, ImportChanges::default());
    site.produce("db2.test", "third").await;
    assert_eq!(compare(&site).await, changed());
    node.catalog(&site.agents).await.unwrap();
    assert_eq!(compare(&site).await, ImportChanges::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_without_any_catalog_is_named_once_its_capability_appears() {
    let site = Site::start().await;
    site.classify("0").await;
    let files = [
        ("environment.conf", "applications = true"),
        ("manifests/site.pp", CONSUMES),
    ];
    site.deploy('a', &files);
    let node = NodeState::with_facts(json!({"role": "web"}));
    assert!(node.catalog(&site.agents).await.is_err());
    assert_eq!(compare(&site).await, ImportChanges::default());
    site.produce("db1.test", "first").await;
    assert_eq!(compare(&site).await, changed());
    node.catalog(&site.agents).await.unwrap();
    assert_eq!(compare(&site).await, ImportChanges::default());
}
