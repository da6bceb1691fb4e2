//! The writer task.
//!
//! [`PostgresWriter`] combines waiting requests into one transaction, as the SQLite writer does.
//! Invariants: a request that cannot be written does not affect the others of its batch; when the
//! connection is lost while the commit is in progress, the count of commits in the ledger shows if
//! it took place, since only this process writes; and the writer stops when the database's last
//! commit is not that of this process ([`CommitHistory`]).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_postgres::{Client, Error};

use super::connect::{LinkError, LockedConnection};
use super::connector::PostgresConnector;
use super::holder::{SessionId, SessionTakeover};
use super::session::{SessionError, await_answer, await_answer_within};
use super::{errors, migrate};
use crate::batch;
use crate::defaults::{
    POSTGRES_HEARTBEAT, POSTGRES_LOCK, POSTGRES_PIPELINE, POSTGRES_RETRY, POSTGRES_SILENCE,
};
use crate::history::CommitHistory;
use crate::history_mark::OlderHistory;
use crate::ledger::{self, NumberLedger};
use crate::request::{WriteRequest, WriterMessage};
use crate::statement::SqlStatement;
use crate::value::FromRow;
use crate::write::{WritePlan, WriteResult};
use crate::{OpenStoreError, StoreConfig, StoreError};

pub(crate) struct PostgresWriter {
    connector: PostgresConnector,
    /// The connection; `None` when it is lost.
    link: Option<LockedConnection>,
    /// The last session, which PostgreSQL may keep after its connection was lost.
    session: SessionId,
    history: CommitHistory,
    patience: Duration,
}

/// Reason for which an attempt at a transaction did not succeed.
enum TransactionFailure {
    /// The database returned an error; nothing was kept.
    Refused(StoreError),
    /// The connection was lost before the commit was sent; nothing was kept.
    Lost(SessionError),
    /// The connection was lost after the commit was sent: number and results of the transaction.
    InDoubt {
        error: SessionError,
        commits: i64,
        written: Vec<WriteResult>,
    },
}

// === impl PostgresWriter ===

impl PostgresWriter {
    pub(crate) async fn open(
        connector: PostgresConnector,
        place: &str,
        settings: &StoreConfig,
    ) -> Result<(Self, Option<OlderHistory>), OpenStoreError> {
        let mut link = Self::first_link(&connector)
            .await
            .map_err(|error| error.into_open_error(place))?;
        migrate::migrate(&mut link, place).await?;
        let (history, older) = begin_epoch(&link.client, place, settings).await?;
        let writer = Self {
            connector,
            session: link.id.clone(),
            link: Some(link),
            history,
            patience: settings.patience,
        };
        Ok((writer, older))
    }

