//! Capabilities of nodes that another server compiles, as a run of them ends.

use catalogs::{CapabilitySources, PuppetdbCapabilities};
use inventory::{Inventory, PuppetDbConfig};
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;

use crate::fake_puppetdb::FakePuppetdb;

fn sources(puppetdb: &FakePuppetdb) -> CapabilitySources {
    let config = PuppetDbConfig::new([puppetdb.url().as_str()], None).unwrap();
    let server = "here.test".parse().unwrap();
    let inventory = Inventory::puppetdb(config);
    CapabilitySources {
        embedded: None,
        puppetdb: Some(PuppetdbCapabilities::new(
            inventory,
            Handle::current(),
            Some(&server),
        )),
    }
}

fn catalog_of_run(run: &str) -> Json {
    json!([{"certname": "db.test", "code_id": null, "transaction_uuid": run,
        "producer_timestamp": "2026-01-01T00:00:00.000Z"}])
}

fn produced(titles: &[&str]) -> Json {
    let rows = titles.iter().map(|it| json!({"type": "Sql", "title": it}));
    rows.collect()
}

async fn missing_after(run: &str, answers: Vec<Json>) -> Vec<String> {
    let puppetdb = FakePuppetdb::answering_in_turn(answers);
    let wanted = ["Sql[a]".to_owned(), "Sql[b]".to_owned()];
    let (environment, node) = ("production".parse().unwrap(), "db.test".parse().unwrap());
    let sources = sources(&puppetdb);
    let looking = sources.missing_after_run(&environment, &node, (&wanted, run));
    looking.await.unwrap()
}

#[tokio::test]
async fn the_catalog_of_the_run_is_awaited() {
    let answers = vec![
        // that of an earlier run, which produced both
        catalog_of_run("1"),
        produced(&["a", "b"]),
        catalog_of_run("2"),
        produced(&["b"]),
    ];
    assert_eq!(missing_after("2", answers).await, ["Sql[a]"]);
}

#[tokio::test]
async fn a_node_that_moves_to_the_other_server_is_awaited() {
    let answers = vec![json!([]), catalog_of_run("2"), produced(&["a", "b"])];
    assert_eq!(missing_after("2", answers).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_unreadable_answer_is_told() {
    let puppetdb = FakePuppetdb::answering(&json!({"error": "x"}));
    let (environment, node) = ("production".parse().unwrap(), "db.test".parse().unwrap());
    let wanted = ["Sql[a]".to_owned()];
    let sources = sources(&puppetdb);
    let error = sources
        .missing(&environment, &node, &wanted)
        .await
        .unwrap_err();
    let expected = "the capabilities of db.test cannot be read from PuppetDB";
    assert_eq!(error.to_string(), expected);
}
