//! Deletion of old jobs: a reconciler on a timer that can also be triggered.
//!
//! Invariant: only jobs that are over and older than the threshold go; a failure is logged and the
//! next round tries again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use store::{Clock, Store};
use tokio_util::sync::CancellationToken;

use crate::download;

pub(crate) struct JobPruner {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) after: Duration,
    pub(crate) every: Duration,
    /// Directory of files that plans downloaded; they are deleted with their plan jobs.
    pub(crate) downloads: Option<PathBuf>,
    pub(crate) stopped: CancellationToken,
}

impl JobPruner {
    pub(crate) async fn run(self) {
        loop {
            self.prune_once().await;
            tokio::select! {
                () = self.stopped.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
            }
        }
    }

    async fn prune_once(&self) {
        let after_ms = i64::try_from(self.after.as_millis()).unwrap_or(i64::MAX);
        let older_than_ms = self.clock.now_ms().saturating_sub(after_ms);
        match self.store.prune_jobs(older_than_ms).await {
            Ok(pruned) if pruned.jobs == 0 => {}
            Ok(pruned) => {
                let store::PrunedRows { jobs, runs, events } = pruned;
                tracing::info!(jobs, runs, events, "old jobs pruned");
            }
            Err(error) => tracing::warn!(%error, "cannot prune old jobs; tried again later"),
        }
        match self.store.prune_plan_jobs(older_than_ms).await {
            Ok(0) => {}
            Ok(plan_jobs) => tracing::info!(plan_jobs, "old plan jobs pruned"),
            Err(error) => tracing::warn!(%error, "cannot prune old plan jobs; tried again later"),
        }
        if let Some(root) = &self.downloads
            && let Err(error) = self.prune_downloads(root).await
        {
            tracing::warn!(%error, "cannot remove old downloads; tried again later");
        }
    }

    async fn prune_downloads(&self, root: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let place = root.to_owned();
        let found = tokio::task::spawn_blocking(move || download::list_plan_jobs(&place)).await??;
        for number in found {
            if self.store.plan_job(number).await?.is_none() {
                let place = root.to_owned();
                tokio::task::spawn_blocking(move || download::remove_plan_job(&place, number))
                    .await??;
            }
        }
        Ok(())
    }
}
