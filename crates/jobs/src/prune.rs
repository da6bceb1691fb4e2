//! Deleting old jobs: a reconciler on a timer, with a nudge.
//!
//! The rule: only jobs that are over and older than the threshold go; a failure is logged and the
//! next round tries again.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

pub(crate) struct Pruner {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) after: Duration,
    pub(crate) every: Duration,
    pub(crate) nudge: Arc<Notify>,
    pub(crate) stopped: CancellationToken,
}

impl Pruner {
    pub(crate) async fn run(self) {
        loop {
            self.round().await;
            tokio::select! {
                () = self.stopped.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
                () = self.nudge.notified() => {}
            }
        }
    }

    async fn round(&self) {
        let after_ms = i64::try_from(self.after.as_millis()).unwrap_or(i64::MAX);
        let older_than_ms = self.clock.now_ms().saturating_sub(after_ms);
        match self.store.prune_jobs(older_than_ms).await {
            Ok(pruned) if pruned.jobs == 0 => {}
            Ok(pruned) => {
                let store::Pruned { jobs, runs, events } = pruned;
                tracing::info!(jobs, runs, events, "old jobs pruned");
            }
            Err(error) => tracing::warn!(%error, "cannot prune old jobs; tried again later"),
        }
        match self.store.prune_plan_jobs(older_than_ms).await {
            Ok(0) => {}
            Ok(plan_jobs) => tracing::info!(plan_jobs, "old plan jobs pruned"),
            Err(error) => tracing::warn!(%error, "cannot prune old plan jobs; tried again later"),
        }
    }
}
