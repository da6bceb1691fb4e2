//! The writer task.
//!
//! [`Writer`] combines waiting requests into one transaction, as the SQLite writer does.
//! Invariants: a request that cannot be written does not affect the others of its batch; when the
//! connection is lost while the commit is in progress, the count of commits in the ledger shows if
//! it took place, since only this process writes; and the writer stops when the database's last
//! commit is not that of this process ([`History`]).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_postgres::{Client, Error};

use super::Connector;
use super::connect::{Link, LinkError};
use super::holder::{SessionId, Successor};
use super::session::{SessionError, answered, answered_within};
use super::{errors, migrate};
use crate::batch;
use crate::defaults::{
    POSTGRES_HEARTBEAT, POSTGRES_LOCK, POSTGRES_PIPELINE, POSTGRES_RETRY, POSTGRES_SILENCE,
};
use crate::history::History;
use crate::ledger::{self, Ledger};
use crate::older_history::OlderHistory;
use crate::request::{Message, Request};
use crate::step::Step;
use crate::value::FromRow;
use crate::write::{Plan, Written};
use crate::{OpenStoreError, StoreConfig, StoreError};

pub(crate) struct Writer {
    connector: Connector,
    /// The connection; `None` when it is lost.
    link: Option<Link>,
    /// The last session, which PostgreSQL may keep after its connection was lost.
    session: SessionId,
    history: History,
    patience: Duration,
}

/// Reason for which an attempt at a transaction did not succeed.
enum Attempt {
    /// The database returned an error; nothing was kept.
    Refused(StoreError),
    /// The connection was lost before the commit was sent; nothing was kept.
    Lost(SessionError),
    /// The connection was lost after the commit was sent: number and results of the transaction.
    InDoubt {
        error: SessionError,
        commits: i64,
        written: Vec<Written>,
    },
}

// === impl Writer ===

