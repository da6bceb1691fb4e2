//! Garbage collection of old code versions, run in the background after deployments:
//! [`GarbageCollector`].
//!
//! Invariants: it begins when no deployment runs or waits, and stops between two files when one is
//! requested; an interrupted collection continues when the queue is empty again. It runs once for
//! any number of deployments. A requested collection runs completely, and deployments wait for it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use environments::EnvironmentName;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::perform::DeploymentTools;
use store::now_ms;

use super::blocking::run_blocking;
use super::error::DeploymentSubmitError;
use super::listeners::VersionsInUse;
use crate::defaults::{COLLECT_NOTES, COLLECT_SPARE};
use crate::deployer::Deployer;
use code_store::gc::{CollectedGarbage, GcOptions};
use code_store::low_priority::run_at_low_priority;
use code_store::version::VersionSignature;

/// Sends the result of a collection to its requester.
type CollectionReply = oneshot::Sender<Result<CollectedGarbage, DeploymentSubmitError>>;

/// Result of a finished collection.
pub(super) type CollectionResult = Result<CollectedGarbage, DeploymentSubmitError>;

/// Measured use of the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Time of the measurement, in milliseconds since 1970.
    pub counted_ms: i64,
    /// Size of all versions in bytes, each content counted once.
    pub versions_bytes: u64,
    /// Size of the copies of repositories in bytes; `None` if not measured yet.
    pub repositories_bytes: Option<u64>,
}

pub(super) struct GarbageCollector {
    in_use: Arc<dyn VersionsInUse>,
    /// True if there may be unused versions.
    is_requested: bool,
    /// Requests for a collection: true for a dry run, and the receiver of the result.
    requests: VecDeque<(bool, CollectionReply)>,
    /// The running collection; one at most.
    running: JoinSet<CollectionResult>,
    /// Receiver of the running collection's result; `None` if it is automatic and yields to
    /// deployments.
    reply: Option<CollectionReply>,
    is_dry: bool,
    cut: CancellationToken,
    /// Position from which the next collection continues.
    resume_at: u8,
    /// Time of the last collection that covered notes and copies of repositories.
    notes_collected_at: Option<Instant>,
    covers_notes: bool,
    /// The task that repacks copies of repositories.
    packing: JoinSet<()>,
    disk_use: watch::Sender<Option<DiskUse>>,
}

// === impl GarbageCollector ===

impl GarbageCollector {
    /// Creates a collector that collects once after the start, since the server may have been
    /// killed.
    pub(super) fn new(
        in_use: Arc<dyn VersionsInUse>,
        found: watch::Sender<Option<DiskUse>>,
    ) -> Self {
        Self {
            in_use,
            is_requested: true,
            requests: VecDeque::new(),
            running: JoinSet::new(),
            reply: None,
            is_dry: false,
            cut: CancellationToken::new(),
            resume_at: 0,
            notes_collected_at: None,
            covers_notes: false,
            packing: JoinSet::new(),
            disk_use: found,
        }
    }

    /// Requests an automatic collection, since another version is live and an old one may be
    /// unused.
    pub(super) fn request_automatic(&mut self) {
        self.is_requested = true;
    }

    pub(super) fn request(&mut self, dry_run: bool, reply: CollectionReply) {
        self.requests.push_back((dry_run, reply));
    }

    /// True if a collection is running, so that no deployment may begin.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// True if a collection was requested, so that deployments have to wait for it.
    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// True if a collection should run when nothing else does.
    pub(super) fn is_due(&self) -> bool {
        self.is_requested
    }

    /// Interrupts an automatic collection, since a deployment waits.
    pub(super) fn interrupt_automatic(&self) {
        if self.reply.is_none() {
            self.cut.cancel();
        }
    }

