//! The writer thread.
//!
//! [`run`] gathers what waits into one transaction, commits, and answers every caller. The rule:
//! one request that cannot be written does not hurt its neighbours; then the batch is undone and
//! each of them is tried alone.

use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::mpsc;

use super::bind::bind;
use crate::StoreError;
use crate::batch::{self, Batch};
use crate::ledger::{self, Ledger};
use crate::request::{Message, Request};
use crate::value::FromRow;
use crate::write::Written;

/// Writes until the store is closed or dropped.
pub(crate) fn run(mut connection: Connection, mut queue: mpsc::Receiver<Message>) {
    while let Some(first) = queue.blocking_recv() {
        let batch = batch::fill(first, &mut queue);
        if batch.last {
            // Senders that wait for a place get an error; what is in the queue is written.
            queue.close();
        }
        write(&mut connection, batch);
    }
    // Leaves one tidy file; the log is read again at the next start if this fails.
    if let Err(error) = connection.pragma_update(None, "wal_checkpoint", "TRUNCATE") {
        tracing::warn!(%error, "the write-ahead log was not copied back at the end");
    }
}

fn write(connection: &mut Connection, batch: Batch) {
    let mut requests = batch.requests;
    match transact(connection, &requests) {
        Ok(written) => batch::answer(requests, written),
        Err(error) if requests.len() == 1 => {
            batch::fail(requests.remove(0), error);
        }
        Err(error) => {
            tracing::debug!(%error, requests = requests.len(), "batch undone, each is tried alone");
            for request in requests {
                match transact(connection, std::slice::from_ref(&request)) {
                    Ok(written) => batch::answer(vec![request], written),
                    Err(error) => batch::fail(request, error),
                }
            }
        }
    }
}

/// All requests in one transaction; on an error nothing of it is kept.
fn transact(connection: &mut Connection, requests: &[Request]) -> Result<Vec<Written>, StoreError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut ledger = {
        let mut statement = transaction.prepare_cached(ledger::BEGIN)?;
        let mut rows = statement.query([])?;
        let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let ledger = Ledger::from_row(row)?;
        // The statement counts as run only when it was read to its end.
        while rows.next()?.is_some() {}
        ledger
    };
    let mut written = Vec::with_capacity(requests.len());
    for request in requests {
        let plan = request.write.plan(&mut ledger)?;
        let mut rows = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let mut statement = transaction.prepare_cached(step.sql)?;
            bind(&mut statement, &step.values)?;
            rows.push(statement.raw_execute()? as u64);
        }
        written.push(plan.written(&rows));
    }
    transaction.prepare_cached(ledger::END)?.execute((
        ledger.job,
        ledger.event,
        ledger.audit,
        ledger.audit_hash,
    ))?;
    transaction.commit().map_err(commit_error)?;
    Ok(written)
}

/// When the disk fails under the commit itself, its pages may have reached the log: after a crash
/// they may be found there, or not.
fn commit_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => StoreError::OutcomeUnknown(Arc::new(error)),
        _ => error.into(),
    }
}
