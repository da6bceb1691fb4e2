//! The engine's memory of the jobs that are not over.
//!
//! [`ActiveJobs`] holds jobs and runs and the indexes to find them (by number, transaction, node,
//! message). Invariant: a run that is settled cannot be found by its node, message or query any
//! more, and a job that is over is not in the book.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use environments::{EnvironmentName, JobCatalogRun, JobCatalogs};
use partial_debug::partial_debug;
use pcp::{Certname, MessageId};
use pxp::TransactionId;
use pxp::task::SensitiveScan;
use store::JobNumber;
use tokio::sync::watch;
use uuid::Uuid;

use super::dispatch::JobDispatch;
use crate::applications::RunOrder;
use crate::in_flight::InFlightRun;
use crate::keys::{JobKey, RunKey};
use crate::kind::JobKind;
use crate::live::OutputWatcher;
use crate::over_ssh::NodeTransport;
use crate::rollout::{HaltReason, Rollout, SplayedStarts};
use crate::tally::RunTally;
use crate::trace::RunTrace;
use crate::verdict::{AbsenceStart, ErrorEvidence};

#[derive(Debug, Default)]
pub(crate) struct ActiveJobs {
    /// The runs in flight whose jobs decide on their catalogs.
    catalogs: JobCatalogs,
    pub(crate) jobs: HashMap<JobKey, ActiveJob>,
    pub(crate) numbers: HashMap<JobNumber, JobKey>,
    transactions: HashMap<TransactionId, RunKey>,
    nodes: HashMap<Certname, Vec<RunKey>>,
    /// Puppet runs that are in flight or to come, by node. Of splayed ones only those whose time has come.
    puppet_runs: HashMap<Certname, Vec<RunKey>>,
    messages: HashMap<MessageId, RunKey>,
    queries: HashMap<TransactionId, RunKey>,
}

pub(crate) struct ActiveJob {
    pub(crate) number: JobNumber,
    pub(crate) kind: JobKind,
    pub(crate) dispatch: JobDispatch,
    pub(crate) started: bool,
    /// The job is from before this engine's start, or of a plan that went on right after it: its
    /// nodes get time to come back.
    pub(crate) after_restart: bool,
    pub(crate) runs: Vec<ActiveRun>,
    pub(crate) waiting: VecDeque<usize>,
    /// The runs of batches that have not begun.
    pub(crate) later: BTreeMap<u32, Vec<usize>>,
    pub(crate) rollout: Rollout,
    /// The runs whose times have not come; `None` if the starts are not splayed.
    pub(crate) splayed: Option<SplayedStarts>,
    /// The order of the runs; `None` if none waits for another, or none starts any more.
    pub(crate) order: Option<RunOrder>,
    /// The job was made with batch sizes.
    pub(crate) has_batches: bool,
    /// The first nodes that failed.
    pub(crate) failed: Vec<Certname>,
    /// Set when too many nodes failed.
    pub(crate) halted: Option<Arc<HaltReason>>,
    pub(crate) tally: RunTally,
    pub(crate) watchers: Vec<OutputWatcher>,
    /// Counts the commits that touched the job.
    pub(crate) commits: watch::Sender<u64>,
}

#[derive(Debug)]
pub(crate) struct ActiveRun {
    pub(crate) certname: Certname,
    pub(crate) transaction: TransactionId,
    /// Chosen when the run gets its slot.
    pub(crate) via: NodeTransport,
    /// Number of the batch that the run is in, from 1.
    pub(crate) batch: u32,
    /// If the run's node is away at its turn, the run waits for it: the node was connected when the
    /// job was made.
    pub(crate) is_awaited: bool,
    /// The run's agent has no module for the action and gets the task.
    pub(crate) as_task: bool,
    pub(crate) phase: RunPhase,
    /// Trace of the run; `None`: its spans are not kept.
    pub(crate) trace: Option<Box<RunTrace>>,
}

#[derive(Debug)]
pub(crate) enum RunPhase {
    /// The run waits for a slot, or (after a restart) for its node.
    Waiting,
    /// The run has a slot; its mark is being committed.
    Marking { spool_id: Option<Uuid> },
    /// The run's request may have been sent.
    Dispatched(Box<DispatchedRun>),
    /// The run's end is decided.
    Settled,
}

