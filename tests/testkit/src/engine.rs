//! The database of a test, and the engine for which the test runs: [`Database`] and
//! [`both!`](crate::both).
//!
//! Invariant: a test names no engine. It creates an empty [`Database`] of its own, in a SQLite file
//! or on the PostgreSQL that all tests of the process share; [`both!`](crate::both) runs it on
//! each. Outside of that macro it is SQLite.

use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::postgres::Postgres;

/// The database engine of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, in a file.
    #[default]
    Sqlite,
    /// PostgreSQL, on a server.
    Postgres,
}

tokio::task_local! {
    static ENGINE: Engine;
}

/// An empty database for one test; it is removed with its handle.
#[derive(Debug)]
pub struct Database {
    url: String,
    _directory: Option<tempfile::TempDir>,
    server: Option<Arc<Postgres>>,
}

// === impl Engine ===

impl Engine {
    /// Runs a test in which each new [`Database`] is of this engine.
    pub async fn run(self, test: impl Future<Output = ()>) {
        ENGINE.scope(self, Box::pin(test)).await;
    }

    /// The engine of the current test. Tasks that the test spawned get the default.
    pub fn current() -> Self {
        ENGINE.try_get().unwrap_or_default()
    }
}

// === impl Database ===

impl Database {
    /// Creates an empty database of the current engine.
    pub async fn empty() -> Result<Self> {
        match Engine::current() {
            Engine::Sqlite => Self::file(),
            Engine::Postgres => tokio::task::spawn_blocking(Self::on_the_shared_server).await?,
        }
    }

    /// `sqlite:PATH` or `postgresql://…`, with which a store is opened.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// True if the stored data contain this text: the file and its log, or a dump.
    pub fn holds(&self, secret: &str) -> Result<bool> {
        let bytes = match &self.server {
            Some(server) => server.dump(self.url.rsplit('/').next().unwrap_or_default())?,
            None => {
                let path = self.url.strip_prefix("sqlite:").context("no file")?;
                let mut bytes = std::fs::read(path)?;
                // There is no log after a clean end.
                bytes.extend(std::fs::read(format!("{path}-wal")).unwrap_or_default());
                bytes
            }
        };
        anyhow::ensure!(!bytes.is_empty(), "{} is empty", self.url);
        // A dump contains the hexadecimal digits of binary columns.
        let digits: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let found = |text: &str| {
            let mut windows = bytes.windows(text.len());
            windows.any(|window| window == text.as_bytes())
        };
        Ok(found(secret) || found(&digits))
    }

    fn file() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("tutti.db");
        Ok(Self {
            url: format!("sqlite:{}", path.display()),
            _directory: Some(directory),
            server: None,
        })
    }

    fn on_the_shared_server() -> Result<Self> {
        let server = Postgres::shared()?;
        Ok(Self {
            url: server.create_database()?,
            _directory: None,
            server: Some(server),
        })
    }
}

/// `both!(a, b)`: runs the async functions `a` and `b` of this module as tests on both engines.
#[macro_export]
macro_rules! both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::engine::Engine::Sqlite.run(super::$name()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::engine::Engine::Postgres.run(super::$name()).await;
            })+
        }
    };
}
