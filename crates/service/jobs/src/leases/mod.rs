//! Leases: while a job whose runs are ordered has the leases of its nodes, no other run of Puppet starts there.
//!
//! [`JobLeases`] has the jobs that hold leases or wait for them, [`LeaseHolding`] the requests to the nodes of one job.
//! Invariants: of two jobs with leases that run on the same node, one is over before the other takes its leases; leases end
//! by themselves when no engine renews them; and between two passes no other job takes the nodes of the later one.

mod board;
mod holding;
mod node_lease;
mod queue;
mod requests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pcp::Certname;
use store::JobNumber;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::board::LeaseBoard;
pub(crate) use self::board::{QuarantineSummary, RunEndKind};
use self::holding::LeaseProgress;
pub(crate) use self::holding::{LeaseHolding, LeaseServices};
pub(crate) use self::node_lease::LeaseSummary;
use self::queue::LeaseQueue;
pub use self::requests::NodeAnswer;
pub(crate) use self::requests::{release_all, show_all};
use crate::applications::StoredNodeOrder;
use crate::keys::JobKey;

/// The leases of all jobs.
#[derive(Default)]
pub(crate) struct JobLeases {
    queue: LeaseQueue,
    /// Those of all jobs that have leases, or want them.
    boards: HashMap<JobKey, Arc<LeaseBoard>>,
    /// Holdings that wait until earlier jobs are over.
    waiting: HashMap<JobKey, LeaseHolding>,
    /// One task for each holding, and its follow-up; ends with the engine, without a release.
    tasks: JoinSet<LeaseStep>,
}

/// The lease that a job wants on nodes.
pub(crate) struct WantedLease {
    pub(crate) lease: Uuid,
    pub(crate) nodes: Vec<Certname>,
    /// Those of the nodes that run in a later pass, and are passed on to its job at the end of this one.
    pub(crate) later: BTreeSet<Certname>,
    /// Nodes on which the run does not succeed stay held.
    pub(crate) has_quarantine: bool,
    /// The job had it before a restart of the server.
    pub(crate) was_held: bool,
}

/// A completed step of a holding.
pub(crate) enum LeaseStep {
    /// Every node that can be held is held.
    Taken(JobKey, LeaseSummary, Box<LeaseHolding>),
    /// Some nodes do not become free.
    Delayed(JobKey, LeaseSummary, Box<LeaseHolding>),
    /// More nodes have answered that were asked to stay in quarantine.
    KeepsAnswered(JobKey),
    /// The job is over. Some nodes stay held for the job of a later pass; the others are free.
    PassedOn(JobKey, Box<LeaseHolding>),
    /// The leases are released, so that the next job can take them.
    Released(JobKey),
}

/// The job that keeps other runs from starting on a node. It may be over, if a later pass follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseHolder {
    pub(crate) key: JobKey,
    pub(crate) number: JobNumber,
}

/// The earlier job that a holding waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseWait {
    pub(crate) job: JobKey,
    /// Number of the nodes on which both run.
    pub(crate) nodes: usize,
}

// === impl WantedLease ===

impl WantedLease {
    /// `None` in jobs of older servers.
    pub(crate) fn of(order: StoredNodeOrder) -> Option<Self> {
        let StoredNodeOrder {
            lease,
            nodes,
            later,
            has_quarantine,
            ..
        } = order;
        let named: BTreeSet<&Certname> = nodes.iter().collect();
        let others = later.iter().filter(|node| !named.contains(node));
        let others: Vec<Certname> = others.cloned().collect();
        lease.map(|lease| Self {
            lease,
            nodes: nodes.into_iter().chain(others).collect(),
            later: later.into_iter().collect(),
            has_quarantine,
            was_held: false,
        })
    }
}

// === impl JobLeases ===

impl JobLeases {
    /// Takes the leases of a job that runs on these nodes, as soon as no job that came before runs on one of them. Returns one
    /// that does. The job of a later pass has the nodes that the one before passes on.
    pub(crate) fn take(
        &mut self,
        job: JobKey,
        nodes: BTreeSet<Certname>,
        holding: LeaseHolding,
    ) -> Option<LeaseWait> {
        let board = holding.board();
        let previous = self.previous_pass(&board);
        self.boards.insert(job, Arc::clone(&board));
        if board.has_quarantine() {
            self.await_keeps(job);
        }
        if let Some((previous, passing)) = previous
            && self.queue.pass_on(previous, job, &nodes)
        {
            passing.pass_to(&board, &nodes);
            self.start(job, holding);
            return None;
        }
        self.queue.add(job, nodes);
        let before = self.queue.first_before(job);
        match before {
            Some(_) => _ = self.waiting.insert(job, holding),
            None => self.start(job, holding),
        }
        before
    }

    /// The job that is over and passes nodes on under the lease of this board.
    fn previous_pass(&self, board: &LeaseBoard) -> Option<(JobKey, Arc<LeaseBoard>)> {
        let mut boards = self.boards.iter();
        let (job, board) = boards.find(|(_, it)| it.lease() == board.lease() && it.passes_on())?;
        Some((*job, Arc::clone(board)))
    }

