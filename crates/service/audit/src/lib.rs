//! The audit log: actors, actions, objects and results, in entries that are chained by hashes.
//!
//! [`Audit`] is the handle for writing, [`verify_store`] checks the chain. Invariants: no command
//! is executed before its entry is durable ([`Audit::intent`]), and if the entry cannot be written
//! the command is not executed at all; every command gets a second entry with its result; a refusal
//! gets one; and the log contains no secrets.
//!
//! The chain is made by the store's single writer, so entries of any number of callers follow each
//! other without a gap, on SQLite as on PostgreSQL.

mod action;
pub mod defaults;
mod error;
mod head;
mod head_watch;
mod intent;
mod metrics;
mod prune;
mod refusals;
mod stored_chain;
mod verify;
pub mod wire;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{AuditPosition, NewAudit, Store, now_ms};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use action::{ActorKind, AuditActor, AuditObject, AuditOutcome, AuditedAction};
pub use error::{AuditError, HeadFileError};
pub use head::{ChainHead, HeadFileHeads, HexHash, InvalidHash};
pub use intent::AuditIntent;
pub use metrics::AuditMetrics;
pub use prune::prune;
pub use stored_chain::verify_store;
pub use verify::{ChainFault, ChainReport, ChainVerifier, ExpectedChain};

use crate::action::AuditPhase;
use crate::defaults::SHUTDOWN;
use crate::refusals::RefusalCounter;
use crate::writer::{AuditWriter, ResultQueue};

/// Settings of the audit.
#[derive(Clone, Debug, Default)]
pub struct AuditConfig {
    /// File for the head of the chain, beside the database; `None` to keep no such file.
    pub head_file: Option<PathBuf>,
    /// Retention time of entries; `None` to keep them forever.
    pub keep: Option<Duration>,
}

/// The handle that writes the audit log. Clones share it.
#[derive(Clone, Debug)]
pub struct Audit {
    inner: Arc<AuditState>,
}

#[derive(Debug)]
struct AuditState {
    store: Store,
    results: ResultQueue,
    head_file: Option<PathBuf>,
    metrics: Arc<AuditMetrics>,
    floods: Arc<Mutex<RefusalCounter>>,
    /// Tasks that are writing intents.
    tasks: TaskTracker,
    stop: CancellationToken,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl Audit {
    /// Starts the audit. A chain that was changed while no server ran is reported in the log and
    /// as an entry; the server starts nevertheless.
    pub async fn open(store: Store, config: AuditConfig) -> Self {
        let written = match &config.head_file {
            Some(path) => match Box::pin(head_watch::compare_head(&store, path)).await {
                Ok(written) => written,
                Err(error) => {
                    let error = error_causes::chain(&error);
                    tracing::error!(%error, "cannot compare the audit chain with its head");
                    None
                }
            },
            None => None,
        };
        let (results, waiting) = ResultQueue::new();
        let (floods, stop) = (Arc::default(), CancellationToken::new());
        let metrics = Arc::<AuditMetrics>::default();
        let head_file = config.head_file.clone();
        let writer = AuditWriter {
            store: store.clone(),
            floods: Arc::clone(&floods),
            metrics: Arc::clone(&metrics),
            head_file: config.head_file,
            keep: config.keep,
            stop: stop.clone(),
            written,
        };
        let writing = tokio::spawn(writer::run(writer, waiting));
        Self {
            inner: Arc::new(AuditState {
                store,
                results,
                head_file,
                metrics,
                floods,
                tasks: TaskTracker::new(),
                stop,
                writing: Mutex::new(Some(writing)),
            }),
        }
    }

    /// Announces a command: when this returns, the entry is durable and the command may be
    /// executed. After an error it must not be.
    pub async fn intent(&self, act: AuditedAction) -> Result<AuditIntent, AuditError> {
        let audit = self.clone();
        // A separate task: if the caller is cancelled while the entry is written, the intent is
        // dropped there, which records the abort.
        let announced = self.inner.tasks.spawn(async move {
            let entry = act.to_entry(AuditPhase::Intent, &AuditOutcome::default(), now_ms());
            let mark = audit.append(entry).await?;
            Ok(AuditIntent::new(mark.seq, act, audit.inner.results.clone()))
        });
        let closed = |_| Err(AuditError::Write(store::StoreError::Closed));
        announced.await.unwrap_or_else(closed)
    }

    /// Records an event durably before it returns: an action of the server itself, such as a
    /// schedule that starts a job, or a certificate that is signed.
    pub async fn record(
        &self,
        act: &AuditedAction,
        outcome: &AuditOutcome,
    ) -> Result<AuditPosition, AuditError> {
        let entry = act.to_entry(AuditPhase::Event, outcome, now_ms());
        self.append(entry).await
    }

    /// Records a successful login durably before it returns. The token must not leave the server
    /// before that.
    pub async fn record_login(
        &self,
        act: &AuditedAction,
        outcome: &AuditOutcome,
    ) -> Result<AuditPosition, AuditError> {
        let entry = act.to_entry(AuditPhase::Login, outcome, now_ms());
        self.append(entry).await
    }

    /// Records a refused request. The first of its kind in a minute is durable when this returns;
    /// the others are counted.
    pub async fn record_refusal(&self, act: &AuditedAction, outcome: &AuditOutcome) {
        let entry = act.to_entry(AuditPhase::Denied, outcome, now_ms());
        let first = self
            .inner
            .floods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .count_refusal(&entry);
        if first && let Err(error) = self.append(entry).await {
            // The request is refused anyway, so no action lacks an entry.
            tracing::error!(error = %error_causes::chain(&error), "a refusal is not in the audit");
        }
    }

    /// The heads in the files beside the database; `None` if no such file is configured.
    pub async fn read_head_file(&self) -> Result<Option<HeadFileHeads>, HeadFileError> {
        let Some(path) = self.inner.head_file.clone() else {
            return Ok(None);
        };
        head_watch::run_blocking(move || HeadFileHeads::read(&path))
            .await
            .map(Some)
    }

    /// Counters for export as metrics.
    pub fn metrics(&self) -> &AuditMetrics {
        &self.inner.metrics
    }

    /// Writes all pending entries, and stops. Must be called after the last command, before the
    /// store is closed.
    pub async fn shutdown(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.stop.cancel();
        let writing = self
            .inner
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut writing) = writing
            && tokio::time::timeout(SHUTDOWN, &mut writing).await.is_err()
        {
            tracing::error!("the last results could not be written into the audit in time");
            writing.abort();
        }
    }

    async fn append(&self, entry: NewAudit) -> Result<AuditPosition, AuditError> {
        let appended = self.inner.store.append_audit(vec![entry]).await;
        let counter = match &appended {
            Ok(_) => &self.inner.metrics.entries,
            Err(_) => &self.inner.metrics.failures,
        };
        counter.inc();
        let marks = appended.map_err(AuditError::Write)?;
        let mark = marks.first().copied();
        mark.ok_or(AuditError::Write(store::StoreError::Closed))
    }
}

impl Drop for AuditState {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
