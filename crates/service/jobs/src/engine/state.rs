//! State of the engine: [`JobEngine`], and the [`EngineServices`] that it is made of.
//!
//! The files beside this one are its work, one concern each; they use this state and not each
//! other's types.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use environments::JobCatalogs;
use fabric::Fabric;
use jiff::Timestamp;
use pki::seal::SealKey;
use pxp::TransactionId;
use store::{Clock, Store, StoreError};
use telemetry::Tracer;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::active_jobs::ActiveJobs;
use super::awaiting_nodes::RunsAwaitingNodes;
use super::draft::JobInsertion;
use super::in_doubt::{InDoubtJob, InDoubtLookup};
use super::inbox_stall::InboxStall;
use super::late_outcomes::{LateOutcomes, OutcomeLookup};
use super::leases::RunsAwaitingLeases;
use super::ledger::{ChangeLedger, CompletedCommit};
use super::outgoing::RequestDelivery;
use crate::applications::ApplicationGraphs;
use crate::blocking_requests::BlockingRequests;
use crate::config::LeaseTimes;
use crate::file_server::FileServer;
use crate::in_flight::PollSettings;
use crate::keys::{JobKey, RunKey};
use crate::leases::JobLeases;
use crate::live::OutputTaken;
use crate::metrics::JobMetrics;
use crate::node_params_budget::NodeParamsBudget;
use crate::outcome::RunOutcome;
use crate::resolve::NodeResolver;
use crate::returning_nodes::ReturningNodes;
use crate::running_jobs::RunningJobs;
use crate::scheduler::SlotScheduler;
use crate::withdrawals::WithdrawnJobs;

/// The engine's dependencies.
pub(crate) struct EngineServices {
    pub(crate) store: Store,
    pub(crate) fabric: Fabric,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: Arc<SealKey>,
    pub(crate) blocking_requests: Arc<BlockingRequests>,
    pub(crate) metrics: Arc<JobMetrics>,
    pub(crate) poll_settings: PollSettings,
    pub(crate) task_concurrency: usize,
    pub(crate) global_concurrent_compiles: usize,
    pub(crate) resolve: Arc<dyn NodeResolver>,
    pub(crate) applications: Arc<dyn ApplicationGraphs>,
    pub(crate) console_url: Option<String>,
    pub(crate) file_server: Option<FileServer>,
    pub(crate) reconnect_grace: Duration,
    pub(crate) away_grace: Duration,
    pub(crate) leases: LeaseTimes,
    pub(crate) tick: Duration,
    /// Channel for the feeds of readers.
    pub(crate) reports: mpsc::Sender<OutputTaken>,
    /// Start times of running jobs.
    pub(crate) running: Arc<RunningJobs>,
    /// Counts the jobs of Puppet runs that are over.
    pub(crate) puppet_ends: watch::Sender<u64>,
    pub(crate) withdrawals: WithdrawnJobs,
    /// Memory for the parameters of single nodes.
    pub(crate) node_params: NodeParamsBudget,
    pub(crate) tracer: Tracer,
    /// Runs in flight whose jobs decide on their catalogs.
    pub(crate) job_catalogs: JobCatalogs,
    pub(crate) stopped: CancellationToken,
    /// Nodes that were connected before the start.
    pub(crate) returning: Arc<ReturningNodes>,
}

pub(crate) struct JobEngine {
    pub(super) deps: EngineServices,
    pub(super) active_jobs: ActiveJobs,
    pub(super) scheduler: SlotScheduler<JobKey>,
    pub(super) ledger: ChangeLedger,
    pub(super) late_outcomes: LateOutcomes,
    pub(super) inbox_stall: InboxStall,
    /// Leases of the nodes of ordered jobs.
    pub(super) leases: JobLeases,
    /// Runs of other jobs on these nodes.
    pub(super) awaiting_leases: RunsAwaitingLeases,
    /// Reason that the store is lost to this engine, which then ends.
    pub(super) lost: Option<StoreError>,
    pub(super) next_key: u64,
    /// Runs that wait for their nodes.
    pub(super) awaiting_nodes: RunsAwaitingNodes,
    /// Ends of the pauses between batches, and times of splayed runs: at most one of each job.
    pub(super) timed_starts: BTreeSet<(Instant, JobKey)>,
    /// Time until which nodes connected before the start may come back; counted from when the
    /// engine starts to run.
    pub(super) recovering_until: Instant,
    /// Start of the engine.
    pub(super) started_at: Timestamp,
    pub(super) inserting: JoinSet<JobInsertion>,
    /// Jobs whose caller is being notified that they may be stored.
    pub(super) withdrawing: JoinSet<InDoubtJob>,
    /// Withdrawn jobs that are being looked up in the store.
    pub(super) resolving: JoinSet<InDoubtLookup>,
    /// Withdrawn jobs that were stored, and are being ended, with the transaction under which they
    /// are recorded.
    pub(super) being_withdrawn: HashMap<JobKey, TransactionId>,
    pub(super) committing: JoinSet<CompletedCommit>,
    pub(super) sending: JoinSet<Vec<RequestDelivery>>,
    pub(super) shaping: JoinSet<ShapedOutcome>,
    /// Outcomes of Puppet runs whose reports are being looked up; as many as there are slots.
    pub(super) reporting: JoinSet<ShapedOutcome>,
    pub(super) lookups: JoinSet<OutcomeLookup>,
}

/// An outcome that was read on a blocking thread.
pub(super) struct ShapedOutcome {
    pub(super) run: RunKey,
    pub(super) shaped: RunOutcome,
}

// === impl JobEngine ===

impl JobEngine {
    pub(crate) fn new(parts: EngineServices) -> Self {
        let scheduler =
            SlotScheduler::new(parts.task_concurrency, parts.global_concurrent_compiles);
        let active_jobs = ActiveJobs::new(parts.job_catalogs.clone());
        Self {
            deps: parts,
            active_jobs,
            scheduler,
            ledger: ChangeLedger::default(),
            late_outcomes: LateOutcomes::default(),
            inbox_stall: InboxStall::default(),
            leases: JobLeases::default(),
            awaiting_leases: RunsAwaitingLeases::default(),
            lost: None,
            next_key: 0,
            awaiting_nodes: RunsAwaitingNodes::default(),
            timed_starts: BTreeSet::new(),
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
            lookups: JoinSet::new(),
        }
    }
}
