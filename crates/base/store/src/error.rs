//! What can go wrong: [`OpenStoreError`] at the start, [`StoreError`] afterwards.

use std::path::PathBuf;
use std::sync::Arc;

use crate::OlderHistory;
use crate::migrations::MigrateError;
use crate::value::ColumnError;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    /// The URL is of another kind.
    #[error(
        "the store's URL begins with neither `sqlite:` nor `postgresql://`; write for example \
         `sqlite:/var/lib/tutti/tutti.db`"
    )]
    UnknownUrl,
    /// The URL is of PostgreSQL and wrong.
    #[error("the store's PostgreSQL URL cannot be read: {what}")]
    InvalidUrl {
        /// Where.
        what: String,
    },
    /// The certificates of the URL cannot be used.
    #[error("the store's PostgreSQL URL names certificates that cannot be used")]
    Tls {
        /// Name of the file and reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another server process has the SQLite file.
    #[error(
        "{place} is in use by another server process ({holder}); stop it first, or give this one a \
         database of its own"
    )]
    Locked {
        /// The database.
        place: String,
        /// The other's process id, where known.
        holder: String,
    },
    /// A file or directory.
    #[error("cannot open {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database has less than was committed to it.
    #[error(
        "{0}. A standby that lagged behind was promoted, or a backup was restored. Bring the newer \
         database back if it is still there; otherwise `tutti accept-older-history` goes on with \
         this one"
    )]
    HistoryWentBack(Box<OlderHistory>),
    /// The file beside the database that says how far its history went.
    #[error(transparent)]
    HistoryFile(#[from] HistoryFileError),
    /// The schema.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The engine said no.
    #[error("cannot open the store at {place}")]
    Engine {
        /// The path, or host and database.
        place: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why a read or write failed. Unless said otherwise, nothing of a failed write was kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A state that this version does not know.
    #[error("no {of} has the state {state:?}")]
    UnknownState {
        /// `job` or `run`.
        of: &'static str,
        /// As given.
        state: String,
    },
    /// A job without any state.
    #[error("a new job has no state: give the states that it enters, in their order")]
    NoState,
    /// No space left.
    #[error(
        "the disk of the store is full; nothing of this write was kept, free some space and it \
         will work again"
    )]
    DiskFull(#[source] Source),
    /// PostgreSQL does not answer, or the database cannot take any write now (it is read-only,
    /// locked or out of resources).
    #[error("the database is not reachable or not writable; nothing of this write was kept")]
    Unavailable(#[source] Source),
    /// The commit was sent and its answer was lost. Commits of [`Change`](crate::Change)s may be
    /// repeated: what was applied is then reported as unchanged.
    #[error("the commit was sent and no answer came: it may or may not be kept")]
    OutcomeUnknown(#[source] Source),
    /// Another server took the database over while this one had lost it.
    #[error("another server process took over this database; this one must end")]
    Superseded,
    /// The database has less than this process committed to it.
    #[error(
        "the database has {found} commits and this server had made {own}: an older copy of it \
         answers, such as a standby that lagged behind; this server must end, and the next start \
         says what to do"
    )]
    HistoryWentBack {
        /// The last commit of this process.
        own: i64,
        /// The last one of the database.
        found: i64,
    },
    /// The file of the database is another one than was opened.
    #[error("{} was replaced or removed while it was used; this server must end", path.display())]
    Replaced {
        /// Path of the file.
        path: PathBuf,
    },
    /// The engine refused what the statement says: the same again would be refused again.
    #[error("the database refused the statement")]
    Refused(#[source] Source),
    /// What was read is not what the schema says.
    #[error("the database holds something that this version cannot read")]
    Corrupt(#[source] Source),
}

/// A cause that several callers of one batch may share.
pub type Source = Arc<dyn std::error::Error + Send + Sync>;

/// Error of the file that says how far the database's history went.
#[derive(Debug, thiserror::Error)]
pub enum HistoryFileError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The content is not that of a history file.
    #[error(
        "{} does not say how far the database's history went; remove it if the database is known \
         to be the newest one",
        path.display()
    )]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Why.
        source: decode_errors::DecodeError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] pki::durable::WriteError),
}

// === impl StoreError ===

impl StoreError {
    /// True if this store accepts no writes any more, so that its process must end.
    pub fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Closed | Self::Superseded | Self::HistoryWentBack { .. } | Self::Replaced { .. }
        )
    }
}

impl From<ColumnError> for StoreError {
    fn from(error: ColumnError) -> Self {
        Self::Corrupt(Arc::new(error))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull(Arc::new(error)),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(Arc::new(error))
            }
            // The file cannot be written now, whatever the statement says.
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory,
            ) => Self::Unavailable(Arc::new(error)),
            _ => Self::Refused(Arc::new(error)),
        }
    }
}
