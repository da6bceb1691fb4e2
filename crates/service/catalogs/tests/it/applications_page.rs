//! The example of docs/applications.md: its files are an environment, whose graph and catalogs are those that
//! the document shows.

use catalogs::CatalogError;
use serde_json::{Value as Json, json};
use testkit::fenced_blocks::{FencedBlock, fenced_blocks};

use crate::world::{World, code_id, kept, request};

const PAGE: &str = include_str!("../../../../../docs/applications.md");

/// The block of this language below a heading.
fn block<'p>(heading: &str, language: &str) -> FencedBlock<'p> {
    let mut blocks = fenced_blocks(PAGE).into_iter();
    let found = blocks.find(|block| block.heading == heading && block.info == language);
    found.unwrap_or_else(|| panic!("no block of {language:?} below {heading:?}"))
}

/// The files of the example: a comment with a path begins each.
fn files() -> Vec<(&'static str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    let blocks = fenced_blocks(PAGE);
    let manifests = blocks.iter().filter(|block| block.info == "puppet");
    for line in manifests.flat_map(|block| &block.lines) {
        let path = line.strip_prefix("# ").filter(|it| it.ends_with(".pp"));
        match (path, files.last_mut()) {
            (Some(path), _) => files.push((path, String::new())),
            (None, Some((_, text))) => text.extend([line, "\n"]),
            (None, None) => panic!("{line} is in no file"),
        }
    }
    files
}

/// An environment with the files of the page, as a live version.
async fn world() -> World {
    let world = World::keeping_capabilities().await;
    let version = world.deploy('a', "");
    let data = ["version: 5\n", "lamp::password: hunter2\n"].map(str::to_owned);
    let [hierarchy, data] = data;
    let settings = block("Enable applications", "").text();
    let others = [
        ("environment.conf", settings),
        ("hiera.yaml", hierarchy),
        ("data/common.yaml", data),
    ];
    for (path, text) in files().into_iter().chain(others) {
        let path = version.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    world
}

fn of_type<'c>(catalog: &'c Json, name: &str) -> Vec<&'c Json> {
    let resources = catalog["resources"].as_array().unwrap().iter();
    resources.filter(|it| it["type"] == name).collect()
}

#[tokio::test]
async fn the_graph_is_the_one_of_the_page() {
    let world = world().await;
    let environment = "production".parse().unwrap();
    let origin = request("n1").origin;
    let graph = world
        .catalogs
        .application_graph(&environment, None, &origin);
    let graph = serde_json::to_value(&*graph.await.unwrap()).unwrap();
    let mut shown: Json = serde_json::from_str(&block("The graph", "json").text()).unwrap();
    // the environment of the page has no versions
    assert_eq!(shown["code_id"], Json::Null);
    shown["code_id"] = code_id('a').into();
    assert_eq!(shown.to_string(), graph.to_string());
}

#[tokio::test]
async fn the_nodes_of_the_page_get_the_values_of_the_database() {
    let world = world().await;
    let error = world.compile("web1.example.net").await.unwrap_err();
    assert!(matches!(error, CatalogError::Compile(_)), "{error}");
    let text = error.to_string();
    let (_, message) = text.split_once("Statement, ").unwrap();
    let (message, _) = message.split_once(" (file: ").unwrap();
    assert!(PAGE.contains(message), "the page does not show {message:?}");

    let database = kept("db.example.net");
    world.catalogs.compile(database).await.unwrap();
    for (node, name) in [
        ("web1.example.net", "app1-1"),
        ("web2.example.net", "app1-2"),
    ] {
        let catalog = world.compile(node).await.unwrap().catalog;
        let components = of_type(&catalog, "Lamp::Webapp");
        let [component] = components[..] else {
            panic!("{components:?}")
        };
        assert_eq!(component["title"], name);
        let parameters =
            json!({ "db_host": "db.example.net", "db_port": 3306, "password": "hunter2" });
        assert_eq!(component["parameters"], parameters);
        assert_eq!(component["sensitive_parameters"], json!(["password"]));
        assert_eq!(of_type(&catalog, "Lamp::Mysql"), [&Json::Null; 0]);
        let file = of_type(&catalog, "File")[0];
        assert_eq!(file["title"], format!("/etc/{name}.conf"));
        let content = file["parameters"]["content"].as_str().unwrap();
        assert!(PAGE.contains(content), "the page does not show {content:?}");
    }
}