impl Writer {
    pub(crate) async fn open(
        connector: Connector,
        place: &str,
        settings: &StoreConfig,
    ) -> Result<(Self, Option<OlderHistory>), OpenStoreError> {
        let mut link = Self::first_link(&connector)
            .await
            .map_err(|error| error.opening(place))?;
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

    async fn first_link(connector: &Connector) -> Result<Link, LinkError> {
        let heard = Instant::now() + POSTGRES_LOCK;
        let silent = heard + POSTGRES_SILENCE;
        loop {
            match Box::pin(Link::open(connector, Successor::OfSilent)).await {
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
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        loop {
            let first = tokio::select! {
                first = queue.recv() => first,
                () = tokio::time::sleep(POSTGRES_HEARTBEAT) => {
                    self.beat().await;
                    continue;
                }
            };
            let Some(first) = first else { break };
            let batch = batch::fill(first, &mut queue);
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
    async fn beat(&mut self) {
        let Some(link) = &self.link else {
            // One attempt only: a failed one is reported to the writes that wait for it.
            match Box::pin(Link::open(&self.connector, Successor::OfOwn(&self.session))).await {
                Ok(link) => self.linked(link),
                Err(error) => tracing::debug!(%error, "PostgreSQL is not reachable"),
            }
            return;
        };
        let answer = answered_within(POSTGRES_SILENCE, link.client.query_one(ledger::READ, &[]));
        match answer.await {
            Ok(row) => {
                // An error is reported to the watcher of the store's end, and to every write.
                if let Ok(found) = Ledger::from_row(&row) {
                    let _ = self.history.found(&found);
                }
                self.save_history().await;
            }
            Err(error) => {
                tracing::warn!(%error, "the writing connection to PostgreSQL is lost");
                self.link = None;
            }
        }
    }

    pub(crate) fn ended(&self) -> watch::Receiver<Option<StoreError>> {
        self.history.ended()
    }

    async fn save_history(&mut self) {
        if let Some(unsaved) = self.history.unsaved() {
            // An aborted task ends with its runtime.
            let commits = tokio::task::spawn_blocking(|| unsaved.write()).await;
            self.history.saved(commits.ok().flatten());
        }
    }

    async fn write(&mut self, requests: Vec<Request>) {
        match self.transact(&requests).await {
            Ok(written) => batch::answer(requests, written),
            // Each request alone would get the same error.
            Err(error) if requests.len() == 1 || !is_of_one_request(&error) => {
                for request in requests {
                    batch::fail(request, error.clone());
                }
            }
            Err(error) => {
                tracing::debug!(%error, requests = requests.len(), "undone, each is tried alone");
                for request in requests {
                    match self.transact(std::slice::from_ref(&request)).await {
                        Ok(written) => batch::answer(vec![request], written),
                        Err(error) => batch::fail(request, error),
                    }
                }
            }
        }
    }

    /// Writes all requests in one transaction, over as many connections as necessary.
    async fn transact(&mut self, requests: &[Request]) -> Result<Vec<Written>, StoreError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + self.patience;
        loop {
            self.history.check()?;
            self.connect(deadline).await?;
            let Some(link) = &mut self.link else { continue };
            match attempt(link, requests, &mut self.history).await {
                Ok(written) => return Ok(written),
                Err(Attempt::Refused(error)) => {
                    self.roll_back().await;
                    return Err(error);
                }
                Err(Attempt::Lost(error)) => {
                    tracing::warn!(%error, "a transaction was lost with its connection; repeated");
                    self.lost(errors::from_session(error), deadline).await?;
                }
                Err(Attempt::InDoubt {
                    error,
                    commits,
                    written,
                }) => {
                    self.link = None;
                    self.history.doubt(commits);
                    if self
                        .took_place(commits, deadline)
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
    async fn lost(&mut self, error: StoreError, deadline: Instant) -> Result<(), StoreError> {
        self.link = None;
        if Instant::now() >= deadline {
            return Err(error);
        }
        tokio::time::sleep(POSTGRES_RETRY).await;
        Ok(())
    }

    async fn roll_back(&mut self) {
        if let Some(link) = &self.link
            && answered(link.client.batch_execute("ROLLBACK"))
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
            self.linked(link);
        }
        Ok(())
    }

    fn linked(&mut self, link: Link) {
        self.session = link.id.clone();
        self.link = Some(link);
    }

    async fn reconnect(&mut self, deadline: Instant) -> Result<Link, StoreError> {
        loop {
            let error = match Box::pin(Link::open(&self.connector, Successor::OfOwn(&self.session)))
                .await
            {
                Ok(link) => return Ok(link),
                Err(LinkError::Held(holder))
                    if holder.epoch.is_some_and(|now| now > self.history.epoch()) =>
                {
                    self.history.end(StoreError::Superseded);
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
    async fn took_place(&mut self, commits: i64, deadline: Instant) -> Result<bool, StoreError> {
        loop {
            self.connect(deadline).await?;
            let Some(link) = &self.link else { continue };
            let row = answered(link.client.query_one(ledger::READ, &[])).await;
            let ledger = match row.map_err(errors::from_session) {
                Ok(row) => Ledger::from_row(&row)?,
                Err(error @ StoreError::Unavailable(_)) => {
                    self.lost(error, deadline).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.history.found(&ledger)?;
            if ledger.commits < commits {
                return Ok(false);
            }
            self.history.committed(ledger);
            return Ok(true);
        }
    }
}

/// True if another request of the batch may still succeed.
fn is_of_one_request(error: &StoreError) -> bool {
    !error.is_end()
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
) -> Result<(History, Option<OlderHistory>), OpenStoreError> {
    let refused = |error| LinkError::Connect(error).opening(place);
    let unreadable = |error| super::connect::engine(place, error);
    let row = answered(client.query_one(ledger::IDENTITY, &[])).await;
    let identity: String = row.map_err(refused)?.try_get(0).map_err(unreadable)?;
    let row = answered(client.query_one(ledger::READ, &[])).await;
    let found = Ledger::from_row(&row.map_err(refused)?);
    let found = found.map_err(|error| super::connect::engine(place, error))?;
    let file = settings.history.as_deref();
    let older = History::open(file, place, &identity, &found)?;
    if let Some(older) = older.clone().filter(|_| !settings.older_history) {
        return Err(OpenStoreError::HistoryWentBack(Box::new(older)));
    }
    let above = older.as_ref().map_or(0, |older| older.known.epoch);
    let row = answered(client.query_one(ledger::NEW_EPOCH, &[&above])).await;
    let begun = Ledger::from_row(&row.map_err(refused)?);
    let begun = begun.map_err(|error| super::connect::engine(place, error))?;
    let history = History::of_epoch(settings.history.clone(), identity, begun, older.as_ref());
    Ok((history, older))
}

async fn attempt(
    link: &mut Link,
    requests: &[Request],
    history: &mut History,
) -> Result<Vec<Written>, Attempt> {
    answered(link.client.batch_execute("BEGIN")).await?;
    let statement = link.statement(ledger::BEGIN).await?;
    let row = answered(link.client.query_one(&statement, &[])).await?;
    let mut ledger = Ledger::from_row(&row).map_err(|error| Attempt::Refused(error.into()))?;
    history.begun(&ledger).map_err(Attempt::Refused)?;
    let plans = requests
        .iter()
        .map(|request| request.write.plan(&mut ledger))
        .collect::<Result<Vec<Plan<'_>>, StoreError>>()
        .map_err(Attempt::Refused)?;
    let steps: Vec<&Step<'_>> = plans.iter().flat_map(|plan| &plan.steps).collect();
    let mut rows = Vec::with_capacity(steps.len());
    for steps in steps.chunks(POSTGRES_PIPELINE) {
        pipeline(link, steps, &mut rows).await?;
    }
    let statement = link.statement(ledger::END).await?;
    let audit_hash = ledger.audit_hash.as_slice();
    answered(link.client.execute(
        &statement,
        &[&ledger.job, &ledger.event, &ledger.audit, &audit_hash],
    ))
    .await?;
    let mut rows = rows.as_slice();
    let mut written = Vec::with_capacity(plans.len());
    for plan in &plans {
        let (own, others) = rows.split_at(plan.steps.len());
        written.push(plan.written(own));
        rows = others;
    }
    match answered(link.client.batch_execute("COMMIT")).await {
        Ok(()) => {
            history.committed(ledger);
            Ok(written)
        }
        Err(error) if error.is_lost() => Err(Attempt::InDoubt {
            error,
            commits: ledger.commits,
            written,
        }),
        Err(error) => Err(Attempt::Refused(errors::from_session(error))),
    }
}

type Pending<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

enum Sent<'a> {
    Done(Result<u64, Error>),
    Pending(Pending<'a>),
}

/// Sends the steps in order without waiting in between, and reads the answers afterwards.
async fn pipeline(
    link: &mut Link,
    steps: &[&Step<'_>],
    rows: &mut Vec<u64>,
) -> Result<(), SessionError> {
    let mut statements = Vec::with_capacity(steps.len());
    for step in steps {
        statements.push(link.statement(step.sql).await?);
    }
    let client = &link.client;
    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(steps.len());
    for (step, statement) in steps.iter().zip(&statements) {
        let mut answer: Pending<'_> = Box::pin(client.execute_raw(statement, step.values.iter()));
        // The first poll sends the statement.
        sent.push(match poll!(&mut answer) {
            Poll::Ready(done) => Sent::Done(done),
            Poll::Pending => Sent::Pending(answer),
        });
    }
    let mut first_error = None;
    for answer in sent {
        let done = match answer {
            Sent::Done(done) => done.map_err(SessionError::from),
            Sent::Pending(answer) => answered(answer).await,
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

impl From<SessionError> for Attempt {
    fn from(error: SessionError) -> Self {
        if error.is_lost() {
            Self::Lost(error)
        } else {
            Self::Refused(errors::from_session(error))
        }
    }
}
