//! The environment of every test: a directory, a store, engines, agents and the router over them.

use std::path::Path;
use std::sync::Arc;

use api::{ApiState, ServerInfo};
use axum::Router;
use axum::body::Body;
use classifier::Classifier;
use environments::{BlobStore, EnvironmentDir};
use fabric::Fabric;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use jobs::{Jobs, JobsConfig};
use pcp::{Certname, PcpUri};
use pki::seal::SealKey;
use pki::{CertnamePrivilege, NamePattern, PrivilegedNames};
use rbac::Rbac;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::agents::{Agents, Manner};

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) store: Store,
    pub(crate) state: ApiState,
    pub(crate) router: Router,
    pub(crate) agents: Agents,
    pub(crate) token: String,
}

/// A response whose body was read completely.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The names of a server on which one name has a privilege.
pub(crate) fn privileged(privilege: CertnamePrivilege, name: &str) -> Arc<PrivilegedNames> {
    let mut names = PrivilegedNames::default();
    names.grant(privilege, "test", NamePattern::Exact(name.to_owned()));
    Arc::new(names)
}

impl World {
    pub(crate) async fn new() -> Self {
        Box::pin(Self::with(ServerInfo::default())).await
    }

    /// A server that deploys code.
    pub(crate) async fn deploying() -> Self {
        let mut world = Box::pin(Self::new()).await;
        let service = crate::code_manager::start(&world).await;
        world.state.code_manager = Some(service);
        let names = privileged(CertnamePrivilege::Follower, "compiler.example.com");
        world.state.info.privileged_names = names;
        world.router = api::router(world.state.clone());
        world
    }

    pub(crate) async fn with(info: ServerInfo) -> Self {
        Box::pin(Self::knowing(info, Arc::new(jobs::EmptyResolver))).await
    }

    /// A server whose queries and groups are resolved by `resolve`.
    pub(crate) async fn knowing(info: ServerInfo, resolve: Arc<dyn jobs::NodeResolver>) -> Self {
        let config = JobsConfig {
            resolve,
            ..JobsConfig::default()
        };
        Box::pin(Self::with_jobs(info, config)).await
    }

    /// A server whose environments have these applications.
    pub(crate) async fn with_applications(applications: Arc<dyn jobs::ApplicationGraphs>) -> Self {
        let config = JobsConfig {
            applications,
            ..JobsConfig::default()
        };
        Box::pin(Self::with_jobs(ServerInfo::default(), config)).await
    }

