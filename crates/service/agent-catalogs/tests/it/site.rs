//! The engine with a database, versions of code, and agents that request their catalogs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_catalogs::{
    AgentCatalog, AgentCatalogError, AgentCatalogRequest, AgentCatalogs, AgentFacts, AgentIdentity,
    ChecksumType,
};
use catalogs::{CatalogSettings, Catalogs};
use classifier::{Classifier, GroupDelta, GroupId, GroupInput, UnrestrictedEditor};
use compiler::DocumentForm;
use environments::EnvironmentDir;
use inventory::Inventory;
use jiff::Timestamp;
use run_reports::{RunReports, RunReportsConfig};
use serde_json::{Map, Value as Json, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;

/// Name of the node whose catalogs are requested.
pub(crate) const NODE: &str = "node1.test";

pub(crate) struct Site {
    directory: TempDir,
    code: Arc<EnvironmentDir>,
    classifier: Classifier,
    inventory: Inventory,
    run_reports: RunReports,
    pub(crate) agents: AgentCatalogs,
    group: GroupId,
}

/// Everything of a request that a test varies.
#[derive(Debug, Clone)]
pub(crate) struct NodeState {
    pub(crate) facts: Json,
    pub(crate) extensions: BTreeMap<String, String>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::fs::create_dir_all(path.join("environments")).unwrap();
        std::fs::create_dir_all(path.join("modules")).unwrap();
        let store = Store::open(&StoreConfig::sqlite(path.join("tutti.db")))
            .await
            .unwrap();
        let inventory = Inventory::embedded(store.clone()).await.unwrap();
        let classifier = Classifier::open(store.clone()).await.unwrap();
        let settings = RunReportsConfig::new("server.test".parse().unwrap());
        let run_reports = RunReports::start(settings, store, inventory.clone())
            .await
            .unwrap();
        let code = EnvironmentDir::new(path).with_versions(path.join("versions"));
        let code = Arc::new(code);
        let group = json!({
            "name": "all", "parent": "00000000-0000-4000-8000-000000000000", "classes": {},
            "rule": ["~", "name", "^node"],
        });
        let group = GroupInput::parse(&group).unwrap();
        let created = classifier.create(group, UnrestrictedEditor).await.unwrap();
        let agents = AgentCatalogs::new(
            engine(path, &code, &classifier),
            inventory.clone(),
            run_reports.clone(),
            code.clone(),
            "build".to_owned(),
        );
        Self {
            directory,
            code,
            classifier,
            inventory,
            run_reports,
            agents,
            group: created.group.unwrap().id,
        }
    }

    /// An engine that remembers nothing.
    pub(crate) fn fresh_engine(&self) -> AgentCatalogs {
        AgentCatalogs::new(
            engine(self.directory.path(), &self.code, &self.classifier),
            self.inventory.clone(),
            self.run_reports.clone(),
            self.code.clone(),
            "build".to_owned(),
        )
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.path(path), text);
    }

    /// Writes a version of `production` if it does not exist, and makes it live.
    pub(crate) fn deploy(&self, digit: char, files: &[(&str, &str)]) {
        let name = format!("production_{}", String::from(digit).repeat(40));
        let version = self.path("versions").join(name);
        if !version.exists() {
            for (path, text) in files {
                write(&version.join(path), text);
            }
        }
        let new = self.path("environments/.new");
        std::os::unix::fs::symlink(&version, &new).unwrap();
        std::fs::rename(new, self.path("environments/production")).unwrap();
    }

    /// Removes the node from the inventory.
    pub(crate) async fn delete_node(&self) {
        let certname = NODE.parse().unwrap();
        assert!(self.inventory.forget(&certname).await.unwrap());
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

fn engine(path: &Path, code: &Arc<EnvironmentDir>, classifier: &Classifier) -> Catalogs {
    let settings = CatalogSettings {
        codedir: path.to_owned(),
        base_modules: vec![path.join("modules")],
        hiera_config: path.join("hiera.yaml"),
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
