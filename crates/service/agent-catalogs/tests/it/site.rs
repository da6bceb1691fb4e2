//! The engine with a database, versions of code, and agents that request their catalogs.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_catalogs::{
    AgentCatalog, AgentCatalogError, AgentCatalogRequest, AgentCatalogSettings,
    AgentCatalogSources, AgentCatalogs, AgentFacts, AgentIdentity, AheadSummary, CatalogDatabase,
    ChecksumType, FactsPolicies,
};
use catalogs::{
    CapabilitySources, CatalogSettings, Catalogs, EmbeddedCapabilities, EmbeddedExports,
    InventoryQueries,
};
use classifier::{Classifier, GroupDelta, GroupId, GroupInput, UnrestrictedEditor};
use compiler::{DocumentForm, ProducedCapability};
use environments::EnvironmentDir;
use inventory::{Inventory, NodeRecord, trusted_facts};
use jiff::Timestamp;
use pcore::{Hash, Value};
use pki::seal::SealKey;
use run_reports::{RunReports, RunReportsConfig};
use serde_json::{Map, Value as Json, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use tokio::runtime::Handle;

/// Name of a node that exports resources, and whose facts are queried.
const OTHER: &str = "other.test";

/// Name of the node whose catalogs are requested.
pub(crate) const NODE: &str = "node1.test";

pub(crate) struct Site {
    directory: PathBuf,
    /// `None` if the directory is to outlive this.
    _temporary: Option<TempDir>,
    code: Arc<EnvironmentDir>,
    classifier: Classifier,
    inventory: Inventory,
    run_reports: RunReports,
    exports: EmbeddedExports,
    capabilities: EmbeddedCapabilities,
    pub(crate) store: Store,
    pub(crate) agents: AgentCatalogs,
    group: GroupId,
    /// The facts that count, from the next start of the engine on.
    pub(crate) facts_policies: FactsPolicies,
}

/// Everything of a request that a test varies.
#[derive(Debug, Clone)]
pub(crate) struct NodeState {
    pub(crate) facts: Json,
    pub(crate) extensions: BTreeMap<String, String>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::start_with(false).await
    }

    /// A site whose catalogs are queued for a PuppetDB.
    pub(crate) async fn start_forwarding() -> Self {
        Self::start_with(true).await
    }

    async fn start_with(forward: bool) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let site = Self::open_with(temporary.path().to_owned(), forward).await;
        Self {
            _temporary: Some(temporary),
            ..site
        }
    }

    /// Opens the site in a directory, which may have been one before.
    pub(crate) async fn open(directory: PathBuf) -> Self {
        Self::open_with(directory, false).await
    }

    async fn open_with(directory: PathBuf, forward: bool) -> Self {
        let path = &*directory;
        for below in ["environments", "modules"] {
            std::fs::create_dir_all(path.join(below)).unwrap();
        }
        let store = Store::open(&StoreConfig::sqlite(path.join("tutti.db")))
            .await
            .unwrap();
        let inventory = Inventory::embedded(store.clone()).await.unwrap();
        let classifier = Classifier::open(store.clone()).await.unwrap();
        let settings = RunReportsConfig {
            forward,
            ..RunReportsConfig::new("server.test".parse().unwrap())
        };
        let run_reports = RunReports::start(settings, store.clone(), inventory.clone())
            .await
            .unwrap();
        let code = EnvironmentDir::new(path).with_versions(path.join("versions"));
        let code = Arc::new(code);
        let group = json!({
            "name": "all", "parent": "00000000-0000-4000-8000-000000000000", "classes": {},
            "rule": ["~", "name", "^node"],
        });
        let group = GroupInput::parse(&group).unwrap();
        let known = classifier.groups();
        let known = known
            .iter()
            .find(|group| group.name == "all")
            .map(|group| group.id);
        let group = match known {
            Some(group) => group,
            None => {
                let created = classifier.create(group, UnrestrictedEditor).await.unwrap();
                created.group.unwrap().id
            }
        };
        let seal = SealKey::open_or_create(&path.join("seal.key")).unwrap();
        let seal = Arc::new(seal);
        let exports = EmbeddedExports::new(store.clone(), Arc::clone(&seal), Handle::current());
        let opening = EmbeddedCapabilities::open(store.clone(), seal, Handle::current(), true);
        let capabilities = opening.await.unwrap();
        let others = (&inventory, &exports, &capabilities);
        let mut site = Self {
            agents: memory_engine(sources(path, &code, &classifier, others, &run_reports)).await,
            exports,
            capabilities,
            directory,
            _temporary: None,
            code,
            classifier,
            inventory,
            run_reports,
            store,
            group,
            facts_policies: FactsPolicies::default(),
        };
        site.restart("build").await;
        site
    }

    /// Ends the engine, and starts it again with what is in the database.
    pub(crate) async fn restart(&mut self, build: &str) {
        self.agents.shutdown().await;
        let seal = SealKey::open_or_create(&self.path("seal.key")).unwrap();
        let database = CatalogDatabase {
            store: self.store.clone(),
            seal: Arc::new(seal),
            known_nodes_only: true,
        };
        let settings = AgentCatalogSettings {
            facts_policies: self.facts_policies.clone(),
            ..AgentCatalogSettings::new(build.to_owned())
        };
        let agents = AgentCatalogs::start(settings, self.sources(), Some(database));
        self.agents = agents.await.unwrap();
    }

    /// Ends everything.
    pub(crate) async fn close(self) {
        self.agents.shutdown().await;
        self.run_reports.shutdown().await;
        self.store.close().await;
    }

    /// The contents that a catalog names by hash, as the node reads them.
    pub(crate) async fn contents_of(&self, catalog: &AgentCatalog) -> Vec<String> {
        let agent = AgentIdentity::new(NODE.parse().unwrap(), BTreeMap::new());
        let document = document(catalog);
        let files = document["metadata"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let mut texts = Vec::new();
        for file in files.values() {
            let uri = file["content_uri"].as_str().unwrap();
            let sha256 = uri.rsplit('/').next().unwrap().parse().unwrap();
            let found = self.agents.content(&agent, sha256).await.unwrap();
            let mut text = String::new();
            found.unwrap().content.read_to_string(&mut text).unwrap();
            texts.push(text);
        }
        texts
    }

    /// An engine that remembers nothing.
    pub(crate) async fn fresh_engine(&self) -> AgentCatalogs {
        memory_engine(self.sources()).await
    }

    fn sources(&self) -> AgentCatalogSources {
        let (path, code) = (&*self.directory, &self.code);
        sources(
            path,
            code,
            &self.classifier,
            (&self.inventory, &self.exports, &self.capabilities),
            &self.run_reports,
        )
    }

    /// Another node exports resources with this value: a plain one, and a secret one.
    pub(crate) async fn export(&self, value: &str) {
        let resource = |title: &str, tag: &str| {
            json!({"type": "Notify", "title": title, "tags": ["notify", tag], "exported": true,
                "parameters": {"message": value}, "sensitive_parameters": ["message"]})
        };
        let resources = match value {
            "0" => Vec::new(),
            _ => vec![resource("of web", "web"), resource("of db", "db")],
        };
        self.other_node("web").await;
        let turn = self.exports.begin(OTHER);
        let keeping = self
            .exports
            .keep_exports(turn, "production", None, &resources);
        keeping.await.unwrap();
    }

    /// A node produces the capability `Sql[x]` with this password; none if it is empty.
    pub(crate) async fn produce(&self, producer: &str, password: &str) {
        let mut attributes = Hash::new();
        attributes.insert("password", Value::sensitive(Value::from(password)));
        let sql = ProducedCapability {
            type_name: "Sql".into(),
            title: "x".into(),
            attributes,
        };
        let produced = match password {
            "" => Vec::new(),
            _ => vec![sql],
        };
        let known = [producer.to_owned()];
        self.store.record_inventory_nodes(&known).await.unwrap();
        let turn = self.capabilities.begin(producer);
        let keeping = self.capabilities.keep(turn, "production", None, &produced);
        keeping.await.unwrap();
    }

    /// Facts of the node that its agent did not send with a request.
    pub(crate) async fn record_facts(&self, facts: Json) {
        let certname = NODE.parse().unwrap();
        let record = NodeRecord {
            facts: Arc::new(facts.as_object().unwrap().clone()),
            trusted: Arc::new(trusted_facts(&certname, BTreeMap::new())),
            environment: Some("production".to_owned()),
            timestamp: Timestamp::now(),
        };
        let recorded = self.inventory.record_facts(&certname, record).await;
        recorded.unwrap();
    }

    /// Another node has this fact `role`.
    pub(crate) async fn other_node(&self, role: &str) {
        let certname = OTHER.parse().unwrap();
        let facts = json!({"role": role});
        let record = NodeRecord {
            facts: Arc::new(facts.as_object().unwrap().clone()),
            trusted: Arc::new(trusted_facts(&certname, BTreeMap::new())),
            environment: None,
            timestamp: Timestamp::now(),
        };
        self.inventory
            .record_facts(&certname, record)
            .await
            .unwrap();
    }

    /// Compiles the catalogs of `production` in advance.
    pub(crate) async fn compile_ahead(&self) -> AheadSummary {
        let environment = "production".parse().unwrap();
        self.agents.compile_environment_ahead(&environment).await
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.path(path), text);
    }

    /// Writes a version of `production` if it does not exist, and makes it live.
    pub(crate) fn deploy(&self, digit: char, files: &[(&str, &str)]) {
        let name = format!("production_{}", String::from(digit).repeat(40));
        let version = self.path("versions").join(name);
        if !version.exists() {
            // the process may be killed at any moment
            let incomplete = self.path("incomplete");
            let _ = std::fs::remove_dir_all(&incomplete);
            for (path, text) in files {
                write(&incomplete.join(path), text);
            }
            std::fs::create_dir_all(self.path("versions")).unwrap();
            std::fs::rename(incomplete, &version).unwrap();
        }
        let new = self.path("environments/.new");
        let _ = std::fs::remove_file(&new);
        std::os::unix::fs::symlink(&version, &new).unwrap();
        std::fs::rename(new, self.path("environments/production")).unwrap();
    }

    /// Removes the node from the inventory.
    pub(crate) async fn delete_node(&self) {
        let certname = NODE.parse().unwrap();
        assert!(self.inventory.forget(&certname).await.unwrap());
    }

    /// True if facts of the node are known.
    pub(crate) fn has_facts(&self) -> bool {
        self.inventory.has_facts(&NODE.parse().unwrap())
    }

    /// Sets the environment of the node's group.
    pub(crate) async fn assign_environment(&self, environment: &str) {
        let delta = GroupDelta::parse(&json!({"environment": environment})).unwrap();
        self.classifier
            .update(self.group, delta, UnrestrictedEditor)
            .await
            .unwrap();
    }

    /// Sets the variable `of_group` of the node's group.
    pub(crate) async fn classify(&self, value: &str) {
        let delta = json!({"variables": {"of_group": value}});
        let delta = GroupDelta::parse(&delta).unwrap();
        self.classifier
            .update(self.group, delta, UnrestrictedEditor)
            .await
            .unwrap();
    }
}

