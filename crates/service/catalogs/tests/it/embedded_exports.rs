//! Exported resources in the database of the server.

use std::sync::Arc;

use catalogs::defaults::{EXPORTED_BYTES_OF_NODE_MAX, EXPORTS_OF_NODE_MAX};
use catalogs::{EmbeddedExports, KeepExportsError, KeepTurn, KeptExports};
use compiler::{CompileInterrupt, DocumentForm, ExportSearch, ExportedResources as _};
use inventory::Inventory;
use pki::seal::SealKey;
use serde_json::{Value as Json, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use testkit::engine::{Database, Engine};
use tokio::runtime::Runtime;

use crate::site::{Compiled, compile_request, document, request, resource};

struct Exporters {
    runtime: Runtime,
    store: Store,
    exports: EmbeddedExports,
    directory: TempDir,
    database: Database,
}

impl Exporters {
    fn new() -> Self {
        Self::on(Engine::Sqlite)
    }

    fn on(engine: Engine) -> Self {
        let runtime = Runtime::new().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut database = None;
        runtime.block_on(engine.run(async {
            database = Some(Database::empty().await.unwrap());
        }));
        let database = database.unwrap();
        let config = StoreConfig::new(database.url());
        let store = runtime.block_on(Store::open(&config)).unwrap();
        let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
        let handle = runtime.handle().clone();
        let exports = EmbeddedExports::new(store.clone(), Arc::new(seal), handle);
        Self {
            runtime,
            store,
            exports,
            directory,
            database,
        }
    }

    /// Keeps resources of a node that the inventory knows. `false`: they are unchanged.
    fn keep(&self, certname: &str, resources: &[Json]) -> Result<bool, KeepExportsError> {
        self.record(certname);
        let kept = self.keep_in(self.exports.begin(certname), resources)?;
        assert_ne!(kept, KeptExports::Superseded);
        Ok(kept == KeptExports::Written)
    }

    fn keep_in(&self, turn: KeepTurn, resources: &[Json]) -> Result<KeptExports, KeepExportsError> {
        let kept = self
            .exports
            .keep_exports(turn, "production", Some("c1"), resources);
        self.runtime.block_on(kept)
    }

    fn record(&self, certname: &str) {
        let certnames = [certname.to_owned()];
        let recorded = self.store.record_inventory_nodes(&certnames);
        self.runtime.block_on(recorded).unwrap();
    }

    /// Compiles a node, and keeps its exported resources.
    fn run(&self, certname: &str, manifest: &str) -> bool {
        let mut request = request(certname);
        request.exports = Some(Arc::new(self.exports.clone()));
        let compiled = compile_request(manifest, &request).unwrap();
        let exported = compiled
            .document
            .exported_resources(DocumentForm::Texts)
            .unwrap();
        self.keep(certname, &exported).unwrap()
    }

    /// The catalog of a node that collects.
    fn collect(&self, manifest: &str) -> Compiled {
        let mut request = request("here");
        request.exports = Some(Arc::new(self.exports.clone()));
        document(&compile_request(manifest, &request)?)
    }
}

/// A search for all resources of a type.
fn all<'s>(type_name: &'s str, interrupt: Option<&'s Arc<CompileInterrupt>>) -> ExportSearch<'s> {
    ExportSearch {
        certname: "here",
        type_name,
        query: None,
        interrupt,
    }
}

fn notify(title: &str, parameters: Json) -> Json {
    json!({"type": "Notify", "title": title, "tags": ["notify"], "parameters": parameters})
}

fn titles(document: &Json) -> Vec<&str> {
    let resources = document["resources"].as_array().unwrap().iter();
    let notifies = resources.filter(|it| it["type"] == "Notify");
    notifies.map(|it| it["title"].as_str().unwrap()).collect()
}

const EXPORT: &str = "
    define backend($port, $options = {}) { notify { \"${title} ${port} ${options}\": } }
    class shop {
      @@backend { 'b': port => 80, options => { 'a' => [1, undef], 'ü' => 1.5 } }
      @@notify { 'low': message => 'x', tag => 'Web' }
      @@notify { 'both': message => ['x', 'y'], noop => true }
      Notify <<| title == 'both' |>>
      @notify { 'only virtual': }
    }
    include shop";

#[test]
fn exported_resources_of_other_nodes_are_collected() {
    let site = Exporters::new();
    assert!(site.run("web1", EXPORT));
    let collect = "
        define backend($port, $options = {}) { notify { \"${title} ${port} ${options}\": } }
        Backend <<| port == 80 and tag == 'Shop' |>>
        Notify <<| message == 'x' or noop == true |>> { withpath => true }
        Notify <<| title != 'low' and title != 'both' |>>";
    let found = site.collect(collect).unwrap();
    let expected = ["low", "both", "b 80 {a => [1, ], ü => 1.5}"];
    assert_eq!(titles(&found), expected);
    let low = resource(&found, "Notify", "low").unwrap();
    let expected = json!({"message": "x", "tag": "Web", "withpath": true});
    assert_eq!(low["parameters"], expected);
    assert_eq!(low["exported"], json!(false));
    // a node does not collect its own resources from the database
    let own = compile_request("Notify <<| |>>", &{
        let mut request = request("web1");
        request.exports = Some(Arc::new(site.exports.clone()));
        request
    });
    assert_eq!(titles(&document(&own.unwrap()).unwrap()), [""; 0]);
}

#[test]
fn values_are_compared_exactly() {
    let site = Exporters::new();
    let rows = [
        notify("text", json!({"message": "x"})),
        notify("upper", json!({"message": "X"})),
        notify("list", json!({"message": ["x"]})),
        notify("number", json!({"message": 1})),
        notify("number as text", json!({"message": "1"})),
        notify("none", json!({})),
    ];
    site.keep("web1", &rows).unwrap();
    for (query, expected) in [
        ("message == 'x'", vec!["text"]),
        ("message == $list", vec!["list"]),
        ("message == 1", vec!["number"]),
        (
            "message != 'x' and title != 'upper' and title != 'list'",
            vec!["number", "number as text", "none"],
        ),
        ("title == 'TEXT'", vec![]),
        ("tag == 'NOTIFY' and message == 'X'", vec!["upper"]),
    ] {
        let found = site.collect(&format!("$list = ['x'] Notify <<| {query} |>>"));
        assert_eq!(titles(&found.unwrap()), expected, "{query}");
    }
}

#[test]
fn the_resources_of_a_node_are_those_of_its_last_catalog() {
    let site = Exporters::new();
    assert!(site.run("web1", "@@notify { 'a': } @@file { '/a': }"));
    assert!(!site.run("web1", "@@notify { 'a': } @@file { '/a': }"));
    assert!(site.run("web1", "@@notify { 'b': }"));
    let found = site.collect("Notify <<| |>> File <<| |>>").unwrap();
    assert_eq!(titles(&found), ["b"]);
    assert!(resource(&found, "File", "/a").is_none());
    assert!(site.run("web1", ""));
    assert!(
        !site.run("web1", ""),
        "nothing is written for a node that exports nothing"
    );
    assert_eq!(titles(&site.collect("Notify <<| |>>").unwrap()), [""; 0]);
}

#[test]
fn sensitive_values_are_sealed_and_stay_sensitive() {
    sensitive_values_on(Engine::Sqlite);
    sensitive_values_on(Engine::Postgres);
}

#[track_caller]
fn sensitive_values_on(engine: Engine) {
    let site = Exporters::on(engine);
    let manifest = "@@notify { 'a': message => Sensitive('hunter2'), withpath => true }
        @@notify { 'b': message => { 'inner' => Sensitive('hunter3') } }";
    assert!(site.run("web1", manifest));
    assert!(
        site.run("web1", manifest),
        "the database has no digest of secrets"
    );
    assert!(!site.database.holds("hunter").unwrap());
    assert!(site.database.holds("withpath").unwrap());
    let found = site.collect("Notify <<| message != 'hunter2' |>>").unwrap();
    let a = resource(&found, "Notify", "a").unwrap();
    assert_eq!(a["parameters"]["message"], json!("hunter2"));
    assert_eq!(a["sensitive_parameters"], json!(["message"]));
    let b = resource(&found, "Notify", "b").unwrap();
    assert!(!b.to_string().contains("hunter3"), "{b}");
}

#[test]
fn another_seal_key_is_an_error_that_names_the_node() {
    let site = Exporters::new();
    site.run("web1", "@@notify { 'a': message => Sensitive('hunter2') }");
    let other = SealKey::open_or_create(&site.directory.path().join("other")).unwrap();
    let handle = site.runtime.handle().clone();
    let other = EmbeddedExports::new(site.store.clone(), Arc::new(other), handle);
    let mut request = request("here");
    request.exports = Some(Arc::new(other));
    let error = compile_request("Notify <<| |>>", &request).unwrap_err();
    assert!(
        error.contains(
            "Could not retrieve resources from the database of this server: resources of web1"
        ),
        "{error}"
    );
    assert!(error.contains("sealed with another key"), "{error}");
}

#[test]
fn too_many_and_too_large_resources_are_refused() {
    let site = Exporters::new();
    site.keep("web1", &[notify("before", json!({}))]).unwrap();
    let many: Vec<Json> = (0..=EXPORTS_OF_NODE_MAX)
        .map(|it| notify(&format!("n{it}"), json!({})))
        .collect();
    let error = site.keep("web1", &many).unwrap_err().to_string();
    assert!(error.contains("10001 resources"), "{error}");
    site.keep("web2", &many[1..]).unwrap();
    let text = "x".repeat(EXPORTED_BYTES_OF_NODE_MAX);
    let large = [notify("large", json!({"message": text}))];
    let error = site.keep("web1", &large).unwrap_err().to_string();
    assert!(error.contains("bytes"), "{error}");
    let error = site.keep("web1", &[json!(1)]).unwrap_err().to_string();
    assert!(
        error.contains("none of a catalog: it has no type"),
        "{error}"
    );
    let found = site.collect("Notify <<| title == 'before' |>>").unwrap();
    assert_eq!(titles(&found), ["before"]);
    // eleven nodes with as many as possible are more than a collector takes
    for number in 0..10 {
        site.keep(&format!("node{number}"), &many[1..]).unwrap();
    }
    let error = site.collect("Notify <<| |>>").unwrap_err();
    assert!(error.contains("narrower query"), "{error}");
}

#[test]
fn resources_of_more_nodes_than_a_page_are_found() {
    let site = Exporters::new();
    for number in 0..250 {
        let title = format!("n{number:03} \0 ü");
        site.keep(&format!("node{number:03}"), &[notify(&title, json!({}))])
            .unwrap();
    }
    let found = site.collect("Notify <<| |>>").unwrap();
    let expected: Vec<String> = (0..250).map(|it| format!("n{it:03} \0 ü")).collect();
    assert_eq!(titles(&found), expected);
}

#[test]
fn resources_of_many_large_nodes_are_found() {
    let site = Exporters::new();
    let text = "x".repeat(EXPORTED_BYTES_OF_NODE_MAX - 1_000);
    for number in 0..5 {
        let large = [notify(&format!("n{number}"), json!({"message": text}))];
        site.keep(&format!("node{number}"), &large).unwrap();
    }
    let found = site.exports.search(&all("Notify", None)).unwrap();
    let titles: Vec<&str> = found.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["n0", "n1", "n2", "n3", "n4"]);
}

#[test]
fn an_interrupted_search_ends_with_the_reason() {
    let site = Exporters::new();
    site.run("web1", "@@notify { 'a': }");
    let interrupt = Arc::new(CompileInterrupt::default());
    let search = all("Notify", Some(&interrupt));
    assert_eq!(site.exports.search(&search).unwrap().len(), 1);
    interrupt.interrupt("the request of the catalog ended");
    let error = site.exports.search(&search).unwrap_err().to_string();
    assert!(
        error.contains("the request of the catalog ended"),
        "{error}"
    );
}

#[test]
fn a_node_that_is_purged_exports_nothing() {
    let site = Exporters::new();
    site.run("web1", "@@notify { 'a': }");
    let inventory = site
        .runtime
        .block_on(Inventory::embedded(site.store.clone()))
        .unwrap();
    let certname = "web1".parse().unwrap();
    site.runtime.block_on(inventory.forget(&certname)).unwrap();
    assert_eq!(titles(&site.collect("Notify <<| |>>").unwrap()), [""; 0]);
}

#[test]
fn an_older_catalog_does_not_replace_a_newer_one() {
    older_and_newer_on(Engine::Sqlite);
    older_and_newer_on(Engine::Postgres);
}

#[track_caller]
fn older_and_newer_on(engine: Engine) {
    let site = Exporters::on(engine);
    site.record("web1");
    let resources = |title: &str| [notify(title, json!({}))];
    let (older, newer) = (site.exports.begin("web1"), site.exports.begin("web1"));
    let kept = site.keep_in(newer, &resources("new")).unwrap();
    assert_eq!(kept, KeptExports::Written);
    let kept = site.keep_in(older, &resources("old")).unwrap();
    assert_eq!(kept, KeptExports::Superseded);
    assert_eq!(titles(&site.collect("Notify <<| |>>").unwrap()), ["new"]);
    // one that exports nothing counts too
    let (older, newer) = (site.exports.begin("web1"), site.exports.begin("web1"));
    assert_eq!(site.keep_in(newer, &[]).unwrap(), KeptExports::Written);
    let kept = site.keep_in(older, &resources("old")).unwrap();
    assert_eq!(kept, KeptExports::Superseded);
    assert_eq!(titles(&site.collect("Notify <<| |>>").unwrap()), [""; 0]);
}

#[test]
fn concurrent_catalogs_of_a_node_leave_the_newest_one() {
    let site = Exporters::new();
    site.record("web1");
    for round in 0..20 {
        let turns: Vec<_> = (0..8).map(|_| site.exports.begin("web1")).collect();
        let tasks = turns.into_iter().enumerate().rev().map(|(index, turn)| {
            let exports = site.exports.clone();
            let resources = [notify(&format!("{round} {index}"), json!({}))];
            site.runtime.spawn(async move {
                let kept = exports.keep_exports(turn, "production", None, &resources);
                kept.await.unwrap()
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            site.runtime.block_on(task).unwrap();
        }
        let found = site.collect("Notify <<| |>>").unwrap();
        assert_eq!(titles(&found), [format!("{round} 7")]);
    }
}

#[test]
fn a_node_that_is_deleted_while_it_is_compiled_exports_nothing() {
    let site = Exporters::new();
    site.run("web1", "@@notify { 'a': }");
    let turn = site.exports.begin("web1");
    let forget = site.store.delete_inventory_node("web1");
    assert!(site.runtime.block_on(forget).unwrap());
    let error = site.keep_in(turn, &[notify("b", json!({}))]).unwrap_err();
    assert!(error.to_string().contains("was deleted while"), "{error}");
    assert_eq!(titles(&site.collect("Notify <<| |>>").unwrap()), [""; 0]);
}

#[test]
fn a_search_on_a_thread_of_the_runtime_is_refused() {
    let site = Exporters::new();
    let search = async { site.exports.search(&all("Notify", None)).unwrap_err() };
    let error = site.runtime.block_on(search).to_string();
    assert!(
        error.contains("a thread of the server's runtime"),
        "{error}"
    );
}
