//! State of the engine: [`Engine`], and the [`Parts`] that it is made of.
//!
//! The files beside this one are its work, one concern each; they use this state and not each
//! other's types.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use fabric::Fabric;
use jiff::Timestamp;
use pki::seal::SealKey;
use pxp::TransactionId;
use store::{Store, StoreError};
use telemetry::Tracer;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::book::Book;
use super::doubt::{Doubt, Resolved};
use super::draft::Inserted;
use super::hearing::Hearing;
use super::late_outcomes::{LateOutcomes, Looked};
use super::ledger::{Committed, Ledger};
use super::outgoing::HandedOver;
use super::parked::Parked;
use crate::ask::Asks;
use crate::clock::Clock;
use crate::file_server::FileServer;
use crate::flight::Patience;
use crate::keys::{JobKey, RunKey};
use crate::live::Taken;
use crate::metrics::Metrics;
use crate::outcome::Shaped;
use crate::resolve::Resolve;
use crate::returning_nodes::ReturningNodes;
use crate::running_jobs::RunningJobs;
use crate::scheduler::Scheduler;
use crate::withdrawals::Withdrawals;

/// The engine's dependencies.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) fabric: Fabric,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: Arc<SealKey>,
    pub(crate) asks: Arc<Asks>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) patience: Patience,
    pub(crate) task_concurrency: usize,
    pub(crate) global_concurrent_compiles: usize,
    pub(crate) resolve: Arc<dyn Resolve>,
    pub(crate) console_url: Option<String>,
    pub(crate) file_server: Option<FileServer>,
    pub(crate) reconnect_grace: Duration,
    pub(crate) away_grace: Duration,
    pub(crate) tick: Duration,
    /// Channel for the feeds of readers.
    pub(crate) reports: mpsc::Sender<Taken>,
    /// Start times of running jobs.
    pub(crate) running: Arc<RunningJobs>,
    /// Counts the jobs of Puppet runs that are over.
    pub(crate) puppet_over: watch::Sender<u64>,
    pub(crate) withdrawals: Withdrawals,
    pub(crate) tracer: Tracer,
    pub(crate) stopped: CancellationToken,
    /// Nodes that were connected before the start.
    pub(crate) returning: Arc<ReturningNodes>,
}

pub(crate) struct Engine {
    pub(super) parts: Parts,
    pub(super) book: Book,
    pub(super) scheduler: Scheduler<JobKey>,
    pub(super) ledger: Ledger,
    pub(super) late: LateOutcomes,
    pub(super) hearing: Hearing,
    /// Reason that the store is lost to this engine, which then ends.
    pub(super) lost: Option<StoreError>,
    pub(super) next_key: u64,
    /// Runs that wait for their nodes.
    pub(super) parked: Parked,
    /// Ends of the pauses between batches.
    pub(super) pauses: BTreeSet<(Instant, JobKey)>,
    /// Time until which nodes connected before the start may come back; counted from when the
    /// engine starts to run.
    pub(super) recovering_until: Instant,
    /// Start of the engine.
    pub(super) started_at: Timestamp,
    pub(super) inserting: JoinSet<Inserted>,
    /// Jobs whose caller is being notified that they may be stored.
    pub(super) withdrawing: JoinSet<Doubt>,
    /// Withdrawn jobs that are being looked up in the store.
    pub(super) resolving: JoinSet<Resolved>,
    /// Withdrawn jobs that were stored, and are being ended, with the transaction under which they
    /// are recorded.
    pub(super) being_withdrawn: HashMap<JobKey, TransactionId>,
    pub(super) committing: JoinSet<Committed>,
    pub(super) sending: JoinSet<Vec<HandedOver>>,
    pub(super) shaping: JoinSet<ShapedOutcome>,
    /// Outcomes of Puppet runs whose reports are being looked up; as many as there are slots.
    pub(super) reporting: JoinSet<ShapedOutcome>,
    pub(super) looking: JoinSet<Looked>,
}

/// An outcome that was read on a blocking thread.
pub(super) struct ShapedOutcome {
    pub(super) run: RunKey,
    pub(super) shaped: Shaped,
}

// === impl Engine ===

impl Engine {
    pub(crate) fn new(parts: Parts) -> Self {
        let scheduler = Scheduler::new(parts.task_concurrency, parts.global_concurrent_compiles);
        Self {
            parts,
            book: Book::default(),
            scheduler,
            ledger: Ledger::default(),
            late: LateOutcomes::default(),
            hearing: Hearing::default(),
            lost: None,
            next_key: 0,
            parked: Parked::default(),
            pauses: BTreeSet::new(),
            recovering_until: Instant::now(),
            started_at: Timestamp::now(),
            inserting: JoinSet::new(),
            withdrawing: JoinSet::new(),
            resolving: JoinSet::new(),
            being_withdrawn: HashMap::new(),
            committing: JoinSet::new(),
            sending: JoinSet::new(),
            shaping: JoinSet::new(),
            reporting: JoinSet::new(),
            looking: JoinSet::new(),
        }
    }
}