#[derive(Debug)]
pub(crate) struct DispatchedRun {
    pub(crate) flight: InFlightRun,
    pub(crate) message: Option<MessageId>,
    pub(crate) query: Option<TransactionId>,
    /// The blocking request that asks the agent to cancel the action.
    pub(crate) cancel: Option<TransactionId>,
    /// The broker has the request: later messages cannot reach the node before it.
    pub(crate) handed_over: bool,
    /// The run's outcome has arrived and is being read.
    pub(crate) shaping: bool,
    /// The agent reported an error that leaves open if the action ran, or how it ended; a status
    /// query is to find out more.
    pub(crate) claim: Option<Box<AgentErrorClaim>>,
    /// Absence of the node; `None`: the node was connected at the last check.
    pub(crate) absence: Option<RunNodeAbsence>,
    pub(crate) output: OutputProgress,
}

/// An agent's error about a run, kept until a status query is answered.
#[derive(Debug)]
pub(crate) struct AgentErrorClaim {
    pub(crate) error_text: String,
    pub(crate) evidence: ErrorEvidence,
}

/// The absence of the node of a run in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunNodeAbsence {
    pub(crate) since: AbsenceStart,
    /// The absence is recorded in an event.
    pub(crate) is_recorded: bool,
}

/// Progress of the live output of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputProgress {
    /// The next expected offset of standard output and of standard error.
    pub(crate) next: [u64; 2],
    /// Bytes of both streams that the agent may have sent.
    pub(crate) granted: u64,
    /// Scan for the start of the `_sensitive` key in a task's standard output.
    pub(crate) sensitive: SensitiveScan,
}

// === impl ActiveJobs ===

impl ActiveJobs {
    /// Creates an empty book that records runs in flight in `catalogs` if their jobs decide on their catalogs.
    pub(crate) fn new(catalogs: JobCatalogs) -> Self {
        Self {
            catalogs,
            ..Self::default()
        }
    }

    pub(crate) fn insert(&mut self, key: JobKey, job: ActiveJob) {
        self.numbers.insert(job.number, key);
        self.transactions.reserve(job.runs.len());
        for (index, run) in job.runs.iter().enumerate() {
            let run_key = RunKey { job: key, index };
            if !matches!(run.phase, RunPhase::Settled) {
                self.transactions.insert(run.transaction.clone(), run_key);
                let is_due = job.splayed.is_none() || !matches!(run.phase, RunPhase::Waiting);
                if job.kind == JobKind::Puppet && is_due {
                    let runs = self.puppet_runs.entry(run.certname.clone());
                    runs.or_default().push(run_key);
                }
            }
            if matches!(run.phase, RunPhase::Dispatched(_)) {
                self.nodes
                    .entry(run.certname.clone())
                    .or_default()
                    .push(run_key);
                if let Some(catalog) = job.catalog_run(&run.certname) {
                    self.catalogs.begin(run.certname.as_str(), catalog);
                }
            }
        }
        self.jobs.insert(key, job);
    }

    pub(crate) fn remove(&mut self, key: JobKey) -> Option<ActiveJob> {
        let job = self.jobs.remove(&key)?;
        self.numbers.remove(&job.number);
        Some(job)
    }

    pub(crate) fn by_number(&mut self, number: JobNumber) -> Option<(JobKey, &mut ActiveJob)> {
        let key = *self.numbers.get(&number)?;
        self.jobs.get_mut(&key).map(|job| (key, job))
    }

    pub(crate) fn run(&self, key: RunKey) -> Option<&ActiveRun> {
        self.jobs.get(&key.job)?.runs.get(key.index)
    }

    pub(crate) fn run_mut(&mut self, key: RunKey) -> Option<&mut ActiveRun> {
        self.jobs.get_mut(&key.job)?.runs.get_mut(key.index)
    }

    pub(crate) fn dispatched_mut(&mut self, key: RunKey) -> Option<&mut DispatchedRun> {
        match &mut self.run_mut(key)?.phase {
            RunPhase::Dispatched(flying) => Some(flying),
            _ => None,
        }
    }

    pub(crate) fn by_transaction(&self, transaction: &TransactionId) -> Option<RunKey> {
        self.transactions.get(transaction).copied()
    }

