//! The writer thread.
//!
//! [`SqliteWriter`] combines waiting requests into one transaction, commits, and answers every
//! caller. Invariants: a request that cannot be written does not affect the others of its batch,
//! since the batch is then undone and each request is tried alone; and the writer stops when the
//! database's last commit is not that of this process ([`CommitHistory`]).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, watch};

use super::bind::bind;
use super::connection;
use crate::batch::{self, WriteBatch};
use crate::history::CommitHistory;
use crate::history_mark::OlderHistory;
use crate::ledger::{self, NumberLedger};
use crate::request::{WriteRequest, WriterMessage};
use crate::value::{ColumnError, FromRow};
use crate::write::WriteResult;
use crate::{OpenStoreError, StoreConfig, StoreError};

/// Writes to one file, as long as the file is the one that was opened and its history that of this
/// process.
pub(crate) struct SqliteWriter {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that was opened.
    file: (u64, u64),
    history: CommitHistory,
}

// === impl SqliteWriter ===

impl SqliteWriter {
    /// Compares the database with the known history, and starts this process's epoch.
    pub(crate) fn open(
        connection: Connection,
        path: &Path,
        settings: &StoreConfig,
    ) -> Result<(Self, Option<OlderHistory>), OpenStoreError> {
        let engine = |source: rusqlite::Error| connection::open_error(path, source);
        let unreadable = |error: ColumnError| OpenStoreError::Engine {
            place: path.display().to_string(),
            source: Box::new(error),
        };
        let identity: String = connection
            .query_row(ledger::IDENTITY, [], |row| row.get(0))
            .map_err(engine)?;
        let read = |sql: &'static str, values: &[i64]| {
            let values = rusqlite::params_from_iter(values);
            connection.query_row(sql, values, |row| Ok(NumberLedger::from_row(row)))
        };
        let found = read(ledger::READ, &[])
            .map_err(engine)?
            .map_err(unreadable)?;
        let place = path.display().to_string();
        let older = CommitHistory::open(settings.history.as_deref(), &place, &identity, &found)?;
        if let Some(older) = older.clone().filter(|_| !settings.older_history) {
            return Err(OpenStoreError::HistoryWentBack(Box::new(older)));
        }
        let above = older.as_ref().map_or(0, |older| older.last_known.epoch);
        let begun = read(ledger::NEW_EPOCH, &[above])
            .map_err(engine)?
            .map_err(unreadable)?;
        let file = file_id(path).map_err(|source| OpenStoreError::Io {
            path: path.to_owned(),
            source,
        })?;
        let writer = Self {
            history: CommitHistory::from_epoch(
                settings.history.clone(),
                identity,
                begun,
                older.as_ref(),
            ),
            connection,
            path: path.to_owned(),
            file,
        };
        Ok((writer, older))
    }

    pub(crate) fn watch_end(&self) -> watch::Receiver<Option<StoreError>> {
        self.history.watch_end()
    }

    /// Writes until the store is closed or dropped.
    pub(crate) fn run(mut self, mut queue: mpsc::Receiver<WriterMessage>) {
        while let Some(first) = queue.blocking_recv() {
            let batch = batch::collect(first, &mut queue);
            if batch.last {
                // Senders that wait for space in the queue get an error; queued requests are
                // written.
                queue.close();
            }
            self.write(batch);
            if self.history.is_due() {
                self.history.save();
            }
        }
        self.history.save();
        // Leaves a single file. If this fails, the log is read at the next start.
        let copied = self
            .connection
            .pragma_update(None, "wal_checkpoint", "TRUNCATE");
        if let Err(error) = copied {
            tracing::warn!(%error, "the write-ahead log was not copied back at the end");
        }
    }

    fn write(&mut self, batch: WriteBatch) {
        let mut requests = batch.requests;
        match self.transact(&requests) {
            Ok(written) => batch::send_results(requests, written),
            Err(error) if requests.len() == 1 => {
                batch::send_error(requests.remove(0), error);
            }
            Err(error) => {
                tracing::debug!(%error, requests = requests.len(), "batch undone, each is tried alone");
                for request in requests {
                    match self.transact(std::slice::from_ref(&request)) {
                        Ok(written) => batch::send_results(vec![request], written),
                        Err(error) => batch::send_error(request, error),
                    }
                }
            }
        }
    }

    /// Writes all requests in one transaction; on an error nothing is kept.
    fn transact(&mut self, requests: &[WriteRequest]) -> Result<Vec<WriteResult>, StoreError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        self.history.check_not_ended()?;
        self.check_file()?;
        transact(&mut self.connection, requests, &mut self.history)
    }

    /// Fails if the database's file was moved or replaced: its writes would be lost at the end of
    /// the process.
    fn check_file(&mut self) -> Result<(), StoreError> {
        match file_id(&self.path) {
            Ok(file) if file != self.file => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // The engine reports if the file cannot be used.
            Ok(_) | Err(_) => return Ok(()),
        }
        let path = self.path.clone();
        self.history.end_commits(StoreError::Replaced { path });
        self.history.check_not_ended()
    }
}

fn file_id(path: &Path) -> std::io::Result<(u64, u64)> {
    let file = std::fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

fn transact(
    connection: &mut Connection,
    requests: &[WriteRequest],
    history: &mut CommitHistory,
) -> Result<Vec<WriteResult>, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut ledger = {
        let mut statement = transaction.prepare_cached(ledger::BEGIN)?;
        let mut rows = statement.query([])?;
        let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let ledger = NumberLedger::from_row(row)?;
        // The statement counts as run only after it was read to its end.
        while rows.next()?.is_some() {}
        ledger
    };
    history.compare_begun(&ledger)?;
    let mut written = Vec::with_capacity(requests.len());
    for request in requests {
        let plan = request.write.plan_statements(&mut ledger)?;
        let mut rows = Vec::with_capacity(plan.statements.len());
        for step in &plan.statements {
            let mut statement = transaction.prepare_cached(step.sql)?;
            bind(&mut statement, &step.values)?;
            rows.push(statement.raw_execute()? as u64);
        }
        written.push(plan.to_result(&rows));
    }
    transaction.prepare_cached(ledger::END)?.execute((
        ledger.job,
        ledger.event,
        ledger.audit,
        ledger.audit_hash,
    ))?;
    match transaction.commit().map_err(commit_error) {
        Ok(()) => {
            history.record_commit(ledger);
            Ok(written)
        }
        Err(error) => {
            if matches!(error, StoreError::OutcomeUnknown(_)) {
                history.mark_in_doubt(ledger.commits);
            }
            Err(error)
        }
    }
}

/// Error of a commit. If the disk fails during the commit itself, its pages may have reached the
/// log, so that after a crash the commit may or may not be there.
fn commit_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => StoreError::OutcomeUnknown(Arc::new(error)),
        _ => error.into(),
    }
}
