//! The writer task.
//!
//! [`Writer`] gathers what waits into one transaction, as the SQLite writer does. The rules: one
//! request that cannot be written does not hurt its neighbours; and when the connection is lost
//! while the commit is under way, the count of commits in the ledger tells whether it took place,
//! since only this process writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_postgres::{Config, Error};

use super::connect::{Link, LinkError};
use super::{errors, migrate};
use crate::batch;
use crate::defaults::{POSTGRES_LOCK, POSTGRES_PIPELINE, POSTGRES_RETRY};
use crate::ledger::{self, Ledger};
use crate::request::{Message, Request};
use crate::step::Step;
use crate::value::FromRow;
use crate::write::{Plan, Written};
use crate::{OpenStoreError, StoreError};

pub(crate) struct Writer {
    config: Config,
    /// `None`: lost.
    link: Option<Link>,
    epoch: i64,
    patience: Duration,
}

/// Why one attempt at a transaction did not succeed.
enum Attempt {
    /// The database said no; nothing was kept.
    Refused(StoreError),
    /// The connection was lost before the commit was sent; nothing was kept.
    Lost(Error),
    /// The connection was lost after the commit was sent: number and results of the transaction.
    InDoubt {
        error: Error,
        commits: i64,
        written: Vec<Written>,
    },
}

// === impl Writer ===

impl Writer {
    pub(crate) async fn open(
        config: Config,
        place: &str,
        patience: Duration,
    ) -> Result<Self, OpenStoreError> {
        let mut link = Self::first_link(&config)
            .await
            .map_err(|error| error.opening(place))?;
        migrate::migrate(&mut link, place).await?;
        let engine = |error| LinkError::Connect(error).opening(place);
        let row = link
            .client
            .query_one(ledger::NEW_EPOCH, &[])
            .await
            .map_err(engine)?;
        let ledger =
            Ledger::from_row(&row).map_err(|error| super::connect::engine(place, error))?;
        Ok(Self {
            config,
            link: Some(link),
            epoch: ledger.epoch,
            patience,
        })
    }