    /// Begins a collection, while no deployment runs. `queued`: versions that waiting deployments
    /// will make live.
    pub(super) fn begin(
        &mut self,
        tools: &DeploymentTools,
        queued: HashSet<(EnvironmentName, VersionSignature)>,
    ) {
        (self.is_dry, self.reply) = match self.requests.pop_front() {
            Some((dry_run, reply)) => (dry_run, Some(reply)),
            None => (false, None),
        };
        let is_asked = self.reply.is_some();
        let is_due = |at: Instant| at.elapsed() >= COLLECT_NOTES;
        self.covers_notes = is_asked || self.notes_collected_at.is_none_or(is_due);
        self.cut = CancellationToken::new();
        let kept = GcOptions {
            used: queued,
            keep: tools.deployer.retention(),
            spare: match is_asked {
                true => std::time::Duration::ZERO,
                false => COLLECT_SPARE,
            },
            dry_run: self.is_dry,
            first: self.resume_at,
            cut: self.cut.clone(),
        };
        let (tools, in_use) = (tools.clone(), Arc::clone(&self.in_use));
        self.running
            .spawn(collect(tools, in_use, kept, self.covers_notes));
    }

    /// Returns when a collection is over.
    pub(super) async fn next_finished(&mut self) -> Option<Result<CollectionResult, JoinError>> {
        self.running.join_next().await
    }

    /// Sends the result, and repacks copies of repositories unless the collection was interrupted.
    pub(super) fn finish(
        &mut self,
        ended: Result<CollectionResult, JoinError>,
        deployer: &Deployer,
    ) {
        let reply = self.reply.take();
        // Nothing aborts the task, and a panic was reported when it happened.
        let Ok(ended) = ended else {
            self.is_requested = false;
            return;
        };
        match &ended {
            Ok(collected) => self.record_result(collected),
            Err(error) if reply.is_none() => {
                self.is_requested = false;
                let error = error.to_message();
                tracing::warn!(error, "old versions are not removed");
            }
            Err(_) => {}
        }
        if let Some(reply) = reply {
            drop(reply.send(ended));
        }
        if !self.cut.is_cancelled() && self.packing.is_empty() {
            let deployer = deployer.clone();
            self.packing.spawn(async move { deployer.repack().await });
        }
    }

    fn record_result(&mut self, collected: &CollectedGarbage) {
        for (environment, version) in &collected.versions {
            let dry_run = self.is_dry;
            tracing::info!(%environment, %version, dry_run, "this version is not needed any more");
        }
        if self.is_dry {
            return;
        }
        self.resume_at = collected.cut_at.unwrap_or_default();
        if self.cut.is_cancelled() {
            return;
        }
        self.is_requested = false;
        if self.covers_notes {
            self.notes_collected_at = Some(Instant::now());
        }
        self.disk_use.send_modify(|found| {
            let before = found.as_ref().and_then(|it| it.repositories_bytes);
            *found = Some(DiskUse {
                counted_ms: now_ms(),
                versions_bytes: collected.left_bytes,
                repositories_bytes: collected.repositories_bytes.or(before),
            });
        });
    }

    /// Interrupts what can be interrupted, and waits for its end.
    pub(super) async fn shutdown(&mut self) {
        self.cut.cancel();
        self.packing.shutdown().await;
        while self.running.join_next().await.is_some() {}
    }
}

/// Determines the versions in use, and removes the rest. Determining them may be slow; it can be
/// interrupted too, so that waiting deployments are not delayed.
async fn collect(
    tools: DeploymentTools,
    in_use: Arc<dyn VersionsInUse>,
    mut kept: GcOptions,
    is_beside: bool,
) -> Result<CollectedGarbage, DeploymentSubmitError> {
    let cut = kept.cut.clone();
    let asking = Box::pin(versions_in_use(&tools, &*in_use));
    let Some(used) = cut.run_until_cancelled(asking).await else {
        return Ok(CollectedGarbage {
            cut_at: Some(kept.first),
            ..CollectedGarbage::default()
        });
    };
    kept.used.extend(used?);
    run_blocking(move || run_at_low_priority(|| Ok(tools.deployer.collect(&kept, is_beside)?)))
        .await
}

/// The versions that must stay, for plans, nodes and pins.
async fn versions_in_use(
    tools: &DeploymentTools,
    in_use: &dyn VersionsInUse,
) -> Result<HashSet<(EnvironmentName, VersionSignature)>, DeploymentSubmitError> {
    let mut used = in_use
        .versions()
        .await
        .map_err(DeploymentSubmitError::InUse)?;
    for pin in tools.store.code_pins().await? {
        if let (Ok(environment), Ok(signature)) = (pin.environment.parse(), pin.signature.parse()) {
            used.insert((environment, signature));
        }
    }
    Ok(used)
}
