//! Databases for tests: [`Bench`] is an empty store on one engine, and [`both!`] runs a test on
//! each engine.

use std::path::PathBuf;
use std::sync::Arc;

use audit::{
    ActorKind, Audit, AuditActor, AuditConfig, AuditError, AuditObject, AuditedAction, ChainFault,
    ChainReport, ExpectedChain,
};
use store::{Store, StoreConfig};
use testkit::postgres::Postgres;

/// An open store with its database.
pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) config: StoreConfig,
    pub(crate) directory: tempfile::TempDir,
    _server: Option<Arc<Postgres>>,
}

impl Bench {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
        Self {
            store: Store::open(&config).await.unwrap(),
            config,
            directory,
            _server: None,
        }
    }

    pub(crate) async fn postgres() -> Self {
        let (server, config) = tokio::task::spawn_blocking(|| {
            let server = Postgres::shared().unwrap();
            let config = StoreConfig::new(server.create_database().unwrap());
            (server, config)
        })
        .await
        .unwrap();
        Self {
            store: Store::open(&config).await.unwrap(),
            config,
            directory: tempfile::tempdir().unwrap(),
            _server: Some(server),
        }
    }

    /// Changes the database as an attacker with access to it could.
    pub(crate) async fn tamper(&self, sql: &str) {
        if let Some(path) = self.config.url.strip_prefix("sqlite:") {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.execute_batch(sql).unwrap();
            return;
        }
        let (client, connection) = tokio_postgres::connect(&self.config.url, tokio_postgres::NoTls)
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    }

    pub(crate) fn head_file(&self) -> PathBuf {
        self.directory.path().join("audit-head")
    }

    /// Starts the audit with its head beside the database.
    pub(crate) async fn audit(&self) -> Audit {
        let config = AuditConfig {
            head_file: Some(self.head_file()),
            keep: None,
        };
        Audit::open(self.store.clone(), config).await
    }

    pub(crate) async fn verify(&self) -> Result<ChainReport, ChainFault> {
        self.verify_against(ExpectedChain::default()).await
    }

    pub(crate) async fn verify_against(
        &self,
        expected: ExpectedChain,
    ) -> Result<ChainReport, ChainFault> {
        let verified: Result<_, AuditError> = audit::verify_store(&self.store, expected).await;
        verified.unwrap()
    }

    /// Simulates a restart of the server.
    pub(crate) async fn reopened(mut self) -> Self {
        self.store.close().await;
        self.store = Store::open(&self.config).await.unwrap();
        self
    }

    /// Adds `count` events to the chain.
    pub(crate) async fn filled(self, count: usize) -> Self {
        let audit = self.audit().await;
        for i in 0..count {
            let act = act(&format!("step_{i}"));
            audit.record(&act, &Default::default()).await.unwrap();
        }
        audit.shutdown().await;
        self
    }
}

/// `both!(a, b)`: the async functions `a` and `b` of this module as tests on both engines.
macro_rules! both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bench::Bench::sqlite().await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bench::Bench::postgres().await).await;
            })+
        }
    };
}
pub(crate) use both;

/// An action of the user ann.
pub(crate) fn act(action: &str) -> AuditedAction {
    AuditedAction {
        actor: AuditActor {
            kind: ActorKind::User,
            id: "u-1".to_owned(),
            name: "ann".to_owned(),
            address: Some("192.0.2.7".parse().unwrap()),
        },
        service: "orchestrator".to_owned(),
        action: action.to_owned(),
        object: AuditObject::named("task", "package"),
        route: "POST /orchestrator/v1/command/task".to_owned(),
        permission: Some("tasks:run".to_owned()),
        details: Default::default(),
    }
}
