//! [`Store`]: the handle to either engine.
//!
//! Invariant: a caller that awaits a write is answered after the commit, and a caller that stops
//! waiting does not stop the write.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::change::{ChangeResult, JobRunChange};
use crate::config::DatabaseTarget;
use crate::history_mark::OlderHistory;
use crate::postgres::PostgresReader;
use crate::request::{WriteRequest, WriterMessage};
use crate::sqlite::SqliteReader;
use crate::statement::SqlStatement;
use crate::value::{FromRow, SqlValue};
use crate::write::{StoreWrite, WriteResult};
use crate::{OpenStoreError, StoreConfig, StoreError};

/// A handle to the store; clones share it. The writer ends when the last clone is dropped;
/// [`Store::close`] also waits for that.
#[derive(Clone)]
pub struct Store {
    engine: Arc<StoreEngine>,
    writes: mpsc::Sender<WriterMessage>,
    pub(crate) older: Option<Arc<OlderHistory>>,
}

enum StoreEngine {
    Sqlite(SqliteReader),
    Postgres(PostgresReader),
}

// === impl Store ===

impl Store {
    /// Opens the store, creates it if it does not exist, and migrates its schema.
    pub async fn open(config: &StoreConfig) -> Result<Self, OpenStoreError> {
        let (engine, writes, older) = match config.target()? {
            DatabaseTarget::Sqlite(path) => {
                let (sqlite, writes, older) = SqliteReader::open(path, config.clone()).await?;
                (StoreEngine::Sqlite(sqlite), writes, older)
            }
            DatabaseTarget::Postgres(url) => {
                let (postgres, writes, older) = PostgresReader::open(&url, config).await?;
                (StoreEngine::Postgres(postgres), writes, older)
            }
        };
        Ok(Self {
            engine: Arc::new(engine),
            writes,
            older: older.map(Arc::new),
        })
    }

    /// Opens an existing store for reading alone: nothing is created, migrated or locked, so it
    /// works beside a server. Every write fails with [`StoreError::Closed`].
    pub async fn open_read_only(config: &StoreConfig) -> Result<Self, OpenStoreError> {
        let engine = match config.target()? {
            DatabaseTarget::Sqlite(path) => {
                StoreEngine::Sqlite(SqliteReader::open_read_only(path, config.readers).await?)
            }
            DatabaseTarget::Postgres(url) => {
                StoreEngine::Postgres(PostgresReader::open_read_only(&url, config).await?)
            }
        };
        let (writes, _) = mpsc::channel(1);
        Ok(Self {
            engine: Arc::new(engine),
            writes,
            older: None,
        })
    }

    /// Writes the queued requests and ends the store. Other clones get [`StoreError::Closed`] from
    /// then on.
    pub async fn close(&self) {
        // A writer that has ended has nothing left to close.
        let _ = self.writes.send(WriterMessage::Close).await;
        self.writes.closed().await;
        match &*self.engine {
            StoreEngine::Sqlite(sqlite) => sqlite.wait_until_closed().await,
            StoreEngine::Postgres(postgres) => postgres.wait_until_closed().await,
        }
    }

    /// Returns when this store commits nothing more although it was not closed: another process
    /// took the database over, or the database was replaced by an older copy. The process must then
    /// end.
    pub async fn ended(&self) -> StoreError {
        let mut ended = match &*self.engine {
            StoreEngine::Sqlite(sqlite) => sqlite.watch_end(),
            StoreEngine::Postgres(postgres) => postgres.watch_end(),
        };
        let error = ended.wait_for(Option::is_some).await;
        let error = error.ok().and_then(|error| error.clone());
        match error {
            Some(error) => error,
            // The store was closed.
            None => std::future::pending().await,
        }
    }

    /// Commits changes, together with those of other callers, and waits until they are durable: all
    /// of them or, on an error, none. May be repeated: changes that were applied before are then
    /// reported as unchanged.
    pub async fn commit(
        &self,
        changes: Vec<JobRunChange>,
    ) -> Result<Vec<ChangeResult>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        match self.write(StoreWrite::Commit(changes)).await? {
            WriteResult::Applied(applied) => Ok(applied),
            other => unreachable!("changes are answered with what was applied, not {other:?}"),
        }
    }

    pub(crate) async fn write(&self, write: StoreWrite) -> Result<WriteResult, StoreError> {
        write.validate()?;
        let (reply, answer) = oneshot::channel();
        let request = WriterMessage::Write(WriteRequest { write, reply });
        self.writes
            .send(request)
            .await
            .map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs a statement. Returns the number of rows that it changed.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'_>>,
    ) -> Result<u64, StoreError> {
        let rows = self.execute_all([SqlStatement::new(sql, values)]).await?;
        Ok(rows.first().copied().unwrap_or(0))
    }

    /// Runs statements in one transaction. Returns the numbers of rows that they changed.
    pub(crate) async fn execute_all<'a>(
        &self,
        steps: impl IntoIterator<Item = SqlStatement<'a>>,
    ) -> Result<Vec<u64>, StoreError> {
        let steps = steps.into_iter().map(SqlStatement::into_owned).collect();
        match self.write(StoreWrite::Statements(steps)).await? {
            WriteResult::Rows(rows) => Ok(rows),
            other => unreachable!("statements are answered with counts, not {other:?}"),
        }
    }

    /// Runs statements in one transaction. Returns true if the last one changed a row.
    pub(crate) async fn execute_to_last<'a>(
        &self,
        steps: impl IntoIterator<Item = SqlStatement<'a>>,
    ) -> Result<bool, StoreError> {
        let rows = self.execute_all(steps).await?;
        Ok(rows.last().is_some_and(|changed| *changed > 0))
    }

    pub(crate) async fn query<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'_>>,
    ) -> Result<Vec<T>, StoreError> {
        let values = SqlValue::own_all(values);
        match &*self.engine {
            StoreEngine::Sqlite(sqlite) => sqlite.query(sql, values).await,
            StoreEngine::Postgres(postgres) => postgres.query(sql, values).await,
        }
    }

    pub(crate) async fn query_one<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'_>>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// The number that a `SELECT COUNT(*)` returns.
    pub(crate) async fn count(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'_>>,
    ) -> Result<u64, StoreError> {
        Ok(self.query_one(sql, values).await?.unwrap_or(0))
    }

    /// Prepares a text on the engine, for the test that prepares all texts.
    #[doc(hidden)]
    pub async fn prepare(&self, sql: &'static str) -> Result<(), StoreError> {
        match &*self.engine {
            StoreEngine::Sqlite(sqlite) => sqlite.prepare(sql).await,
            StoreEngine::Postgres(postgres) => postgres.prepare(sql).await,
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match &*self.engine {
            StoreEngine::Sqlite(sqlite) => sqlite.path().display().to_string(),
            StoreEngine::Postgres(postgres) => postgres.database().to_owned(),
        };
        f.debug_struct("Store")
            .field("engine", &engine)
            .finish_non_exhaustive()
    }
}
