//! Errors: [`OpenStoreError`] at the start, [`StoreError`] afterwards.

use std::path::PathBuf;
use std::sync::Arc;

use crate::history_mark::OlderHistory;
use crate::migrations::MigrateError;
use crate::value::ColumnError;

/// Error of opening a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    /// The URL has another scheme.
    #[error(
        "the store's URL begins with neither `sqlite:` nor `postgresql://`; write for example \
         `sqlite:/var/lib/tutti/tutti.db`"
    )]
    UnknownUrl,
    /// The URL is one of PostgreSQL, but invalid.
    #[error("the store's PostgreSQL URL cannot be read: {what}")]
    InvalidUrl {
        /// The invalid part of the URL.
        what: String,
    },
    /// The certificates named in the URL cannot be used.
    #[error("the store's PostgreSQL URL names certificates that cannot be used")]
    Tls {
        /// Name of the file and reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another server process holds the SQLite file.
    #[error(
        "{place} is in use by another server process ({holder}); stop it first, or give this one a \
         database of its own"
    )]
    Locked {
        /// Path of the database.
        place: String,
        /// Process id of the holder, if it is known.
        holder: String,
    },
    /// A file or directory cannot be used.
    #[error("cannot open {}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The database has fewer commits than were made.
    #[error(
        "{0}. A standby that lagged behind was promoted, or a backup was restored. Bring the newer \
         database back if it is still there; otherwise `tutti accept-older-history` goes on with \
         this one"
    )]
    HistoryWentBack(Box<OlderHistory>),
    /// The history file beside the database cannot be used.
    #[error(transparent)]
    HistoryFile(#[from] HistoryFileError),
    /// The schema cannot be used or migrated.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The engine returned an error.
    #[error("cannot open the store at {place}")]
    Engine {
        /// Path of the database, or its host and name.
        place: String,
        /// Error of the engine.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Error of a read or write. Unless stated otherwise, nothing of a failed write was kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The state is not known to this version.
    #[error("no {of} has the state {state:?}")]
    UnknownState {
        /// `job` or `run`.
        of: &'static str,
        /// The state as passed by the caller.
        state: String,
    },
    /// A new job without any state.
    #[error("a new job has no state: give the states that it enters, in their order")]
    NoState,
    /// The disk has no space left.
    #[error(
        "the disk of the store is full; nothing of this write was kept, free some space and it \
         will work again"
    )]
    DiskFull(#[source] SharedCause),
    /// PostgreSQL does not answer, or the database accepts no writes now (it is read-only, locked
    /// or out of resources).
    #[error("the database is not reachable or not writable; nothing of this write was kept")]
    Unavailable(#[source] SharedCause),
    /// The commit was sent and its answer was lost. Commits of
    /// [`JobRunChange`](crate::JobRunChange)s may be repeated: changes that were applied are then
    /// reported as unchanged.
    #[error("the commit was sent and no answer came: it may or may not be kept")]
    OutcomeUnknown(#[source] SharedCause),
    /// Another server took the database over while this one had no connection to it.
    #[error("another server process took over this database; this one must end")]
    Superseded,
    /// The database has fewer commits than this process made.
    #[error(
        "the database has {found} commits and this server had made {own}: an older copy of it \
         answers, such as a standby that lagged behind; this server must end, and the next start \
         says what to do"
    )]
    HistoryWentBack {
        /// Number of the last commit of this process.
        own: i64,
        /// Number of the last commit in the database.
        found: i64,
    },
    /// The file at the database's path is not the one that was opened.
    #[error("{} was replaced or removed while it was used; this server must end", path.display())]
    Replaced {
        /// Path of the file.
        path: PathBuf,
    },
    /// The engine refused the content of the statement; repeating it would fail again.
    #[error("the database refused the statement")]
    Refused(#[source] SharedCause),
    /// A value that was read does not conform to the schema.
    #[error("the database holds something that this version cannot read")]
    Corrupt(#[source] SharedCause),
}

/// A cause that several callers of one batch may share.
pub type SharedCause = Arc<dyn std::error::Error + Send + Sync>;

/// Error of the history file.
#[derive(Debug, thiserror::Error)]
pub enum HistoryFileError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
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
        /// Error of decoding the file.
        source: decode_errors::DecodeError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] pki::durable::DurableWriteError),
}

// === impl StoreError ===

impl StoreError {
    /// True if this store accepts no more writes, so that its process must end.
    pub fn is_final(&self) -> bool {
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
            // The file cannot be written now, whatever the statement is.
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
