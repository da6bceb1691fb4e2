//! Applications of an environment on disk: their graph, and capabilities in the database of the server.

use std::sync::Arc;

use catalogs::CatalogError;
use classifier::NodeFacts;
use compiler::{CatalogDocument, DocumentForm};
use serde_json::json;

use crate::world::{World, code_id, kept, notices, request};

const SITE: &str = "
capability secret(Sensitive[String] $password, Integer $port = 5) { }
define db(Sensitive[String] $password) { }
Db produces Secret { }
define web(Sensitive[String] $password, Integer $port) {
  notify { \"web ${port}\": message => $password }
}
Web consumes Secret { }
# a pair
application pair(
  String $secret, $size = [1, 2], Variant[Sensitive[String], String] $key = 'hunter3', $token = Sensitive('hunter4')
) {
  db { 'd': password => Sensitive($secret), export => Secret['d'] }
  web { 'w': consume => Secret['d'] }
}
site {
  pair { 'one': secret => 'hunter2', nodes => { Node['n1'] => Db['d'], Node['n2'] => Web['w'] } }
}
";

/// Writes a live version with applications.
fn deploy(world: &World, digit: char, manifest: &str) {
    let version = world.deploy(digit, manifest);
    std::fs::write(version.join("environment.conf"), "applications = true\n").unwrap();
}

#[tokio::test]
async fn consumers_get_the_values_of_catalogs_that_were_given() {
    let world = World::keeping_capabilities().await;
    deploy(&world, 'a', SITE);
    let refused = world.compile("n2").await.unwrap_err().to_string();
    assert!(
        refused.contains("Secret[d] could not be found"),
        "{refused}"
    );
    // a catalog that nobody gets produces nothing
    world.compile("n1").await.unwrap();
    assert!(world.compile("n2").await.is_err());

    world.catalogs.compile(kept("n1")).await.unwrap();
    let consumer = world.compile("n2").await.unwrap();
    assert_eq!(notices(&consumer), [("web 5".to_owned(), json!("hunter2"))]);
    let resources = consumer.catalog["resources"].as_array().unwrap();
    let web = resources.iter().find(|it| it["type"] == "Web").unwrap();
    assert_eq!(web["sensitive_parameters"], json!(["password"]));

    // a node that produces no more has no capability
    deploy(&world, 'b', "notify { 'x': }");
    world.catalogs.compile(kept("n1")).await.unwrap();
    deploy(&world, 'c', SITE);
    assert!(world.compile("n2").await.is_err());
}

#[tokio::test]
async fn without_the_setting_the_words_are_names() {
    let world = World::keeping_capabilities().await;
    world.deploy('a', SITE);
    let error = world.compile("n1").await.unwrap_err().to_string();
    assert!(error.contains("Syntax error"), "{error}");
    let environment = "production".parse().unwrap();
    let origin = request("n1").origin;
    let graph = world
        .catalogs
        .application_graph(&environment, None, &origin);
    assert!(graph.await.unwrap().applications.is_empty());
    let found = world.catalogs.applications(&environment).await.unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_graph_is_compiled_once_for_each_version() {
    let world = World::keeping_capabilities().await;
    deploy(&world, 'a', SITE);
    let environment = "production".parse().unwrap();
    let origin = request("n1").origin;
    let graph = async |code_id: Option<&str>| {
        let graph = world
            .catalogs
            .application_graph(&environment, code_id, &origin);
        graph.await
    };
    let first = graph(None).await.unwrap();
    assert_eq!(first.code_id.as_deref(), Some(code_id('a').as_str()));
    let references: Vec<&str> = first.applications[0]
        .components
        .iter()
        .map(|it| it.reference.as_str())
        .collect();
    assert_eq!(references, ["Db[d]", "Web[w]"]);
    assert!(Arc::ptr_eq(&first, &graph(None).await.unwrap()));

    deploy(&world, 'b', "site { notify { 'x': } }");
    let error = graph(None).await.unwrap_err();
    assert!(matches!(error, CatalogError::Graph(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("Only application components can appear inside a site"),
        "{text}"
    );
    assert!(text.ends_with(" in environment production"), "{text}");
    let old = graph(Some(&code_id('a'))).await.unwrap();
    assert_eq!(old.applications.len(), 1);
    let error = graph(Some("urn:puppet:code-id:1:f;production")).await;
    assert!(matches!(error, Err(CatalogError::Code(_))));
}

#[tokio::test]
async fn applications_are_listed_once_for_each_version() {
    let world = World::keeping_capabilities().await;
    deploy(&world, 'a', SITE);
    let environment = "production".parse().unwrap();
    let found = world.catalogs.applications(&environment).await.unwrap();
    let again = world.catalogs.applications(&environment).await.unwrap();
    assert!(Arc::ptr_eq(&found, &again));
    let [definition] = &*found else {
        panic!("{found:?}")
    };
    assert_eq!((definition.name.as_str(), definition.line), ("pair", 10));
    assert_eq!(
        definition.parameters,
        [
            ("secret".to_owned(), None),
            ("size".to_owned(), Some("[1, 2]".to_owned())),
            (
                "key".to_owned(),
                Some("Sensitive [value redacted]".to_owned())
            ),
            (
                "token".to_owned(),
                Some("Sensitive [value redacted]".to_owned())
            ),
        ]
    );
}

#[tokio::test]
async fn a_catalog_that_was_begun_first_produces_nothing_after_a_later_one() {
    let world = World::keeping_capabilities().await;
    deploy(&world, 'a', &SITE.replace("hunter2", "old"));
    deploy(&world, 'b', &SITE.replace("hunter2", "new"));
    let certname = "n1".parse().unwrap();
    let [older, newer] = [(); 2].map(|()| world.catalogs.begin_catalog(&certname));
    for (version, kept) in [('b', newer), ('a', older)] {
        let facts = NodeFacts::without_facts(certname.clone());
        let node = world.catalogs.classify_node(facts).unwrap();
        let (environment, code_id) = ("production".parse().unwrap(), code_id(version));
        let opening = world.catalogs.environment(&environment, Some(&code_id));
        let opened = opening.await.unwrap();
        let origin = request("n1").origin;
        let write = |document: &mut CatalogDocument| document.to_json(DocumentForm::Rich);
        let catalogs = &world.catalogs;
        let compiling =
            catalogs.compile_node(&node, opened, &origin, Some(kept), (write, |_| true));
        compiling.await.unwrap();
    }
    let consumer = world.compile("n2").await.unwrap();
    assert_eq!(notices(&consumer), [("web 5".to_owned(), json!("new"))]);
}

#[tokio::test]
async fn a_value_of_a_type_of_a_module_is_refused_where_it_is_produced() {
    let world = World::keeping_capabilities().await;
    let manifest = "
type Point = Object[{attributes => {x => Integer}}]
capability place($name_of, $point) { }
define db() { }
Db produces Place { name_of => 'p', point => [Point.new(3)] }
application one() { db { 'd': export => Place['p'] } }
site { one { 'one': nodes => { Node['n1'] => Db['d'] } } }
";
    deploy(&world, 'a', manifest);
    world.compile("n1").await.unwrap();
    let error = world.catalogs.compile(kept("n1")).await.unwrap_err();
    let text = error.to_string();
    let expected = "the attribute point of Place[p], which n1 produces, has a value that other nodes cannot read";
    assert!(text.starts_with(expected), "{text}");
}
