//! Survey of a database without opening it as a server does: [`DatabaseSurvey`].
//!
//! Invariant: nothing is created, migrated, locked or waited for, so it is safe beside the server
//! that holds the database.

use crate::OpenStoreError;
use crate::config::{DatabaseTarget, StoreConfig};
use crate::migrations::{self, MigrateError};
use crate::postgres::PostgresReader;
use crate::sqlite;

/// Facts about a database that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSurvey {
    /// Path of the database, or its host and name.
    pub database: String,
    /// Engine and its version, such as `SQLite 3.50.2`.
    pub engine: String,
    /// State of the tables.
    pub schema: SchemaState,
    /// Protection of the connection; `None`: the connection does not leave the process, or uses a
    /// socket of this machine.
    pub encryption: Option<ConnectionEncryption>,
    /// Process or session that holds the database; `None`: no server holds it.
    pub holder: Option<String>,
    /// Result of the engine's own quick check; `None`: the engine has none.
    pub integrity: Option<IntegrityCheck>,
    /// Time of the database's clock in milliseconds since 1970; `None`: it is this machine's clock.
    pub clock_ms: Option<i64>,
}

/// The tables, compared with those that this program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// There are no tables yet: no server has started with this database.
    Empty,
    /// The tables are those of this program; number of the last migration.
    Current(i64),
    /// The next start of the server migrates them, from the first number to the second.
    Older(i64, i64),
    /// Another program wrote the tables, so this one cannot use them.
    Unusable(MigrateError),
}

/// Protection of a connection to PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEncryption {
    /// Encrypted, with this version of TLS.
    Encrypted(String),
    /// Unencrypted: passwords and results are sent over the network in clear.
    Clear,
}

/// Result of `PRAGMA quick_check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// No damage was found.
    Intact,
    /// The first damage that was found.
    Damaged(String),
    /// The database is too large to be checked within this many seconds.
    Unfinished(u64),
}

impl DatabaseSurvey {
    /// Surveys the database of a configuration.
    ///
    /// # Errors
    /// The database does not answer, or may not be read.
    pub async fn survey(config: &StoreConfig) -> Result<Self, OpenStoreError> {
        match config.target()? {
            DatabaseTarget::Sqlite(path) => sqlite::survey::survey_file(path).await,
            DatabaseTarget::Postgres(url) => PostgresReader::survey(&url).await,
        }
    }
}

// === impl SchemaState ===

impl SchemaState {
    /// The state that results from the applied migrations.
    pub(crate) fn of(
        known: &'static [migrations::SchemaMigration],
        applied: &[(i64, String)],
    ) -> Self {
        let last = |number: Option<i64>| number.unwrap_or_default();
        let (found, newest) = (
            last(applied.last().map(|(number, _)| *number)),
            last(known.last().map(|migration| migration.number)),
        );
        match migrations::pending_migrations(known, applied) {
            Err(error) => Self::Unusable(error),
            Ok([]) => Self::Current(found),
            Ok(_) if applied.is_empty() => Self::Empty,
            Ok(_) => Self::Older(found, newest),
        }
    }
}
