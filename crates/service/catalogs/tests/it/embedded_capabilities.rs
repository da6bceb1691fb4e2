//! Capabilities in the database of a server.

use std::sync::Arc;

use catalogs::defaults::{
    CAPABILITIES_OF_NODE_MAX, CAPABILITY_BYTES_OF_NODE_MAX, CAPABILITY_PRODUCERS_MAX,
};
use catalogs::{
    CapabilitiesOfCode, CapabilitySources, EmbeddedCapabilities, KeepCapabilitiesError,
};
use compiler::{CapabilitySearch, ProducedCapabilities as _, ProducedCapability, StoredCapability};
use pcore::{Hash, Value};
use pki::seal::SealKey;
use store::{ProducedCapabilityRow, Store, StoreConfig};
use tempfile::TempDir;
use testkit::engine::Database;
use tokio::runtime::Handle;

/// A database with the capabilities of nodes. The nodes `a` and `b` are known.
struct Producers {
    store: Store,
    capabilities: EmbeddedCapabilities,
    root: TempDir,
    _database: Database,
}

impl Producers {
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let database = Database::empty().await.unwrap();
        let config = StoreConfig::new(database.url());
        let store = Store::open(&config).await.unwrap();
        let known = ["a", "b"].map(str::to_owned);
        store.record_inventory_nodes(&known).await.unwrap();
        Self {
            capabilities: open(&store, &root).await,
            store,
            root,
            _database: database,
        }
    }

    async fn keep(&self, node: &str, kept: &[ProducedCapability]) {
        self.keep_of("production", node, kept).await.unwrap();
    }

    async fn keep_of(
        &self,
        environment: &str,
        node: &str,
        kept: &[ProducedCapability],
    ) -> Result<(), KeepCapabilitiesError> {
        let turn = self.capabilities.begin(node);
        self.capabilities.keep(turn, environment, None, kept).await
    }

    /// What a compilation of a version finds, on a thread of its own.
    async fn find_of(&self, code_id: Option<&str>, title: &str) -> Vec<StoredCapability> {
        let capabilities = of_code(self.capabilities.clone(), code_id);
        let title = title.to_owned();
        on_thread(move || capabilities.find(&search(&title)).unwrap()).await
    }

    async fn producers(&self, title: &str) -> Vec<String> {
        let found = self.find_of(None, title).await.into_iter();
        found.map(|it| it.certname).collect()
    }
}

async fn open(store: &Store, root: &TempDir) -> EmbeddedCapabilities {
    let seal = Arc::new(SealKey::open_or_create(&root.path().join("seal")).unwrap());
    let opening = EmbeddedCapabilities::open(store.clone(), seal, Handle::current(), true);
    opening.await.unwrap()
}

fn of_code(embedded: EmbeddedCapabilities, code_id: Option<&str>) -> CapabilitiesOfCode {
    let sources = CapabilitySources {
        embedded: Some(embedded),
        puppetdb: None,
    };
    sources.of_code(code_id).unwrap()
}

/// Compilations run on threads that are not of the runtime.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let working = tokio::task::spawn_blocking(|| std::thread::spawn(work).join().unwrap());
    working.await.unwrap()
}

fn search(title: &str) -> CapabilitySearch<'_> {
    CapabilitySearch {
        environment: "production",
        type_name: "Sql",
        title,
        interrupt: None,
    }
}

fn sql(title: &str, host: Value) -> ProducedCapability {
    let mut attributes = Hash::default();
    attributes.insert("host", host);
    ProducedCapability {
        type_name: "Sql".into(),
        title: title.into(),
        attributes,
    }
}

