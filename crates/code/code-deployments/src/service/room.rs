//! Room on the disk by itself, after deployments: [`Room`].
//!
//! The rules that must hold: it begins when nothing is deployed and nothing waits, and gives way to whatever is
//! asked for then, between two files; what was cut off goes on when it is quiet again. However many deployments
//! there were, it is done once. Who asks for it gets all of it, and deployments wait.

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

/// Who asked, and gets what went.
type Reply = oneshot::Sender<Result<CollectedGarbage, SubmitError>>;

/// A collection that is over.
pub(super) type Ended = Result<CollectedGarbage, SubmitError>;

/// What the disk was found to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// When that was, in milliseconds since 1970.
    pub counted_ms: i64,
    /// What versions take: each content once.
    pub versions_bytes: u64,
    /// What copies of repositories take; `None`: they were not counted yet.
    pub repositories_bytes: Option<u64>,
}

pub(super) struct Room {
    in_use: Arc<dyn InUse>,
    /// Whether there may be something that nobody needs.
    is_wanted: bool,
    /// Who asked, and whether only for what would go.
    asked: VecDeque<(bool, Reply)>,
    /// One at the most.
    running: JoinSet<Ended>,
    /// Who waits for that one; `None`: it is for nobody, and gives way.
    reply: Option<Reply>,
    is_dry: bool,
    cut: CancellationToken,
    /// Where the next one goes on.
    first: u8,
    /// When notes and copies of repositories were looked at last.
    looked_beside: Option<Instant>,
    is_beside: bool,
    /// Copies of repositories are packed.
    packing: JoinSet<()>,
    found: watch::Sender<Option<DiskUse>>,
}

// === impl Room ===

impl Room {
    /// It looks once after a start: it may have been killed.
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

    /// Another version is live: there may be one too many.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(super) fn ask(&mut self, dry_run: bool, reply: Reply) {
        self.asked.push_back((dry_run, reply));
    }

    /// Whether deployments may not begin.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether somebody waits for it, and deployments are to let him.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether it is to be done when nothing else is.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// A deployment waits.
    pub(super) fn give_way(&self) {
        if self.reply.is_none() {
            self.cut.cancel();
        }
    }

    /// Begins, while nothing is deployed. `queued`: versions that what waits will make live.
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

    /// Comes back when one is over.
    pub(super) async fn ended(&mut self) -> Option<Result<Ended, JoinError>> {
        self.running.join_next().await
    }

    /// Tells what went, and packs copies of repositories if nothing waits for this.
    pub(super) fn end(&mut self, ended: Result<Ended, JoinError>, deployer: &Deployer) {
        let reply = self.reply.take();
        // Nothing aborts it, and a panic was told when it happened.
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

    /// Ends what can be cut off, and waits for it.
    pub(super) async fn shutdown(&mut self) {
        self.cut.cancel();
        self.packing.shutdown().await;
        while self.running.join_next().await.is_some() {}
    }
}

/// Asks what is in use, and removes the rest. Who answers may be away for a while, and keeps nobody waiting whom
/// this gives way to.
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

/// What must stay: of plans, of nodes, and of pins.
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
