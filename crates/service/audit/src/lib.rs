//! Who did what, where, and what came of it: a log whose entries are chained by hashes.
//!
//! [`Audit`] is the handle that writes it, [`verify`] tells whether it is whole. The rules: no
//! command acts before its entry is durable ([`Audit::intent`]), and where that cannot be written
//! it does not act at all; every command gets a second entry with its result; a refusal gets one;
//! and nothing in it is a secret.
//!
//! The chain is made by the store's one writer, so entries of any number of callers follow each
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

/// What may be set.
#[derive(Clone, Debug, Default)]
pub struct AuditConfig {
    /// Where the head of the chain is kept beside the database; `None`: nowhere.
    pub head_file: Option<PathBuf>,
    /// Entries older than this are deleted; `None`: never.
    pub keep: Option<Duration>,
}

/// Writes the audit. Clones share it.
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
    /// Intents that are being written.
    tasks: TaskTracker,
    stop: CancellationToken,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl Audit {
    /// Starts. A chain that was changed while no server ran is told in the log and as an entry;
    /// the server starts all the same.
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

    /// Announces a command: when this returns, the entry is durable and the command may act. On
    /// an error it must not.
    pub async fn intent(&self, act: Act) -> Result<Intent, AuditError> {
        let audit = self.clone();
        // A task of its own: when the caller goes away while the entry is written, the intent is
        // dropped there, and says so.
        let announced = self.inner.tasks.spawn(async move {
            let entry = act.entry(Phase::Intent, &Outcome::default(), now_ms());
            let mark = audit.append(entry).await?;
            Ok(Intent::new(mark.seq, act, audit.inner.results.clone()))
        });
        let closed = |_| Err(AuditError::Write(store::StoreError::Closed));
        announced.await.unwrap_or_else(closed)
    }

    /// Something that happened, durable when this returns: what the server does by itself, such as
    /// a schedule that starts a job, or a certificate that is signed.
    pub async fn record(&self, act: &Act, outcome: &Outcome) -> Result<AuditMark, AuditError> {
        let entry = act.entry(Phase::Event, outcome, now_ms());
        self.append(entry).await
    }

    /// A login that succeeded, durable when this returns: before that the token must not leave
    /// the server.
    pub async fn login(&self, act: &Act, outcome: &Outcome) -> Result<AuditMark, AuditError> {
        let entry = act.entry(Phase::Login, outcome, now_ms());
        self.append(entry).await
    }

    /// A request that was refused. The first of its kind in a minute is durable when this
    /// returns, the others are counted.
    pub async fn refused(&self, act: &Act, outcome: &Outcome) {
        let entry = act.entry(Phase::Denied, outcome, now_ms());
        let first = self
            .inner
            .floods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .meet(&entry);
        if first && let Err(error) = self.append(entry).await {
            // It was refused already, so nothing is done without an entry.
            tracing::error!(error = %error_causes::chain(&error), "a refusal is not in the audit");
        }
    }

    /// The heads that are kept beside the database; `None`: none are kept.
    pub async fn kept_heads(&self) -> Result<Option<KeptHeads>, HeadFileError> {
        let Some(path) = self.inner.head_file.clone() else {
            return Ok(None);
        };
        watch::blocking(move || KeptHeads::read(&path))
            .await
            .map(Some)
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Writes what is not written yet, and ends. To be called after the last command, before the
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