    async fn first_link(connector: &PostgresConnector) -> Result<LockedConnection, LinkError> {
        let heard = Instant::now() + POSTGRES_LOCK;
        let silent = heard + POSTGRES_SILENCE;
        loop {
            match Box::pin(LockedConnection::open(
                connector,
                SessionTakeover::StartingServer,
            ))
            .await
            {
                Err(LinkError::Held(holder))
                    if Instant::now() < heard || holder.is_suspect() && Instant::now() < silent =>
                {
                    tokio::time::sleep(POSTGRES_RETRY).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Writes until the store is closed or dropped.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<WriterMessage>) {
        loop {
            let first = tokio::select! {
                first = queue.recv() => first,
                () = tokio::time::sleep(POSTGRES_HEARTBEAT) => {
                    self.send_heartbeat().await;
                    continue;
                }
            };
            let Some(first) = first else { break };
            let batch = batch::collect(first, &mut queue);
            if batch.last {
                queue.close();
            }
            Box::pin(self.write(batch.requests)).await;
            if self.history.is_due() {
                self.save_history().await;
            }
        }
        self.save_history().await;
        if let Some(link) = self.link {
            link.close().await;
        }
    }

    /// Sends a heartbeat, which also detects a lost connection.
    async fn send_heartbeat(&mut self) {
        let Some(link) = &self.link else {
            // One attempt only: a failed one is reported to the writes that wait for it.
            match Box::pin(LockedConnection::open(
                &self.connector,
                SessionTakeover::ReconnectingServer(&self.session),
            ))
            .await
            {
                Ok(link) => self.set_link(link),
                Err(error) => tracing::debug!(%error, "PostgreSQL is not reachable"),
            }
            return;
        };
        let answer =
            await_answer_within(POSTGRES_SILENCE, link.client.query_one(ledger::READ, &[]));
        match answer.await {
            Ok(row) => {
                // An error is reported to the watcher of the store's end, and to every write.
                if let Ok(found) = NumberLedger::from_row(&row) {
                    let _ = self.history.compare_ledger(&found);
                }
                self.save_history().await;
            }
            Err(error) => {
                tracing::warn!(%error, "the writing connection to PostgreSQL is lost");
                self.link = None;
            }
        }
    }

    pub(crate) fn watch_end(&self) -> watch::Receiver<Option<StoreError>> {
        self.history.watch_end()
    }

    async fn save_history(&mut self) {
        if let Some(unsaved) = self.history.pending_mark() {
            // An aborted task ends with its runtime.
            let commits = tokio::task::spawn_blocking(|| unsaved.write()).await;
            self.history.record_saved(commits.ok().flatten());
        }
    }

    async fn write(&mut self, requests: Vec<WriteRequest>) {
        match self.transact(&requests).await {
            Ok(written) => batch::send_results(requests, written),
            // Each request alone would get the same error.
            Err(error) if requests.len() == 1 || !is_request_error(&error) => {
                for request in requests {
                    batch::send_error(request, error.clone());
                }
            }
            Err(error) => {
                tracing::debug!(%error, requests = requests.len(), "undone, each is tried alone");
                for request in requests {
                    match self.transact(std::slice::from_ref(&request)).await {
                        Ok(written) => batch::send_results(vec![request], written),
                        Err(error) => batch::send_error(request, error),
                    }
                }
            }
        }
    }

    /// Writes all requests in one transaction, over as many connections as necessary.
    async fn transact(
        &mut self,
        requests: &[WriteRequest],
    ) -> Result<Vec<WriteResult>, StoreError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + self.patience;
        loop {
            self.history.check_not_ended()?;
            self.connect(deadline).await?;
            let Some(link) = &mut self.link else { continue };
            match try_transaction(link, requests, &mut self.history).await {
                Ok(written) => return Ok(written),
                Err(TransactionFailure::Refused(error)) => {
                    self.roll_back().await;
                    return Err(error);
                }
                Err(TransactionFailure::Lost(error)) => {
                    tracing::warn!(%error, "a transaction was lost with its connection; repeated");
                    self.handle_lost_connection(errors::from_session(error), deadline)
                        .await?;
                }
                Err(TransactionFailure::InDoubt {
                    error,
                    commits,
                    written,
                }) => {
                    self.link = None;
                    self.history.mark_in_doubt(commits);
                    if self
                        .is_committed(commits, deadline)
                        .await
                        .map_err(|_| StoreError::OutcomeUnknown(Arc::new(error)))?
                    {
                        return Ok(written);
                    }
                }
            }
        }
    }

    /// Drops the connection and pauses, if the deadline is not reached. A server that is crashing,
    /// or that became a standby, accepts connections and then fails them.
    async fn handle_lost_connection(
        &mut self,
        error: StoreError,
        deadline: Instant,
    ) -> Result<(), StoreError> {
        self.link = None;
        if Instant::now() >= deadline {
            return Err(error);
        }
        tokio::time::sleep(POSTGRES_RETRY).await;
        Ok(())
    }

    async fn roll_back(&mut self) {
        if let Some(link) = &self.link
            && await_answer(link.client.batch_execute("ROLLBACK"))
                .await
                .is_err()
        {
            self.link = None;
        }
    }

    /// Reconnects if the connection was lost.
    async fn connect(&mut self, deadline: Instant) -> Result<(), StoreError> {
        if self
            .link
            .as_ref()
            .is_some_and(|link| link.client.is_closed())
        {
            self.link = None;
        }
        if self.link.is_none() {
            let link = self.reconnect(deadline).await?;
            self.set_link(link);
        }
        Ok(())
    }

    fn set_link(&mut self, link: LockedConnection) {
        self.session = link.id.clone();
        self.link = Some(link);
    }

    async fn reconnect(&mut self, deadline: Instant) -> Result<LockedConnection, StoreError> {
        loop {
            let error = match Box::pin(LockedConnection::open(
                &self.connector,
                SessionTakeover::ReconnectingServer(&self.session),
            ))
            .await
            {
                Ok(link) => return Ok(link),
                Err(LinkError::Held(holder))
                    if holder.epoch.is_some_and(|now| now > self.history.epoch()) =>
                {
                    self.history.end_commits(StoreError::Superseded);
                    return Err(StoreError::Superseded);
                }
                Err(error) => error,
            };
            if Instant::now() >= deadline {
                return Err(StoreError::Unavailable(Arc::new(error)));
            }
            tracing::warn!(%error, "PostgreSQL is not reachable; tried again");
            tokio::time::sleep(POSTGRES_RETRY).await;
        }
    }

    /// Tests if the transaction with this number was committed.
    async fn is_committed(&mut self, commits: i64, deadline: Instant) -> Result<bool, StoreError> {
        loop {
            self.connect(deadline).await?;
            let Some(link) = &self.link else { continue };
            let row = await_answer(link.client.query_one(ledger::READ, &[])).await;
            let ledger = match row.map_err(errors::from_session) {
                Ok(row) => NumberLedger::from_row(&row)?,
                Err(error @ StoreError::Unavailable(_)) => {
                    self.handle_lost_connection(error, deadline).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.history.compare_ledger(&ledger)?;
            if ledger.commits < commits {
                return Ok(false);
            }
            self.history.record_commit(ledger);
            return Ok(true);
        }
    }
}

/// True if another request of the batch may still succeed.
fn is_request_error(error: &StoreError) -> bool {
    !error.is_final()
        && !matches!(
            error,
            StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_)
        )
}

/// Compares the database with the known history, and starts this process's epoch.
async fn begin_epoch(
    client: &Client,
    place: &str,
    settings: &StoreConfig,
) -> Result<(CommitHistory, Option<OlderHistory>), OpenStoreError> {
    let refused = |error| LinkError::Connect(error).into_open_error(place);
    let unreadable = |error| super::connect::engine_error(place, error);
    let row = await_answer(client.query_one(ledger::IDENTITY, &[])).await;
    let identity: String = row.map_err(refused)?.try_get(0).map_err(unreadable)?;
    let row = await_answer(client.query_one(ledger::READ, &[])).await;
    let found = NumberLedger::from_row(&row.map_err(refused)?);
    let found = found.map_err(|error| super::connect::engine_error(place, error))?;
    let file = settings.history.as_deref();
    let older = CommitHistory::open(file, place, &identity, &found)?;
    if let Some(older) = older.clone().filter(|_| !settings.older_history) {
        return Err(OpenStoreError::HistoryWentBack(Box::new(older)));
    }
    let above = older.as_ref().map_or(0, |older| older.last_known.epoch);
    let row = await_answer(client.query_one(ledger::NEW_EPOCH, &[&above])).await;
    let begun = NumberLedger::from_row(&row.map_err(refused)?);
    let begun = begun.map_err(|error| super::connect::engine_error(place, error))?;
    let history =
        CommitHistory::from_epoch(settings.history.clone(), identity, begun, older.as_ref());
    Ok((history, older))
}

async fn try_transaction(
    link: &mut LockedConnection,
    requests: &[WriteRequest],
    history: &mut CommitHistory,
) -> Result<Vec<WriteResult>, TransactionFailure> {
    await_answer(link.client.batch_execute("BEGIN")).await?;
    let statement = link.statement(ledger::BEGIN).await?;
    let row = await_answer(link.client.query_one(&statement, &[])).await?;
    let mut ledger =
        NumberLedger::from_row(&row).map_err(|error| TransactionFailure::Refused(error.into()))?;
    history
        .compare_begun(&ledger)
        .map_err(TransactionFailure::Refused)?;
    let plans = requests
        .iter()
        .map(|request| request.write.plan_statements(&mut ledger))
        .collect::<Result<Vec<WritePlan<'_>>, StoreError>>()
        .map_err(TransactionFailure::Refused)?;
    let steps: Vec<&SqlStatement<'_>> = plans.iter().flat_map(|plan| &plan.statements).collect();
    let mut rows = Vec::with_capacity(steps.len());
    for steps in steps.chunks(POSTGRES_PIPELINE) {
        send_pipelined(link, steps, &mut rows).await?;
    }
    let statement = link.statement(ledger::END).await?;
    let audit_hash = ledger.audit_hash.as_slice();
    await_answer(link.client.execute(
        &statement,
        &[&ledger.job, &ledger.event, &ledger.audit, &audit_hash],
    ))
    .await?;
    let mut rows = rows.as_slice();
    let mut written = Vec::with_capacity(plans.len());
    for plan in &plans {
        let (own, others) = rows.split_at(plan.statements.len());
        written.push(plan.to_result(own));
        rows = others;
    }
    match await_answer(link.client.batch_execute("COMMIT")).await {
        Ok(()) => {
            history.record_commit(ledger);
            Ok(written)
        }
        Err(error) if error.is_lost() => Err(TransactionFailure::InDoubt {
            error,
            commits: ledger.commits,
            written,
        }),
        Err(error) => Err(TransactionFailure::Refused(errors::from_session(error))),
    }
}

type PendingStatement<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

enum SentStatement<'a> {
    Done(Result<u64, Error>),
    Pending(PendingStatement<'a>),
}

/// Sends the steps in order without waiting in between, and reads the answers afterwards.
async fn send_pipelined(
    link: &mut LockedConnection,
    steps: &[&SqlStatement<'_>],
    rows: &mut Vec<u64>,
) -> Result<(), SessionError> {
    let mut statements = Vec::with_capacity(steps.len());
    for step in steps {
        statements.push(link.statement(step.sql).await?);
    }
    let client = &link.client;
    let mut sent: Vec<SentStatement<'_>> = Vec::with_capacity(steps.len());
    for (step, statement) in steps.iter().zip(&statements) {
        let mut answer: PendingStatement<'_> =
            Box::pin(client.execute_raw(statement, step.values.iter()));
        // The first poll sends the statement.
        sent.push(match poll!(&mut answer) {
            Poll::Ready(done) => SentStatement::Done(done),
            Poll::Pending => SentStatement::Pending(answer),
        });
    }
    let mut first_error = None;
    for answer in sent {
        let done = match answer {
            SentStatement::Done(done) => done.map_err(SessionError::from),
            SentStatement::Pending(answer) => await_answer(answer).await,
        };
        match done {
            Ok(count) => rows.push(count),
            // The later answers would not arrive either.
            Err(silent @ SessionError::Silent(_)) => return Err(silent),
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    first_error.map_or(Ok(()), Err)
}

impl From<SessionError> for TransactionFailure {
    fn from(error: SessionError) -> Self {
        if error.is_lost() {
            Self::Lost(error)
        } else {
            Self::Refused(errors::from_session(error))
        }
    }
}
