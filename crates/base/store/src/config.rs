//! [`StoreConfig`]: location and size of the store.

use std::path::PathBuf;
use std::time::Duration;

use partial_debug::partial_debug;

use crate::{OpenStoreError, defaults};

/// Configuration with which a store is opened.
#[derive(Clone)]
pub struct StoreConfig {
    /// URL of the database: `sqlite:PATH` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    pub url: String,
    /// Number of connections for reading.
    pub readers: usize,
    /// Time for which a write waits until a lost PostgreSQL is back.
    pub patience: Duration,
    /// File that records the progress of the database's history, by which an older copy of the
    /// database is detected at the start; `None`: it is detected only while the process runs.
    pub history: Option<PathBuf>,
    /// True if an older history may be opened, to be
    /// [accepted](crate::Store::accept_older_history).
    pub older_history: bool,
}

/// Engine that a URL names.
pub(crate) enum DatabaseTarget {
    Sqlite(PathBuf),
    Postgres(String),
}

impl StoreConfig {
    /// A configuration with the default number of readers and patience.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            readers: defaults::READERS,
            patience: defaults::POSTGRES_PATIENCE,
            history: None,
            older_history: false,
        }
    }

    /// A configuration for a SQLite file, which is created if it does not exist.
    pub fn sqlite(path: impl AsRef<std::path::Path>) -> Self {
        Self::new(format!("sqlite:{}", path.as_ref().display()))
    }

    pub(crate) fn target(&self) -> Result<DatabaseTarget, OpenStoreError> {
        if let Some(path) = self.url.strip_prefix("sqlite:") {
            return Ok(DatabaseTarget::Sqlite(PathBuf::from(path)));
        }
        if self.url.starts_with("postgresql://") || self.url.starts_with("postgres://") {
            return Ok(DatabaseTarget::Postgres(self.url.clone()));
        }
        Err(OpenStoreError::UnknownUrl)
    }
}

// Omits the URL, which may contain a password.
partial_debug!(StoreConfig { readers });
