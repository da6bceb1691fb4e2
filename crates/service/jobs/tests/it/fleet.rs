//! The inventory and the classifier as those who know nodes.

use std::sync::Arc;

use classifier::{Classifier, GroupInput, UnrestrictedEditor};
use inventory::{Inventory, NodeRecord};
use jobs::{FleetResolver, NodeEnvironment, NodeResolveError, NodeResolver, PuppetRun};
use pcp::Certname;
use serde_json::{Map, Value, json};
use store::{JobNumber, Store, StoreConfig};
use tempfile::TempDir;

/// The shipped parent of groups that choose an environment.
const ENVIRONMENTS: &str = "7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a01";

struct Site {
    _dir: TempDir,
    inventory: Inventory,
    classifier: Classifier,
    fleet: FleetResolver,
}

fn object(value: Value) -> Arc<Map<String, Value>> {
    Arc::new(value.as_object().unwrap().clone())
}

fn certname(name: &str) -> Certname {
    name.parse().unwrap()
}

impl Site {
    /// Two nodes with facts, `web` and `db`.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = StoreConfig::sqlite(dir.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        let inventory = Inventory::embedded(store.clone()).await.unwrap();
        let classifier = Classifier::open(store).await.unwrap();
        for (name, role) in [("web", "front"), ("db", "back")] {
            let record = NodeRecord {
                facts: object(json!({"role": role})),
                trusted: object(json!({"certname": name})),
                environment: None,
                timestamp: jiff::Timestamp::UNIX_EPOCH,
            };
            let name = certname(name);
            inventory.record_facts(&name, record).await.unwrap();
        }
        let fleet = FleetResolver::new(inventory.clone(), classifier.clone());
        Self {
            _dir: dir,
            inventory,
            classifier,
            fleet,
        }
    }

    /// A new group's id.
    async fn group(&self, name: &str, rule: Value) -> String {
        let group = json!({"name": name, "parent": ENVIRONMENTS,
            "environment": "test", "environment_trumps": true, "rule": rule, "classes": {}});
        let input = GroupInput::parse(&group).unwrap();
        let made = self
            .classifier
            .create(input, UnrestrictedEditor)
            .await
            .unwrap();
        made.group.unwrap().id.to_string()
    }
}

#[tokio::test]
async fn a_query_and_a_group_come_to_their_nodes() {
    let site = Site::new().await;
    let pql = json!("inventory[certname] { facts.role = \"front\" }");
    assert_eq!(site.fleet.query_certnames(&pql).await.unwrap(), ["web"]);
    let wrong = site.fleet.query_certnames(&json!("nodes {")).await;
    assert!(
        matches!(wrong, Err(NodeResolveError::Query(_))),
        "{wrong:?}"
    );
    let rule = json!(["or", ["=", ["fact", "role"], "back"], ["=", "name", "new"]]);
    let group = site.group("back", rule).await;
    let mut found = site.fleet.nodes_of_group(&group).await.unwrap();
    found.sort();
    assert_eq!(
        found,
        ["db", "new"],
        "also who is pinned and told nothing yet"
    );
    let none = site.group("none", Value::Null).await;
    let refused = site.fleet.nodes_of_group(&none).await;
    assert!(
        matches!(refused, Err(NodeResolveError::NoRules(_))),
        "{refused:?}"
    );
    for unknown in ["00000000-0000-4000-8000-00000000ffff", "x"] {
        let refused = site.fleet.nodes_of_group(unknown).await;
        assert!(
            matches!(refused, Err(NodeResolveError::UnknownGroup(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_classifier_decides_environments_once_somebody_has_made_groups() {
    let site = Site::new().await;
    let nodes = [certname("web"), certname("db")];
    let environments = || site.fleet.classified_environments(&nodes);
    let nowhere = [NodeEnvironment::Nowhere, NodeEnvironment::Nowhere];
    assert_eq!(environments().await.unwrap(), nowhere);
    site.group("back", json!(["=", ["fact", "role"], "back"]))
        .await;
    let decided = ["production", "test"].map(|name| NodeEnvironment::Into(name.to_owned()));
    assert_eq!(environments().await.unwrap(), decided);
    assert_eq!(
        site.fleet.nodes_of_environment("test").await.unwrap(),
        ["db"]
    );
    assert_eq!(
        site.fleet.nodes_of_environment("production").await.unwrap(),
        ["web"]
    );
}

#[tokio::test]
async fn an_embedded_inventory_keeps_the_report_of_a_run() {
    let site = Site::new().await;
    let run = PuppetRun {
        certname: certname("web"),
        job: JobNumber::new(7).unwrap(),
        transaction_uuid: "5f5a1b2c-0000-4000-8000-000000000001".to_owned(),
        status: "changed".to_owned(),
        environment: Some("staging".to_owned()),
        configuration_version: Some("42".to_owned()),
        code_id: Some("v1;staging".parse().unwrap()),
        metrics: object(json!({"total": 7, "changed": 1})).as_ref().clone(),
        time: Some("2026-11-21T20:00:00.123456789+00:00".to_owned()),
        noop: false,
    };
    for _ in 0..2 {
        assert_eq!(site.fleet.find_report(&run).await.unwrap(), None);
    }
    let uuid = &run.transaction_uuid;
    let kept = site
        .inventory
        .wait_for_report(&run.certname, uuid, Default::default());
    let kept = kept.await.unwrap().unwrap();
    assert_eq!(kept.status.as_deref(), Some("changed"));
    assert_eq!(kept.job_id.as_deref(), Some("7"));
    assert_eq!(kept.metrics.len(), 2);
    assert_eq!(kept.code_id.as_deref(), Some("v1;staging"));
    let found = site.fleet.nodes_of_environment("staging").await.unwrap();
    assert_eq!(found, ["web"], "its last catalog was of it");
}

/// With its only thread for long work taken, the classifier has to wait; and whoever waits for it
/// lets others go on.
#[test]
fn nodes_are_classified_on_no_thread_that_answers_others() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let site = Site::new().await;
        let group = site
            .group("back", json!(["=", ["fact", "role"], "back"]))
            .await;
        let (release, held) = std::sync::mpsc::channel::<()>();
        let taken = tokio::task::spawn_blocking(move || held.recv().unwrap());
        let nodes = [certname("db")];
        let mut environments = Box::pin(site.fleet.classified_environments(&nodes));
        let mut of_group = Box::pin(site.fleet.nodes_of_group(&group));
        assert!(futures_util::poll!(&mut environments).is_pending());
        assert!(futures_util::poll!(&mut of_group).is_pending());
        release.send(()).unwrap();
        taken.await.unwrap();
        let test = NodeEnvironment::Into("test".to_owned());
        assert_eq!(environments.await.unwrap(), [test]);
        assert_eq!(of_group.await.unwrap(), ["db"]);
    });
}