    pub(crate) fn by_query(&self, transaction: &TransactionId) -> Option<RunKey> {
        self.queries.get(transaction).copied()
    }

    /// The run on this node whose action this request was to cancel.
    pub(crate) fn by_cancel(
        &mut self,
        certname: &Certname,
        transaction: &TransactionId,
    ) -> Option<RunKey> {
        let keys = self.runs_on_node(certname);
        keys.into_iter().find(|key| {
            let flying = self.dispatched_mut(*key);
            flying.is_some_and(|flying| flying.cancel.as_ref() == Some(transaction))
        })
    }

    pub(crate) fn by_message(&self, message: MessageId) -> Option<RunKey> {
        self.messages.get(&message).copied()
    }

    /// The runs in flight on a node.
    pub(crate) fn runs_on_node(&self, certname: &Certname) -> Vec<RunKey> {
        self.nodes.get(certname).cloned().unwrap_or_default()
    }

    /// Records splayed Puppet runs whose times have come.
    pub(crate) fn record_due(&mut self, key: JobKey, indexes: &[usize]) {
        let Some(job) = self
            .jobs
            .get(&key)
            .filter(|job| job.kind == JobKind::Puppet)
        else {
            return;
        };
        for index in indexes {
            let run = &job.runs[*index];
            if !matches!(run.phase, RunPhase::Settled) {
                let runs = self.puppet_runs.entry(run.certname.clone());
                runs.or_default().push(RunKey {
                    job: key,
                    index: *index,
                });
            }
        }
    }

    /// The other job to which a splayed Puppet run leaves its node: it runs Puppet there, or is about to. Of two splayed
    /// jobs that wait for a slot, the older one keeps the node.
    pub(crate) fn left_to(&self, own: RunKey) -> Option<JobNumber> {
        let job = self.jobs.get(&own.job)?;
        if job.splayed.is_none() || job.kind != JobKind::Puppet {
            return None;
        }
        let runs = self.puppet_runs.get(&job.runs[own.index].certname)?;
        runs.iter().find_map(|key| {
            let job = self.jobs.get(&key.job).filter(|_| key.job != own.job)?;
            let is_before = match job.runs[key.index].phase {
                RunPhase::Waiting => {
                    job.may_start(key.index) && (job.splayed.is_none() || key.job < own.job)
                }
                RunPhase::Marking { .. } | RunPhase::Dispatched(_) => true,
                RunPhase::Settled => false,
            };
            is_before.then_some(job.number)
        })
    }

    /// Every run in flight.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = RunKey> {
        self.nodes.values().flatten().copied()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Records that the mark of a run is durable: the run is in flight.
    pub(crate) fn mark_dispatched(&mut self, key: RunKey, flight: InFlightRun) {
        let Some(run) = self.run_mut(key) else { return };
        run.phase = RunPhase::Dispatched(Box::new(DispatchedRun::new(flight)));
        let certname = run.certname.clone();
        let job = self.jobs.get(&key.job);
        if let Some(catalog) = job.and_then(|job| job.catalog_run(&certname)) {
            self.catalogs.begin(certname.as_str(), catalog);
        }
        self.nodes.entry(certname).or_default().push(key);
    }

    /// Sets the message id of a run's request.
    pub(crate) fn record_message(&mut self, key: RunKey, message: MessageId) {
        let Some(flying) = self.dispatched_mut(key) else {
            return;
        };
        flying.handed_over = false;
        if let Some(before) = flying.message.replace(message) {
            self.messages.remove(&before);
        }
        self.messages.insert(message, key);
    }

    /// Sets the id of the status query under way for a run; an older one is forgotten.
    pub(crate) fn record_query(&mut self, key: RunKey, query: TransactionId) {
        let Some(flying) = self.dispatched_mut(key) else {
            return;
        };
        if let Some(before) = flying.query.replace(query.clone()) {
            self.queries.remove(&before);
        }
        self.queries.insert(query, key);
    }

    /// Forgets the status query under way, so that an answer to it is ignored.
    pub(crate) fn forget_query(&mut self, key: RunKey) {
        let query = self
            .dispatched_mut(key)
            .and_then(|flying| flying.query.take());
        if let Some(query) = query {
            self.queries.remove(&query);
        }
    }