    /// The job that keeps other runs from starting on a node.
    pub(crate) fn holder_of(&self, node: &Certname) -> Option<LeaseHolder> {
        let key = self.queue.first_of(node)?;
        let board = self.boards.get(&key)?;
        let number = board.job();
        board.is_held(node).then_some(LeaseHolder { key, number })
    }

    /// Records that a run of the job begins.
    pub(crate) fn record_begin(&self, job: JobKey, node: &Certname) {
        if let Some(board) = self.boards.get(&job) {
            board.record_begin(node);
        }
    }

    /// Records the end of a run of the job.
    pub(crate) fn record_end(&self, job: JobKey, node: &Certname, end: RunEndKind) {
        if let Some(board) = self.boards.get(&job) {
            board.record_end(node, end);
        }
    }

    /// Renews the lease of a node that has connected.
    pub(crate) fn wake(&self, node: &Certname) {
        let job = self.queue.first_of(node);
        if let Some(board) = job.and_then(|job| self.boards.get(&job)) {
            board.wake(node);
        }
    }

    /// True while a node of the job that is to stay in quarantine was not asked for it.
    pub(crate) fn awaits_keeps(&self, job: JobKey) -> bool {
        let board = self.boards.get(&job);
        board.is_some_and(|board| board.awaits_keeps())
    }

    /// Waits for the next nodes that have answered when they were asked to stay in quarantine, until the job is over.
    pub(crate) fn await_keeps(&mut self, job: JobKey) {
        let board = self.boards.get(&job);
        if let Some(board) = board.filter(|board| !board.is_over().is_cancelled()) {
            let board = Arc::clone(board);
            self.tasks.spawn(async move {
                board.keeps_answered().await;
                LeaseStep::KeepsAnswered(job)
            });
        }
    }

    /// The nodes that stay held if the job ends now.
    pub(crate) fn quarantine(&self, job: JobKey) -> QuarantineSummary {
        let board = self.boards.get(&job);
        board.map(|board| board.quarantine()).unwrap_or_default()
    }

    /// Keeps no node of the job for a later pass.
    pub(crate) fn end_passes(&self, job: JobKey) {
        if let Some(board) = self.boards.get(&job) {
            board.end_passes();
        }
    }

    /// Releases the leases of a job that is over, except for those of nodes in quarantine and of a later pass.
    pub(crate) fn release(&mut self, job: JobKey) {
        if let Some(board) = self.boards.get(&job) {
            board.end();
        }
        if self.waiting.remove(&job).is_some() {
            self.forget(job);
        }
    }

    /// Keeps only those nodes of a job that is over which the job of a later pass takes, and takes the leases of the jobs that
    /// waited for others.
    pub(crate) fn pass_on(&mut self, job: JobKey, holding: Box<LeaseHolding>) {
        let next = self.queue.keep_only(job, &holding.board().passed_on());
        self.start_all(next);
        self.tasks.spawn(async move {
            holding.await_next_pass().await;
            LeaseStep::Released(job)
        });
    }

    /// Forgets a job that has no leases any more, and takes those of the jobs that waited for it.
    pub(crate) fn forget(&mut self, job: JobKey) {
        self.boards.remove(&job);
        let next = self.queue.remove(job);
        self.start_all(next);
    }

    /// The next completed step; `None` if no holding is under way.
    pub(crate) async fn next_step(&mut self) -> Option<Result<LeaseStep, tokio::task::JoinError>> {
        self.tasks.join_next().await
    }

    /// Renews the leases of a job until they are released.
    pub(crate) fn keep(&mut self, job: JobKey, mut holding: Box<LeaseHolding>) {
        self.tasks.spawn(async move {
            holding.keep().await;
            ended(job, holding)
        });
    }

    /// Goes on to take the leases of a job.
    pub(crate) fn resume(&mut self, job: JobKey, holding: Box<LeaseHolding>) {
        self.tasks.spawn(take(job, holding, false));
    }

    fn start_all(&mut self, jobs: Vec<JobKey>) {
        for job in jobs {
            if let Some(holding) = self.waiting.remove(&job) {
                self.start(job, holding);
            }
        }
    }

    fn start(&mut self, job: JobKey, holding: LeaseHolding) {
        self.tasks.spawn(take(job, Box::new(holding), true));
    }
}

async fn take(job: JobKey, mut holding: Box<LeaseHolding>, is_first: bool) -> LeaseStep {
    match holding.take(is_first).await {
        LeaseProgress::Taken(summary) => LeaseStep::Taken(job, summary, holding),
        LeaseProgress::Delayed(summary) => LeaseStep::Delayed(job, summary, holding),
        LeaseProgress::Released => ended(job, holding),
    }
}

/// The step after the end of a job.
fn ended(job: JobKey, holding: Box<LeaseHolding>) -> LeaseStep {
    match holding.board().passes_on() {
        true => LeaseStep::PassedOn(job, holding),
        false => LeaseStep::Released(job),
    }
}
