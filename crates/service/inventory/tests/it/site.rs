//! An embedded inventory of a small site: [`Site`].

use std::sync::Arc;

use inventory::{Inventory, NodeQuery, NodeRecord, PuppetReport, QueryError};
use pcp::Certname;
use serde_json::{Map, Value, json};
use store::{Store, StoreConfig};
use testkit::engine::Database;

pub(crate) struct Site {
    pub(crate) inventory: Inventory,
    config: StoreConfig,
    store: Store,
    _database: Database,
}

impl Site {
    pub(crate) async fn empty() -> Self {
        let database = Database::empty().await.unwrap();
        let config = StoreConfig::new(database.url());
        let store = Store::open(&config).await.unwrap();
        Self {
            inventory: Inventory::embedded(store.clone()).await.unwrap(),
            config,
            store,
            _database: database,
        }
    }

    /// Three nodes that sent facts, and one that did not: `silent`.
    pub(crate) async fn small() -> Self {
        let site = Self::empty().await;
        for (name, family, cpus, environment) in [
            ("db", "RedHat", 8, "production"),
            ("web1", "Debian", 2, "production"),
            ("web2", "Debian", 4, "test"),
        ] {
            let facts = json!({
                "kernel": "Linux",
                "os": {"family": family, "release": {"major": "12"}},
                "processors": {"count": cpus, "models": ["M1", "M2"]},
                "odd.name": {"x y": true},
            });
            let trusted = json!({"certname": name, "extensions": {"pp_role": &name[..2]}});
            let record = record(facts, trusted, Some(environment), 1_000);
            let certname = certname(name);
            let put = site.inventory.record_facts(&certname, record);
            put.await.unwrap();
        }
        let silent = [certname("silent")];
        site.inventory.record_connected(&silent).await.unwrap();
        site
    }

    /// Simulates a restart of the server.
    pub(crate) async fn restart(&mut self) {
        self.store.close().await;
        self.store = Store::open(&self.config).await.unwrap();
        self.inventory = Inventory::embedded(self.store.clone()).await.unwrap();
    }

    pub(crate) async fn rows(&self, pql: &str) -> Value {
        let rows = self.inventory.query(&NodeQuery::from_text(pql)).await;
        Value::from(rows.unwrap_or_else(|error| panic!("{pql}: {error}")))
    }

    /// The certnames of the answer, separated by spaces.
    pub(crate) async fn names(&self, pql: &str) -> String {
        let names = self.inventory.certnames(&NodeQuery::from_text(pql)).await;
        let names = names.unwrap_or_else(|error| panic!("{pql}: {error}"));
        let names: Vec<&str> = names.iter().map(Certname::as_str).collect();
        names.join(" ")
    }

    pub(crate) async fn error(&self, pql: &str) -> QueryError {
        match self.inventory.query(&NodeQuery::from_text(pql)).await {
            Ok(rows) => panic!("{pql} is answered: {rows:?}"),
            Err(error) => error,
        }
    }
}

pub(crate) fn certname(name: &str) -> Certname {
    name.parse().unwrap()
}

pub(crate) fn record(
    facts: Value,
    trusted: Value,
    environment: Option<&str>,
    at_ms: i64,
) -> NodeRecord {
    NodeRecord {
        facts: Arc::new(object(facts)),
        trusted: Arc::new(object(trusted)),
        environment: environment.map(str::to_owned),
        timestamp: jiff::Timestamp::from_millisecond(at_ms).unwrap(),
    }
}

pub(crate) fn report(uuid: &str, status: &str, at_ms: i64) -> PuppetReport {
    PuppetReport {
        transaction_uuid: uuid.to_owned(),
        status: Some(status.to_owned()),
        environment: Some("production".to_owned()),
        receive_time: Some(jiff::Timestamp::from_millisecond(at_ms).unwrap()),
        ..PuppetReport::default()
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}