    /// Records that the end of a run is decided. Returns its phase until then; `None`: it was
    /// settled before.
    pub(crate) fn settle(&mut self, key: RunKey) -> Option<RunPhase> {
        let run = self.run_mut(key)?;
        if matches!(run.phase, RunPhase::Settled) {
            return None;
        }
        let phase = std::mem::replace(&mut run.phase, RunPhase::Settled);
        let certname = run.certname.clone();
        remove_run(&mut self.puppet_runs, &certname, key);
        if let RunPhase::Dispatched(flying) = &phase {
            if let Some(job) = self.jobs.get(&key.job) {
                self.catalogs
                    .end(certname.as_str(), &job.number.to_string());
            }
            if let Some(message) = flying.message {
                self.messages.remove(&message);
            }
            if let Some(query) = &flying.query {
                self.queries.remove(query);
            }
            remove_run(&mut self.nodes, &certname, key);
        }
        Some(phase)
    }

    /// Forgets the transaction of a run whose end is durable.
    pub(crate) fn forget_transaction(&mut self, key: RunKey) {
        let Some(transaction) = self.run(key).map(|run| run.transaction.clone()) else {
            return;
        };
        self.transactions.remove(&transaction);
    }
}

/// Removes a run from an index by nodes.
fn remove_run(index: &mut HashMap<Certname, Vec<RunKey>>, certname: &Certname, key: RunKey) {
    if let Some(keys) = index.get_mut(certname) {
        keys.retain(|other| *other != key);
        if keys.is_empty() {
            index.remove(certname);
        }
    }
}

// === impl ActiveJob ===

impl ActiveJob {
    /// The run of a node as the server of agents finds it; `None` if the node gets its ordinary catalog, or the stored
    /// name of the environment is damaged.
    fn catalog_run(&self, certname: &Certname) -> Option<JobCatalogRun> {
        let pinned = self.dispatch.pinned.as_ref();
        let deferred = self.dispatch.deferred.as_ref();
        let deferred = deferred.and_then(|it| Some((&it.environment, it.of_node(certname)?)));
        let environment = match (pinned, deferred) {
            (Some(pinned), _) => &pinned.environment,
            (None, Some((environment, _))) => environment,
            (None, None) => return None,
        };
        Some(JobCatalogRun {
            job: self.number.to_string(),
            environment: environment.parse().ok()?,
            code_id: pinned.map(|it| it.code_id.to_string()),
            waiting: deferred
                .map(|(_, components)| Arc::new(components.clone()))
                .unwrap_or_default(),
        })
    }

    /// Adds runs whose turn has come to those that wait for a slot, unless they wait for other runs or are over.
    /// Returns the number of those that wait for a slot.
    pub(crate) fn queue(&mut self, runs: impl IntoIterator<Item = usize>) -> usize {
        let before = self.waiting.len();
        for index in runs {
            match &mut self.order {
                _ if matches!(self.runs[index].phase, RunPhase::Settled) => {}
                Some(order) if order.is_waiting(index) => order.hold(index),
                _ => self.waiting.push_back(index),
            }
        }
        self.waiting.len() - before
    }

    /// True if only a slot of the server, or its node, is missing for a run to start. It may take days in a job that has
    /// batches, an order or a limit of its own.
    fn may_start(&self, index: usize) -> bool {
        let has_begun = self.runs[index].batch <= self.rollout.current_batch().batch;
        let waits = self
            .order
            .as_ref()
            .is_some_and(|order| order.is_waiting(index));
        has_begun && !waits && self.dispatch.concurrency.is_none()
    }

    /// The capabilities that other nodes of the job consume from this run's node, and their environment.
    pub(crate) fn products(&self, index: usize) -> Option<(EnvironmentName, Vec<String>)> {
        let (environment, products) = self.order.as_ref()?.products(index)?;
        Some((environment.clone(), products.to_vec()))
    }
}

// === impl DispatchedRun ===

impl DispatchedRun {
    pub(crate) fn new(flight: InFlightRun) -> Self {
        let output = OutputProgress::default();
        Self {
            flight,
            message: None,
            query: None,
            cancel: None,
            handed_over: false,
            shaping: false,
            claim: None,
            absence: None,
            output,
        }
    }
}

// The params are left out: they may hold secrets.
partial_debug!(ActiveJob { number });
