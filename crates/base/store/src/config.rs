//! [`StoreConfig`]: where the store is and how wide it is.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{OpenStoreError, defaults};

/// What a store is opened with.
#[derive(Clone)]
pub struct StoreConfig {
    /// `sqlite:PATH` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    pub url: String,
    /// Reading connections.
    pub readers: usize,
    /// How long a write waits for a lost PostgreSQL to come back.
    pub patience: Duration,
    /// The file that says how far the database's history went, so that an older copy of it is
    /// noticed at the start; `None`: only while the process runs.
    pub history: Option<PathBuf>,
    /// True if an older history may be opened, to be [accepted](crate::Store::accept_older_history).
    pub older_history: bool,
}

/// The engine that a URL names.
pub(crate) enum Target {
    Sqlite(PathBuf),
    Postgres(String),
}

impl StoreConfig {
    /// With default widths.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            readers: defaults::READERS,
            patience: defaults::POSTGRES_PATIENCE,
            history: None,
            older_history: false,
        }
    }

    /// A SQLite file; it is made if it does not exist.
    pub fn sqlite(path: impl AsRef<std::path::Path>) -> Self {
        Self::new(format!("sqlite:{}", path.as_ref().display()))
    }

    pub(crate) fn target(&self) -> Result<Target, OpenStoreError> {
        if let Some(path) = self.url.strip_prefix("sqlite:") {
            return Ok(Target::Sqlite(PathBuf::from(path)));
        }
        if self.url.starts_with("postgresql://") || self.url.starts_with("postgres://") {
            return Ok(Target::Postgres(self.url.clone()));
        }
        Err(OpenStoreError::UnknownUrl)
    }
}

/// Without the URL: it may hold a password.
impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig")
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}