    async fn first_link(config: &Config) -> Result<Link, LinkError> {
        let deadline = Instant::now() + POSTGRES_LOCK;
        loop {
            match Link::open(config).await {
                Err(LinkError::Held { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(POSTGRES_RETRY).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Writes until the store is closed or dropped.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        while let Some(first) = queue.recv().await {
            let batch = batch::fill(first, &mut queue);
            if batch.last {
                queue.close();
            }
            self.write(batch.requests).await;
        }
        if let Some(link) = self.link {
            link.close().await;
        }
    }

    async fn write(&mut self, requests: Vec<Request>) {
        match self.transact(&requests).await {
            Ok(written) => batch::answer(requests, written),
            // Each alone would meet the same.
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

    /// All requests in one transaction, over as many connections as it takes.
    async fn transact(&mut self, requests: &[Request]) -> Result<Vec<Written>, StoreError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + self.patience;
        loop {
            let epoch = self.epoch;
            let link = self.link(deadline).await?;
            match attempt(link, requests, epoch).await {
                Ok(written) => return Ok(written),
                Err(Attempt::Refused(error)) => {
                    self.roll_back().await;
                    return Err(error);
                }
                Err(Attempt::Lost(error)) => {
                    tracing::warn!(%error, "a transaction was lost with its connection; repeated");
                    self.lost(errors::from_engine(error), deadline).await?;
                }
                Err(Attempt::InDoubt {
                    error,
                    commits,
                    written,
                }) => {
                    self.link = None;
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

    /// Gives the connection up and lets some time pass, if there is any left. A server that crashes
    /// or that became a standby lets people in and then fails them.
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
            && link.client.batch_execute("ROLLBACK").await.is_err()
        {
            self.link = None;
        }
    }

    /// The connection, made anew if it was lost.
    async fn link(&mut self, deadline: Instant) -> Result<&mut Link, StoreError> {
        if self
            .link
            .as_ref()
            .is_some_and(|link| link.client.is_closed())
        {
            self.link = None;
        }
        let link = match self.link.take() {
            Some(link) => link,
            None => self.reconnect(deadline).await?,
        };
        Ok(self.link.insert(link))
    }

    async fn reconnect(&self, deadline: Instant) -> Result<Link, StoreError> {
        loop {
            let error = match Link::open(&self.config).await {
                Ok(link) => return Ok(link),
                Err(error) => error,
            };
            if Instant::now() >= deadline {
                return Err(StoreError::Unavailable(Arc::new(error)));
            }
            tracing::warn!(%error, "PostgreSQL is not reachable; tried again");
            tokio::time::sleep(POSTGRES_RETRY).await;
        }
    }

    /// Whether the transaction with this number was committed.
    async fn took_place(&mut self, commits: i64, deadline: Instant) -> Result<bool, StoreError> {
        loop {
            let link = self.link(deadline).await?;
            let row = link.client.query_one(ledger::READ, &[]).await;
            let ledger = match row.map_err(errors::from_engine) {
                Ok(row) => Ledger::from_row(&row)?,
                Err(error @ StoreError::Unavailable(_)) => {
                    self.lost(error, deadline).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if ledger.epoch != self.epoch {
                return Err(StoreError::Superseded);
            }
            return Ok(ledger.commits >= commits);
        }
    }
}

/// Whether another request of the batch may still succeed.
fn is_of_one_request(error: &StoreError) -> bool {
    !matches!(
        error,
        StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_) | StoreError::Superseded
    )
}

async fn attempt(
    link: &mut Link,
    requests: &[Request],
    epoch: i64,
) -> Result<Vec<Written>, Attempt> {
    link.client.batch_execute("BEGIN").await?;
    let statement = link.statement(ledger::BEGIN).await?;
    let row = link.client.query_one(&statement, &[]).await?;
    let mut ledger = Ledger::from_row(&row).map_err(|error| Attempt::Refused(error.into()))?;
    if ledger.epoch != epoch {
        return Err(Attempt::Refused(StoreError::Superseded));
    }
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
    link.client
        .execute(
            &statement,
            &[
                &ledger.job,
                &ledger.event,
                &ledger.audit,
                &ledger.audit_hash.as_slice(),
            ],
        )
        .await?;
    let mut rows = rows.as_slice();
    let mut written = Vec::with_capacity(plans.len());
    for plan in &plans {
        let (own, others) = rows.split_at(plan.steps.len());
        written.push(plan.written(own));
        rows = others;
    }
    match link.client.batch_execute("COMMIT").await {
        Ok(()) => Ok(written),
        Err(error) if errors::is_lost(&error) => Err(Attempt::InDoubt {
            error,
            commits: ledger.commits,
            written,
        }),
        Err(error) => Err(Attempt::Refused(errors::from_engine(error))),
    }
}

type Pending<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

enum Sent<'a> {
    Done(Result<u64, Error>),
    Pending(Pending<'a>),
}

/// Sends the steps in their order without waiting in between; reads the answers afterwards.
async fn pipeline(link: &mut Link, steps: &[&Step<'_>], rows: &mut Vec<u64>) -> Result<(), Error> {
    let mut statements = Vec::with_capacity(steps.len());
    for step in steps {
        statements.push(link.statement(step.sql).await?);
    }
    let client = &link.client;
    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(steps.len());
    for (step, statement) in steps.iter().zip(&statements) {
        let mut answer: Pending<'_> = Box::pin(client.execute_raw(statement, step.values.iter()));
        // The first poll sends.
        sent.push(match poll!(&mut answer) {
            Poll::Ready(done) => Sent::Done(done),
            Poll::Pending => Sent::Pending(answer),
        });
    }
    let mut first_error = None;
    for answer in sent {
        let done = match answer {
            Sent::Done(done) => done,
            Sent::Pending(answer) => answer.await,
        };
        match done {
            Ok(count) => rows.push(count),
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    first_error.map_or(Ok(()), Err)
}

impl From<Error> for Attempt {
    fn from(error: Error) -> Self {
        if errors::is_lost(&error) {
            Self::Lost(error)
        } else {
            Self::Refused(errors::from_engine(error))
        }
    }
}