#[tokio::test]
async fn nodes_that_never_produced_something_cost_no_statement() {
    let site = Producers::new().await;
    site.keep("a", &[sql("x", Value::from("h"))]).await;
    site.store.close().await;
    site.keep("b", &[]).await;
    let error = site.keep_of("production", "a", &[]).await.unwrap_err();
    assert!(
        matches!(error, KeepCapabilitiesError::Store { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn producers_are_known_after_a_restart() {
    let mut site = Producers::new().await;
    site.keep("a", &[sql("x", Value::from("h"))]).await;
    site.keep("b", &[sql("x", Value::from("h"))]).await;
    site.capabilities = open(&site.store, &site.root).await;
    assert_eq!(site.producers("x").await, ["a", "b"]);
    site.keep("a", &[]).await;
    assert_eq!(site.producers("x").await, ["b"]);
    // and then again
    site.keep("a", &[sql("x", Value::from("h"))]).await;
    site.keep("a", &[]).await;
    assert_eq!(site.producers("x").await, ["b"]);
}

#[tokio::test]
async fn producers_of_other_versions_do_not_cut_off_the_right_one() {
    let site = Producers::new().await;
    let others: Vec<String> = (0..CAPABILITY_PRODUCERS_MAX)
        .map(|number| format!("a{number}"))
        .collect();
    site.store.record_inventory_nodes(&others).await.unwrap();
    for node in others {
        site.keep(&node, &[sql("x", Value::from("old"))]).await;
    }
    let turn = site.capabilities.begin("b");
    let produced = [sql("x", Value::from("new"))];
    let keeping = site
        .capabilities
        .keep(turn, "production", Some("c2"), &produced);
    keeping.await.unwrap();
    let found = site.find_of(Some("c2"), "x").await;
    assert_eq!(found.len() as u64, CAPABILITY_PRODUCERS_MAX);
    assert_eq!(found[0].certname, "b");
    assert_eq!(found[1].certname, "a0");
}

#[tokio::test]
async fn a_node_that_is_deleted_while_it_is_compiled_produces_nothing() {
    let site = Producers::new().await;
    let produced = [sql("x", Value::from("h"))];
    site.keep("a", &produced).await;
    let turn = site.capabilities.begin("a");
    assert!(site.store.delete_inventory_node("a").await.unwrap());
    let keeping = site.capabilities.keep(turn, "production", None, &produced);
    let error = keeping.await.unwrap_err().to_string();
    assert!(error.contains("was deleted while"), "{error}");
    assert_eq!(site.producers("x").await, [""; 0]);
}

#[tokio::test]
async fn secrets_are_not_in_the_database() {
    let site = Producers::new().await;
    let secret = "hunter2 hunter2 hunter2";
    let sensitive = Value::sensitive(Value::from(secret));
    site.keep("a", &[sql("x", sensitive.clone())]).await;
    let rows = site
        .store
        .produced_capabilities("production", "Sql", "x", None, 1);
    let [row] = <[ProducedCapabilityRow; 1]>::try_from(rows.await.unwrap()).unwrap();
    for readable in [secret, "hunter2", "Sensitive", "host"] {
        let readable = readable.as_bytes();
        let mut windows = row.attributes.windows(readable.len());
        assert!(!windows.any(|it| it == readable), "{row:?}");
    }
    let [found] = <[StoredCapability; 1]>::try_from(site.find_of(None, "x").await).unwrap();
    assert_eq!(found.attributes.get_str("host"), Some(&sensitive));

    // nor are they read with another key
    let key = SealKey::open_or_create(&site.root.path().join("other")).unwrap();
    let other =
        EmbeddedCapabilities::open(site.store.clone(), Arc::new(key), Handle::current(), true);
    let other = of_code(other.await.unwrap(), None);
    let error = on_thread(move || other.find(&search("x")).unwrap_err()).await;
    let error = error.to_string();
    assert!(error.contains("Sql[x] of a is damaged"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_node_produces_no_more_than_the_limits() {
    let site = Producers::new().await;
    site.keep("a", &[sql("x", Value::from("h"))]).await;
    let many: Vec<ProducedCapability> = (0..=CAPABILITIES_OF_NODE_MAX)
        .map(|number| sql(&number.to_string(), Value::from("h")))
        .collect();
    let error = site.keep_of("production", "a", &many).await.unwrap_err();
    let number = CAPABILITIES_OF_NODE_MAX + 1;
    assert!(
        matches!(&error, KeepCapabilitiesError::TooMany { number: it, .. } if *it == number),
        "{error}"
    );
    let half = "x".repeat(CAPABILITY_BYTES_OF_NODE_MAX / 2);
    let large = [sql("1", Value::from(&*half)), sql("2", Value::from(&*half))];
    let error = site.keep_of("production", "a", &large).await.unwrap_err();
    assert!(
        matches!(error, KeepCapabilitiesError::TooLarge { .. }),
        "{error}"
    );
    // the former ones remain
    assert_eq!(site.producers("x").await, ["a"]);
    site.keep("a", &many[1..]).await;
    assert_eq!(site.producers("1000").await, ["a"]);
    assert_eq!(site.producers("x").await, [""; 0]);
    site.keep("a", &large[..1]).await;
    assert_eq!(site.producers("1").await, ["a"]);
}

#[tokio::test]
async fn of_two_catalogs_of_a_node_that_which_was_begun_last_counts() {
    let site = Producers::new().await;
    let (older, newer) = (site.capabilities.begin("a"), site.capabilities.begin("a"));
    let keep = async |turn, title| {
        let produced = [sql(title, Value::from("h"))];
        let keeping = site.capabilities.keep(turn, "production", None, &produced);
        keeping.await.unwrap();
    };
    keep(newer, "new").await;
    keep(older, "old").await;
    assert_eq!(site.producers("new").await, ["a"]);
    assert_eq!(site.producers("old").await, [""; 0]);

    let (first, second) = (site.capabilities.begin("a"), site.capabilities.begin("a"));
    keep(first, "first").await;
    keep(second, "second").await;
    assert_eq!(site.producers("second").await, ["a"]);
    assert_eq!(site.producers("first").await, [""; 0]);
}
