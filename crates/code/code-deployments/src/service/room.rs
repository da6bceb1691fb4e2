//! Garbage collection of old code versions, run in the background after deployments: [`Room`].
//!
//! Invariants: it begins when no deployment runs or waits, and stops between two files when one is requested; an
//! interrupted collection continues when the queue is empty again. It runs once for any number of deployments. A
//! requested collection runs completely, and deployments wait for it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use environments::EnvironmentName;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::perform::Tools;
use store::now_ms;

use super::blocking::blocking;
use super::error::SubmitError;
use super::listeners::InUse;
use crate::defaults::{COLLECT_NOTES, COLLECT_SPARE};
use crate::deployer::Deployer;
use code_store::gc::{CollectOptions, CollectedGarbage};
use code_store::version::VersionSignature;

/// Sends the result of a collection to its requester.
type Reply = oneshot::Sender<Result<CollectedGarbage, SubmitError>>;

/// Result of a finished collection.
pub(super) type Ended = Result<CollectedGarbage, SubmitError>;

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

pub(super) struct Room {
    in_use: Arc<dyn InUse>,
    /// True if there may be unused versions.
    is_wanted: bool,
    /// Requests for a collection: true for a dry run, and the receiver of the result.
    asked: VecDeque<(bool, Reply)>,
    /// The running collection; one at most.
    running: JoinSet<Ended>,
    /// Receiver of the running collection's result; `None` if it is automatic and yields to deployments.
    reply: Option<Reply>,
    is_dry: bool,
    cut: CancellationToken,
    /// Position from which the next collection continues.
    first: u8,
    /// Time of the last collection that covered notes and copies of repositories.
    looked_beside: Option<Instant>,
    is_beside: bool,
    /// The task that repacks copies of repositories.
    packing: JoinSet<()>,
    found: watch::Sender<Option<DiskUse>>,
}

// === impl Room ===

impl Room {
    /// Collects once after a start, since the server may have been killed.
    pub(super) fn new(in_use: Arc<dyn InUse>, found: watch::Sender<Option<DiskUse>>) -> Self {
        Self {
            in_use,
            is_wanted: true,
            asked: VecDeque::new(),
            running: JoinSet::new(),
            reply: None,
            is_dry: false,
            cut: CancellationToken::new(),
            first: 0,
            looked_beside: None,
            is_beside: false,
            packing: JoinSet::new(),
            found,
        }
    }

    /// Requests an automatic collection, since another version is live and an old one may be unused.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(super) fn ask(&mut self, dry_run: bool, reply: Reply) {
        self.asked.push_back((dry_run, reply));
    }

    /// True if a collection is running, so that no deployment may begin.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// True if a collection was requested, so that deployments have to wait for it.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// True if a collection should run when nothing else does.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Interrupts an automatic collection, since a deployment waits.
    pub(super) fn give_way(&self) {
        if self.reply.is_none() {
            self.cut.cancel();
        }
    }

    /// Begins a collection, while no deployment runs. `queued`: versions that waiting deployments will make live.
    pub(super) fn begin(
        &mut self,
        tools: &Tools,
        queued: HashSet<(EnvironmentName, VersionSignature)>,
    ) {
        (self.is_dry, self.reply) = match self.asked.pop_front() {
            Some((dry_run, reply)) => (dry_run, Some(reply)),
            None => (false, None),
        };
        let is_asked = self.reply.is_some();
        let is_due = |at: Instant| at.elapsed() >= COLLECT_NOTES;
        self.is_beside = is_asked || self.looked_beside.is_none_or(is_due);
        self.cut = CancellationToken::new();
        let kept = CollectOptions {
            used: queued,
            keep: tools.deployer.keep(),
            spare: match is_asked {
                true => std::time::Duration::ZERO,
                false => COLLECT_SPARE,
            },
            dry_run: self.is_dry,
            first: self.first,
            cut: self.cut.clone(),
        };
        let (tools, in_use) = (tools.clone(), Arc::clone(&self.in_use));
        self.running
            .spawn(collect(tools, in_use, kept, self.is_beside));
    }

    /// Returns when a collection is over.
    pub(super) async fn ended(&mut self) -> Option<Result<Ended, JoinError>> {
        self.running.join_next().await
    }

    /// Sends the result, and repacks copies of repositories unless the collection was interrupted.
    pub(super) fn end(&mut self, ended: Result<Ended, JoinError>, deployer: &Deployer) {
        let reply = self.reply.take();
        // Nothing aborts the task, and a panic was reported when it happened.
        let Ok(ended) = ended else {
            self.is_wanted = false;
            return;
        };
        match &ended {
            Ok(collected) => self.note(collected),
            Err(error) if reply.is_none() => {
                self.is_wanted = false;
                let error = error.said();
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

    fn note(&mut self, collected: &CollectedGarbage) {
        for (environment, version) in &collected.versions {
            let dry_run = self.is_dry;
            tracing::info!(%environment, %version, dry_run, "nobody needs this version any more");
        }
        if self.is_dry {
            return;
        }
        self.first = collected.cut_at.unwrap_or_default();
        if self.cut.is_cancelled() {
            return;
        }
        self.is_wanted = false;
        if self.is_beside {
            self.looked_beside = Some(Instant::now());
        }
        self.found.send_modify(|found| {
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

/// Determines the versions in use, and removes the rest. The sources of that information may be slow, which does
/// not delay the deployments that this yields to.
async fn collect(
    tools: Tools,
    in_use: Arc<dyn InUse>,
    mut kept: CollectOptions,
    is_beside: bool,
) -> Result<CollectedGarbage, SubmitError> {
    let cut = kept.cut.clone();
    let asking = Box::pin(used(&tools, &*in_use));
    let Some(used) = cut.run_until_cancelled(asking).await else {
        return Ok(CollectedGarbage {
            cut_at: Some(kept.first),
            ..CollectedGarbage::default()
        });
    };
    kept.used.extend(used?);
    blocking(move || Ok(tools.deployer.collect(&kept, is_beside)?)).await
}

/// The versions that must stay, for plans, nodes and pins.
async fn used(
    tools: &Tools,
    in_use: &dyn InUse,
) -> Result<HashSet<(EnvironmentName, VersionSignature)>, SubmitError> {
    let mut used = in_use.versions().await.map_err(SubmitError::InUse)?;
    for pin in tools.store.code_pins().await? {
        if let (Ok(environment), Ok(signature)) = (pin.environment.parse(), pin.signature.parse()) {
            used.insert((environment, signature));
        }
    }
    Ok(used)
}
