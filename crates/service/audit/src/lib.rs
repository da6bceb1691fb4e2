//! The audit log: actors, actions, objects and results, in entries that are chained by hashes.
//!
//! [`Audit`] is the handle for writing, [`verify`] checks the chain. Invariants: no command is
//! executed before its entry is durable ([`Audit::intent`]), and if the entry cannot be written
//! the command is not executed at all; every command gets a second entry with its result; a
//! refusal gets one; and the log contains no secrets.
//!
//! The chain is made by the store's single writer, so entries of any number of callers follow each
//! other without a gap, on SQLite as on PostgreSQL.

mod act;
pub mod defaults;
mod error;
mod floods;
mod head;
mod intent;
mod metrics;
mod prune;
mod verify;
mod walk;
mod watch;
pub mod wire;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{AuditMark, NewAudit, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use act::{Act, Actor, ActorKind, Object, Outcome};
pub use error::{AuditError, HeadFileError};
pub use head::{Head, HexHash, InvalidHash, KeptHeads};
pub use intent::Intent;
pub use metrics::Metrics;
pub use prune::prune;
pub use verify::{Expected, Fault, Report, Verifier};
pub use walk::verify;

use crate::act::Phase;
use crate::defaults::SHUTDOWN;
use crate::floods::Floods;
use crate::writer::{Results, Writer};

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
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    results: Results,
    head_file: Option<PathBuf>,
    metrics: Arc<Metrics>,
    floods: Arc<Mutex<Floods>>,
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
            Some(path) => match Box::pin(watch::check(&store, path)).await {
                Ok(written) => written,
                Err(error) => {
                    let error = error_causes::chain(&error);
                    tracing::error!(%error, "cannot compare the audit chain with its head");
                    None
                }
            },
            None => None,
        };
        let (results, waiting) = Results::new();
        let (floods, stop) = (Arc::default(), CancellationToken::new());
        let metrics = Arc::<Metrics>::default();
        let head_file = config.head_file.clone();
        let writer = Writer {
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
            inner: Arc::new(Inner {
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
    pub async fn intent(&self, act: Act) -> Result<Intent, AuditError> {
        let audit = self.clone();
        // A separate task: if the caller is cancelled while the entry is written, the intent is
        // dropped there, which records the abort.
        let announced = self.inner.tasks.spawn(async move {
            let entry = act.entry(Phase::Intent, &Outcome::default(), now_ms());
            let mark = audit.append(entry).await?;
            Ok(Intent::new(mark.seq, act, audit.inner.results.clone()))
        });
        let closed = |_| Err(AuditError::Write(store::StoreError::Closed));
        announced.await.unwrap_or_else(closed)
    }

    /// Records an event durably before it returns: an action of the server itself, such as a
    /// schedule that starts a job, or a certificate that is signed.
    pub async fn record(&self, act: &Act, outcome: &Outcome) -> Result<AuditMark, AuditError> {
        let entry = act.entry(Phase::Event, outcome, now_ms());
        self.append(entry).await
    }

    /// Records a successful login durably before it returns. The token must not leave the server
    /// before that.
    pub async fn login(&self, act: &Act, outcome: &Outcome) -> Result<AuditMark, AuditError> {
        let entry = act.entry(Phase::Login, outcome, now_ms());
        self.append(entry).await
    }

    /// Records a refused request. The first of its kind in a minute is durable when this returns;
    /// the others are counted.
    pub async fn refused(&self, act: &Act, outcome: &Outcome) {
        let entry = act.entry(Phase::Denied, outcome, now_ms());
        let first = self
            .inner
            .floods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .meet(&entry);
        if first && let Err(error) = self.append(entry).await {
            // The request is refused anyway, so no action lacks an entry.
            tracing::error!(error = %error_causes::chain(&error), "a refusal is not in the audit");
        }
    }

    /// The heads in the files beside the database; `None` if no such file is configured.
    pub async fn kept_heads(&self) -> Result<Option<KeptHeads>, HeadFileError> {
        let Some(path) = self.inner.head_file.clone() else {
            return Ok(None);
        };
        watch::blocking(move || KeptHeads::read(&path))
            .await
            .map(Some)
    }

    /// Counters for export as metrics.
    pub fn metrics(&self) -> &Metrics {
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

    async fn append(&self, entry: NewAudit) -> Result<AuditMark, AuditError> {
        let appended = self.inner.store.append_audit(vec![entry]).await;
        let counter = match &appended {
            Ok(_) => &self.inner.metrics.entries,
            Err(_) => &self.inner.metrics.failures,
        };
        metrics::count(counter, 1);
        let marks = appended.map_err(AuditError::Write)?;
        let mark = marks.first().copied();
        mark.ok_or(AuditError::Write(store::StoreError::Closed))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
