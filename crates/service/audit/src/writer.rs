//! Background writes: results, counted refusals, the head beside the database, and prunes. Main
//! function: [`run`].
//!
//! Invariant: a result that cannot be written is kept and tried again until it succeeds or the
//! server stops; then the number of lost results is logged.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{NewAudit, Store};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::defaults::{FLOOD_WINDOW, HEAD_WRITTEN, PRUNE_EVERY, RESULTS, RESULTS_TOGETHER, RETRY};
use crate::head::ChainHead;
use crate::metrics::AuditMetrics;
use crate::refusals::RefusalCounter;
use crate::{head_watch, prune};

/// The queue of results for the writer.
#[derive(Clone, Debug)]
pub(crate) struct ResultQueue(mpsc::Sender<NewAudit>);

/// State of the background writer.
pub(crate) struct AuditWriter {
    pub(crate) store: Store,
    pub(crate) floods: Arc<Mutex<RefusalCounter>>,
    pub(crate) metrics: Arc<AuditMetrics>,
    pub(crate) head_file: Option<PathBuf>,
    pub(crate) keep: Option<Duration>,
    pub(crate) stop: CancellationToken,
    /// The head in the file.
    pub(crate) written: Option<ChainHead>,
}

// === impl ResultQueue ===

impl ResultQueue {
    pub(crate) fn new() -> (Self, mpsc::Receiver<NewAudit>) {
        let (sender, receiver) = mpsc::channel(RESULTS);
        (Self(sender), receiver)
    }

    pub(crate) async fn send(&self, entry: NewAudit) {
        if let Err(mpsc::error::SendError(entry)) = self.0.send(entry).await {
            log_lost_entry(&entry, "the server has ended");
        }
    }

    pub(crate) fn try_send(&self, entry: NewAudit) {
        if let Err(error) = self.0.try_send(entry) {
            log_lost_entry(&error.into_inner(), "too many others wait");
        }
    }
}

fn log_lost_entry(entry: &NewAudit, why: &str) {
    let (intent, action) = (entry.intent, &entry.action);
    tracing::error!(
        intent,
        action,
        "the result of a command is not in the audit: {why}"
    );
}

// === impl AuditWriter ===

/// Writes entries until it is stopped.
pub(crate) async fn run(mut writer: AuditWriter, mut results: mpsc::Receiver<NewAudit>) {
    let mut window = every(FLOOD_WINDOW);
    let mut head = every(HEAD_WRITTEN);
    let mut old = every(PRUNE_EVERY);
    let mut waiting = Vec::with_capacity(RESULTS_TOGETHER);
    let stop = writer.stop.clone();
    loop {
        tokio::select! {
            count = results.recv_many(&mut waiting, RESULTS_TOGETHER) => {
                if count == 0 {
                    break;
                }
                writer.append(&mut waiting).await;
            }
            () = stop.cancelled() => results.close(),
            _ = window.tick() => writer.end_window().await,
            _ = head.tick() => writer.write_head().await,
            _ = old.tick() => writer.prune().await,
        }
    }
    writer.end_window().await;
    writer.write_head().await;
}

fn every(period: Duration) -> Interval {
    let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl AuditWriter {
    /// Appends all entries, with retries until it succeeds or the server stops.
    async fn append(&self, entries: &mut Vec<NewAudit>) {
        let entries = std::mem::take(entries);
        loop {
            let Err(error) = self.store.append_audit(entries.clone()).await else {
                self.metrics.entries.inc_by(entries.len() as u64);
                return;
            };
            self.metrics.failures.inc();
            let count = entries.len();
            tracing::error!(%error, count, "cannot write entries of the audit");
            if self.stop.is_cancelled() {
                entries
                    .iter()
                    .for_each(|entry| log_lost_entry(entry, "it could not be written"));
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn end_window(&self) {
        let mut entries = self
            .floods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .end_window();
        if !entries.is_empty() {
            self.append(&mut entries).await;
        }
    }

    async fn write_head(&mut self) {
        let Some(path) = self.head_file.clone() else {
            return;
        };
        match head_watch::update_head(&self.store, &path, self.written).await {
            Ok(head) => self.written = Some(head),
            Err(error) => tracing::error!(
                error = %error_causes::chain(&error),
                "cannot write the head of the audit chain beside the database"
            ),
        }
    }

    async fn prune(&self) {
        let Some(keep) = self.keep else { return };
        match prune::prune(&self.store, keep).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "old entries of the audit were deleted"),
            Err(error) => tracing::warn!(%error, "cannot delete old entries of the audit"),
        }
    }
}
