//! Capabilities in the database of a server.

use std::sync::Arc;

use catalogs::defaults::CAPABILITY_PRODUCERS_MAX;
use catalogs::{EmbeddedCapabilities, KeepCapabilitiesError};
use compiler::{CapabilitySearch, ProducedCapabilities as _, ProducedCapability, StoredCapability};
use pcore::{Hash, Value};
use pki::seal::SealKey;
use store::{Store, StoreConfig};
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
        let capabilities = self.capabilities.clone().of_code(code_id);
        let title = title.to_owned();
        let searching = on_thread(move || {
            capabilities.find(&CapabilitySearch {
                environment: "production",
                type_name: "Sql",
                title: &title,
                interrupt: None,
            })
        });
        searching.await.unwrap()
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

/// Compilations run on threads that are not of the runtime.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let working = tokio::task::spawn_blocking(|| std::thread::spawn(work).join().unwrap());
    working.await.unwrap()
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