async fn memory_engine(sources: AgentCatalogSources) -> AgentCatalogs {
    let settings = AgentCatalogSettings::new("build".to_owned());
    AgentCatalogs::start(settings, sources, None).await.unwrap()
}

fn sources(
    path: &Path,
    code: &Arc<EnvironmentDir>,
    classifier: &Classifier,
    (inventory, exports, capabilities): (&Inventory, &EmbeddedExports, &EmbeddedCapabilities),
    run_reports: &RunReports,
) -> AgentCatalogSources {
    AgentCatalogSources {
        catalogs: engine(path, code, classifier, (inventory, exports, capabilities)),
        inventory: inventory.clone(),
        run_reports: run_reports.clone(),
        code: code.clone(),
    }
}

fn engine(
    path: &Path,
    code: &Arc<EnvironmentDir>,
    classifier: &Classifier,
    (inventory, exports, capabilities): (&Inventory, &EmbeddedExports, &EmbeddedCapabilities),
) -> Catalogs {
    let queries = InventoryQueries::new(inventory.clone(), Handle::current());
    let settings = CatalogSettings {
        codedir: path.to_owned(),
        base_modules: vec![path.join("modules")],
        hiera_config: path.join("hiera.yaml"),
        exports: Some(Arc::new(exports.clone())),
        kept_exports: Some(exports.clone()),
        capabilities: CapabilitySources {
            embedded: Some(capabilities.clone()),
            puppetdb: None,
        },
        puppetdb_queries: Some(Arc::new(queries)),
        ..CatalogSettings::default()
    };
    Catalogs::new(settings, code.clone(), classifier.clone())
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl NodeState {
    pub(crate) fn with_facts(facts: Json) -> Self {
        Self {
            facts,
            extensions: BTreeMap::new(),
        }
    }

    /// Requests the catalog.
    pub(crate) async fn catalog(
        &self,
        agents: &AgentCatalogs,
    ) -> Result<AgentCatalog, AgentCatalogError> {
        let values: Map<String, Json> = self.facts.as_object().unwrap().clone();
        let request = AgentCatalogRequest {
            agent: AgentIdentity::new(NODE.parse().unwrap(), self.extensions.clone()),
            environment: "production".parse().unwrap(),
            code_id: None,
            waiting: Arc::default(),
            checks_environment: false,
            facts: Some(AgentFacts {
                values,
                timestamp: Timestamp::now(),
            }),
            static_files: Some(ChecksumType::Sha256),
            form: DocumentForm::Rich,
            transaction_uuid: None,
            job_id: None,
        };
        agents.catalog(request).await
    }
}

/// The document without what differs between two compilations of the same.
pub(crate) fn document(catalog: &AgentCatalog) -> Json {
    let mut document: Json = serde_json::from_slice(&catalog.body.text()).unwrap();
    for key in ["catalog_uuid", "version"] {
        document[key] = Json::Null;
    }
    document
}
