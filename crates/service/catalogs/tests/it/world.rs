//! The state of a test: a code directory with versions, node groups, and facts of nodes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use catalogs::{
    CapabilitySources, CatalogError, CatalogRequest, CatalogSettings, Catalogs, CompileCaller,
    CompileOrigin, CompilePriority, CompiledNode, EmbeddedCapabilities, EmbeddedExports,
};
use classifier::{
    Classifier, FactSource, FactSourceError, GroupInput, NodeFacts, UnrestrictedEditor,
};
use environments::EnvironmentDir;
use pcp::Certname;
use pki::seal::SealKey;
use serde_json::{Value as Json, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use testkit::engine::Database;
use tokio::runtime::Handle;

pub(crate) struct World {
    pub(crate) root: TempDir,
    pub(crate) catalogs: Catalogs,
    pub(crate) classifier: Classifier,
    _database: Database,
}

/// Nodes whose names begin with `n`, and those of `example.net`, have facts.
struct NodesWithFacts;

#[async_trait]
impl FactSource for NodesWithFacts {
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError> {
        let name = certname.as_str();
        let is_known = name.starts_with('n') || name.ends_with(".example.net");
        Ok(is_known.then(|| NodeFacts {
            fact: json!({
                "size": name.len(), "kernel": "Linux", "networking": {"fqdn": name},
            }),
            trusted: json!({"certname": "other", "extensions": {"pp_role": "web"}}),
            ..NodeFacts::without_facts(certname.clone())
        }))
    }
}

pub(crate) fn signature(digit: char) -> String {
    digit.to_string().repeat(40)
}

pub(crate) fn code_id(digit: char) -> String {
    format!("urn:puppet:code-id:1:{};production", signature(digit))
}

impl World {
    pub(crate) async fn new(settings: CatalogSettings) -> Self {
        Self::of(async |_, _| settings).await
    }

    /// An engine that keeps exported resources in its database.
    pub(crate) async fn keeping_exports() -> Self {
        Self::of(async |root, store| {
            let seal = SealKey::open_or_create(&root.join("seal")).unwrap();
            let exports = EmbeddedExports::new(store.clone(), Arc::new(seal), Handle::current());
            CatalogSettings {
                exports: Some(Arc::new(exports.clone())),
                kept_exports: Some(exports),
                ..CatalogSettings::default()
            }
        })
        .await
    }

    /// An engine that keeps capabilities and exported resources in its database.
    pub(crate) async fn keeping_capabilities() -> Self {
        Self::of(async |root, store| {
            let seal = Arc::new(SealKey::open_or_create(&root.join("seal")).unwrap());
            let runtime = Handle::current();
            let (of_store, of_seal) = (store.clone(), Arc::clone(&seal));
            let capabilities = EmbeddedCapabilities::open(of_store, of_seal, runtime.clone(), true);
            let capabilities = capabilities.await.unwrap();
            let exports = EmbeddedExports::new(store.clone(), seal, runtime);
            CatalogSettings {
                exports: Some(Arc::new(exports.clone())),
                kept_exports: Some(exports),
                capabilities: CapabilitySources {
                    embedded: Some(capabilities),
                    puppetdb: None,
                },
                ..CatalogSettings::default()
            }
        })
        .await
    }

    async fn of(settings: impl AsyncFnOnce(&Path, &Store) -> CatalogSettings) -> Self {
        let root = tempfile::tempdir().unwrap();
        let database = Database::empty().await.unwrap();
        let store = Store::open(&StoreConfig::new(database.url()))
            .await
            .unwrap();
        let settings = settings(root.path(), &store).await;
        let known = ["n1", "n2", "db.example.net"].map(str::to_owned);
        store.record_inventory_nodes(&known).await.unwrap();
        let classifier = Classifier::open(store).await.unwrap();
        classifier.set_fact_source(Arc::new(NodesWithFacts));
        let code = EnvironmentDir::new(root.path()).with_versions(root.path().join("versions"));
        std::fs::create_dir_all(root.path().join("environments")).unwrap();
        let settings = CatalogSettings {
            codedir: root.path().to_owned(),
            hiera_config: root.path().join("hiera.yaml"),
            ..settings
        };
        Self {
            catalogs: Catalogs::new(settings, Arc::new(code), classifier.clone()),
            classifier,
            root,
            _database: database,
        }
    }

    /// Writes a version of `production` with this site manifest.
    pub(crate) fn write_version(&self, digit: char, manifest: &str) -> PathBuf {
        let name = format!("production_{}", signature(digit));
        let version = self.root.path().join("versions").join(name);
        std::fs::create_dir_all(version.join("manifests")).unwrap();
        std::fs::write(version.join("manifests/site.pp"), manifest).unwrap();
        version
    }

    /// The same, and makes it live.
    pub(crate) fn deploy(&self, digit: char, manifest: &str) -> PathBuf {
        let version = self.write_version(digit, manifest);
        let link = self.root.path().join("environments/production");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&version, link).unwrap();
        version
    }

    pub(crate) async fn group(&self, keys: Json) {
        let mut group = json!({
            "name": "all", "parent": "00000000-0000-4000-8000-000000000000", "classes": {},
            "rule": ["~", "name", "^n"],
        });
        for (key, value) in keys.as_object().unwrap() {
            group[key] = value.clone();
        }
        let input = GroupInput::parse(&group).unwrap();
        self.classifier
            .create(input, UnrestrictedEditor)
            .await
            .unwrap();
    }

    pub(crate) async fn compile(&self, certname: &str) -> Result<CompiledNode, CatalogError> {
        self.catalogs.compile(request(certname)).await
    }
}

pub(crate) fn request(certname: &str) -> CatalogRequest {
    CatalogRequest {
        certname: certname.parse().unwrap(),
        environment: Some("production".parse().unwrap()),
        code_id: None,
        facts: None,
        origin: CompileOrigin {
            caller: caller("ann"),
            priority: CompilePriority::Foreground,
        },
        keep_exports: false,
    }
}

/// A request whose exported resources and capabilities are kept.
pub(crate) fn kept(certname: &str) -> CatalogRequest {
    CatalogRequest {
        environment: None,
        keep_exports: true,
        ..request(certname)
    }
}

pub(crate) fn caller(user: &str) -> CompileCaller {
    CompileCaller::Client(user.to_owned())
}

/// Title and message of each resource of the type `Notify`.
pub(crate) fn notices(compiled: &CompiledNode) -> Vec<(String, Json)> {
    let resources = compiled.catalog["resources"].as_array().unwrap().iter();
    let notices = resources.filter(|it| it["type"] == "Notify");
    notices
        .map(|it| {
            let title = it["title"].as_str().unwrap().to_owned();
            (title, it["parameters"]["message"].clone())
        })
        .collect()
}