    pub(crate) async fn with_jobs(info: ServerInfo, config: JobsConfig) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        write_code(dir.path());
        let store = Store::open(&StoreConfig::sqlite(dir.path().join("tutti.db"))).await;
        let store = store.expect("the store opens");
        let server: Certname = "tutti.example.com".parse().expect("a certname");
        let (fabric, inbox) = Fabric::new(PcpUri::server(&server));
        let code = EnvironmentDir::new(dir.path().join("code"));
        let code = Arc::new(code.with_versions(dir.path().join("deploys/versions")));
        let blobs = BlobStore::open(dir.path().join("blobs")).expect("blobs");
        let seal = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let config = JobsConfig {
            prune_after: None,
            console_url: Some("https://console.example.com".to_owned()),
            ..config
        };
        let jobs = Jobs::start(
            config,
            store.clone(),
            fabric.clone(),
            inbox,
            Arc::clone(&code) as Arc<dyn environments::CodeReader>,
            blobs,
            seal,
        );
        let jobs = Box::pin(jobs).await.expect("the engine starts");
        let access = Rbac::open(store.clone(), dir.path()).await.expect("access");
        let classifier = Classifier::open(store.clone()).await.expect("groups");
        let audit = audit::Audit::open(store.clone(), audit::AuditConfig::default()).await;
        let key = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let scheduler = api::JobScheduler::start(
            Arc::new(store::SystemClock),
            store.clone(),
            key,
            audit.clone(),
        );
        let agents = Agents::attach(&fabric);
        let inventory = inventory::Inventory::embedded(store.clone()).await;
        let inventory = inventory.expect("the inventory");
        let info = ServerInfo {
            version: "1.2.3".to_owned(),
            ..info
        };
        let key = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let connections = ssh::SshConnections::open(store.clone(), key).await;
        let connections = connections.expect("connections");
        let seal = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let webhooks = webhooks::Webhooks::open(store.clone(), seal).await;
        let webhooks = webhooks.expect("webhooks");
        let seal = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let directories =
            external_directories::LdapDirectories::open(store.clone(), seal, Vec::new());
        let external_directories = api::ExternalDirectories {
            directories: directories.await.expect("directories"),
            oidc: None,
        };
        let plans = crate::plan_programs::start(&store, &jobs, dir.path()).await;
        let settings = catalogs::CatalogSettings {
            codedir: dir.path().join("code"),
            ..catalogs::CatalogSettings::default()
        };
        let catalogs = catalogs::Catalogs::new(
            settings,
            Arc::clone(&code) as Arc<dyn environments::CodeReader>,
            classifier.clone(),
        );
        let certname = "orchestrator".parse().expect("a certname");
        let run_reports = run_reports::RunReports::start(
            run_reports::RunReportsConfig::new(certname),
            store.clone(),
            inventory.clone(),
        );
        let run_reports = run_reports.await.expect("the reports");
        let sources = agent_catalogs::AgentCatalogSources {
            catalogs: catalogs.clone(),
            inventory: inventory.clone(),
            run_reports: run_reports.clone(),
            code: Arc::clone(&code) as Arc<dyn environments::CodeReader>,
        };
        let key = SealKey::open_or_create(&dir.path().join("seal")).expect("a key");
        let database = agent_catalogs::CatalogDatabase {
            store: store.clone(),
            seal: Arc::new(key),
            known_nodes_only: true,
        };
        let settings = agent_catalogs::AgentCatalogSettings::new("build".to_owned());
        let agent_catalogs =
            agent_catalogs::AgentCatalogs::start(settings, sources, Some(database));
        let state = ApiState {
            run_reports,
            catalogs,
            agent_catalogs: agent_catalogs.await.expect("the catalogs"),
            plans,
            external_directories,
            connections,
            jobs,
            store: store.clone(),
            fabric,
            inventory,
            classifier,
            code,
            certificates: None,
            code_manager: None,
            access,
            audit,
            scheduler,
            webhooks,
            info,
        };
        let router = api::router(state.clone());
        let mut world = Self {
            dir,
            store,
            state,
            router,
            agents,
            token: String::new(),
        };
        world.token = world.login().await;
        world
    }

    pub(crate) fn password(&self) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("admin-password"));
        text.expect("the password file").trim().to_owned()
    }

    async fn login(&self) -> String {
        let password = SecretString::from(self.password());
        let token = self
            .state
            .access
            .login("admin", password, Default::default(), None)
            .await;
        token.expect("logged in").expose_secret().to_owned()
    }

    /// Connects agents `a`, `b`, … with this behaviour; returns their certnames.
    pub(crate) fn nodes(&self, count: u8, manner: &Manner) -> Vec<String> {
        let names: Vec<_> = (0..count)
            .map(|n| char::from(b'a' + n).to_string())
            .collect();
        names
            .iter()
            .for_each(|name| self.agents.add(name, manner.clone()));
        names
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("never fails");
        let (parts, body) = response.into_parts();
        let body = body
            .collect()
            .await
            .expect("a whole body")
            .to_bytes()
            .to_vec();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::HOST, "tutti.example.com:8143");
        let request = request.header("X-Authentication", &self.token);
        request.body(body.into()).expect("a request")
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(self.request("GET", path, Body::empty())).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Reply {
        self.send(self.request("POST", path, body)).await
    }

    pub(crate) async fn ok(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
        reply.json()
    }

    /// Starts the task `test`; returns the number of the job.
    pub(crate) async fn run(&self, nodes: &[String]) -> String {
        let body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}});
        let reply = self
            .post("/orchestrator/v1/command/task", body.to_string())
            .await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        reply.json()["job"]["name"]
            .as_str()
            .expect("a number")
            .to_owned()
    }

    /// Waits for the last event of the job.
    pub(crate) async fn over(&self, job: &str) {
        let number = job.parse().expect("a number");
        let mut live = self.state.jobs.subscribe_live(number, 0).await;
        while live.next().await.expect("the store answers").is_some() {}
    }
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    /// The kind of the error; checks that its body has the common form.
    pub(crate) fn kind(&self) -> String {
        let body = self.json();
        let object = body.as_object().expect("an object");
        assert_eq!(
            object.keys().collect::<Vec<_>>(),
            ["kind", "msg", "details"],
            "{body}"
        );
        assert!(
            body["msg"].is_string() && body["details"].is_object(),
            "{body}"
        );
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/json");
        body["kind"].as_str().expect("text").to_owned()
    }
}

fn write_code(dir: &Path) {
    let tasks = dir.join("code/environments/production/modules/test/tasks");
    std::fs::create_dir_all(&tasks).expect("a directory");
    let task = |name: &str, metadata: Value| {
        let file = |ending: &str| tasks.join(format!("{name}.{ending}"));
        std::fs::write(file("sh"), "#!/bin/sh\n").expect("written");
        std::fs::write(file("json"), metadata.to_string()).expect("written");
    };
    task("init", json!({"description": "does nothing"}));
    task("hidden", json!({"private": true}));
    let parameters = json!({
        "name": {"type": "String[1]"},
        "password": {"type": "Optional[String]", "sensitive": true},
    });
    task("typed", json!({"parameters": parameters}));
    let plans = dir.join("code/environments/production/modules/test/plans");
    std::fs::create_dir_all(&plans).expect("a directory");
    for (name, text) in [
        ("rollout.pp", ROLLOUT),
        ("asks.pp", "plan test::asks { }\n"),
        ("fails.pp", "plan test::fails { }\n"),
        ("works.pp", "plan test::works(Array[String] $nodes) { }\n"),
        ("secret.pp", "# @api private\nplan test::secret { }\n"),
        ("broken.pp", "plan test::broken {"),
    ] {
        std::fs::write(plans.join(name), text).expect("written");
    }
}

const ROLLOUT: &str = r"# @summary Roll out a version
# @param targets Where.
plan test::rollout(
  TargetSpec $targets,
  String[1] $version = 'latest',
  Sensitive[String] $password = Sensitive(''),
) { }
";
