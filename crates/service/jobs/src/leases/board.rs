//! What the engine and the requests of one job share about its leases: [`LeaseBoard`]. No I/O.
//!
//! Invariants: no node is put into quarantine before an ordered run of the job has begun; and a node whose run succeeded
//! is never in quarantine. Before the job ends, every node that is to stay in quarantine was asked for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pcp::Certname;
use store::JobNumber;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::WantedLease;
use super::node_lease::{LeaseSummary, NodeLease};

/// The nodes of a job with their leases.
#[derive(Debug)]
pub(super) struct LeaseBoard {
    job: JobNumber,
    lease: Uuid,
    /// Nodes on which the run does not succeed stay held.
    has_quarantine: bool,
    state: Mutex<BoardState>,
    /// A node is to be asked at once.
    changed: Notify,
    /// Nodes were asked to stay in quarantine, and have answered or not in time.
    keeps_answered: Notify,
    /// The job is over.
    is_over: CancellationToken,
    /// The job of a later pass has the nodes that it wants of this one.
    is_passed_on: CancellationToken,
}

#[derive(Debug)]
struct BoardState {
    /// An ordered run has begun.
    has_begun: bool,
    nodes: BTreeMap<Certname, LeasedNode>,
}

#[derive(Debug)]
struct LeasedNode {
    lease: NodeLease,
    /// The node was held before a restart of the server, and its agent has not answered since.
    was_held: bool,
    end: Option<RunEndKind>,
    is_urgent: bool,
    /// The node was asked to stay in quarantine.
    was_asked_to_keep: bool,
    /// The node runs again in a later pass, whose job has not taken it yet.
    runs_later: bool,
}

/// The end of a node's run, as far as its lease depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEndKind {
    /// The run succeeded: a quarantine of an earlier job ends.
    Succeeded,
    /// The run succeeded and changed nothing.
    Noop,
    /// The run did not succeed, or did not begin.
    Failed,
}

/// What becomes of a node's lease at the end of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseFate {
    /// It is held until it is released.
    Kept,
    /// It ends, and an earlier quarantine with it.
    Ended,
    /// It ends, and an earlier quarantine comes back.
    Restored,
    /// It is held until the job of a later pass takes it, or it is not renewed in time.
    PassedOn,
}

/// The nodes that stay held after a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuarantineSummary {
    pub(crate) kept: Vec<Certname>,
    /// Number of nodes that cannot be kept: they are not connected, or their agents know no leases.
    pub(crate) not_kept: usize,
}

// === impl LeaseBoard ===

impl LeaseBoard {
    pub(super) fn new(job: JobNumber, wanted: &WantedLease) -> Self {
        let node = |name: &Certname| {
            let node = LeasedNode {
                lease: NodeLease::Absent,
                was_held: wanted.was_held,
                end: None,
                is_urgent: false,
                was_asked_to_keep: false,
                runs_later: wanted.later.contains(name),
            };
            (name.clone(), node)
        };
        let state = BoardState {
            has_begun: false,
            nodes: wanted.nodes.iter().map(node).collect(),
        };
        Self {
            job,
            lease: wanted.lease,
            has_quarantine: wanted.has_quarantine,
            state: Mutex::new(state),
            changed: Notify::new(),
            keeps_answered: Notify::new(),
            is_over: CancellationToken::new(),
            is_passed_on: CancellationToken::new(),
        }
    }

    pub(super) fn job(&self) -> JobNumber {
        self.job
    }

    pub(super) fn lease(&self) -> Uuid {
        self.lease
    }

    pub(super) fn record_answers(&self, answers: Vec<(Certname, NodeLease)>) {
        let mut state = self.lock();
        for (name, lease) in answers {
            if let Some(node) = state.nodes.get_mut(&name) {
                node.was_held &= lease == NodeLease::Absent;
                node.lease = lease;
            }
        }
    }

    /// Records that nodes were asked to stay in quarantine, after their answers.
    pub(super) fn record_keeps(&self, names: &[Certname]) {
        if names.is_empty() {
            return;
        }
        let mut state = self.lock();
        for name in names {
            if let Some(node) = state.nodes.get_mut(name) {
                node.was_asked_to_keep = true;
            }
        }
        self.keeps_answered.notify_one();
    }

    /// True while a node that is to stay in quarantine was not asked for it.
    pub(super) fn awaits_keeps(&self) -> bool {
        let state = self.lock();
        let is_open =
            |node: &LeasedNode| node.end == Some(RunEndKind::Failed) && !node.was_asked_to_keep;
        self.has_quarantine && state.has_begun && state.nodes.values().any(is_open)
    }

    pub(super) fn has_quarantine(&self) -> bool {
        self.has_quarantine
    }

    /// Returns when more nodes have answered that were asked to stay in quarantine, or the job is over.
    pub(super) async fn keeps_answered(&self) {
        tokio::select! {
            () = self.keeps_answered.notified() => {}
            () = self.is_over.cancelled() => {}
        }
    }

    /// Records that a run begins on a node.
    pub(super) fn record_begin(&self, name: &Certname) {
        let mut state = self.lock();
        if state.has_begun || !state.nodes.contains_key(name) {
            return;
        }
        state.has_begun = true;
        for node in state.nodes.values_mut() {
            node.is_urgent |= self.has_quarantine && node.end == Some(RunEndKind::Failed);
        }
        self.changed.notify_one();
    }

    pub(super) fn record_end(&self, name: &Certname, end: RunEndKind) {
        let mut state = self.lock();
        let has_begun = state.has_begun;
        let Some(node) = state.nodes.get_mut(name) else {
            return;
        };
        node.end = Some(end);
        if self.has_quarantine && has_begun && end == RunEndKind::Failed {
            node.is_urgent = true;
            self.changed.notify_one();
        }
    }

    /// Lets a node be asked at once, because it has connected.
    pub(super) fn wake(&self, name: &Certname) {
        if let Some(node) = self.lock().nodes.get_mut(name) {
            node.is_urgent = true;
            self.changed.notify_one();
        }
    }

    pub(super) fn end(&self) {
        self.is_over.cancel();
    }

    /// Keeps no node for a later pass.
    pub(super) fn end_passes(&self) {
        for node in self.lock().nodes.values_mut() {
            node.runs_later = false;
        }
    }

    /// The nodes that wait for the job of a later pass, after the end of this one.
    pub(super) fn passed_on(&self) -> BTreeSet<Certname> {
        let names = self.select_by_fate(LeaseFate::PassedOn);
        names.into_iter().collect()
    }

    /// The job is over, and nodes wait for that of a later pass.
    pub(super) fn passes_on(&self) -> bool {
        self.is_over.is_cancelled() && !self.passed_on().is_empty()
    }

    /// Gives nodes to the board of the job of a later pass, as they are held.
    pub(super) fn pass_to(&self, next: &Self, nodes: &BTreeSet<Certname>) {
        let mut state = self.lock();
        let mut next = next.lock();
        for name in nodes {
            if let Some(node) = state.nodes.get_mut(name) {
                node.runs_later = false;
                if let Some(next) = next.nodes.get_mut(name) {
                    next.lease = node.lease.clone();
                    next.was_held = node.was_held;
                }
            }
        }
        self.is_passed_on.cancel();
    }

    /// Returns when the job of a later pass has the nodes that it wants.
    pub(super) fn is_passed_on(&self) -> &CancellationToken {
        &self.is_passed_on
    }

    pub(super) fn is_over(&self) -> &CancellationToken {
        &self.is_over
    }

    /// Returns when a node is to be asked at once.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn take_urgent(&self) -> Vec<Certname> {
        let mut state = self.lock();
        let urgent = state.nodes.iter_mut().filter(|(_, node)| node.is_urgent);
        let urgent = urgent.map(|(name, node)| {
            node.is_urgent = false;
            name.clone()
        });
        urgent.collect()
    }

    /// All nodes, those that answer first: a round must not be late for them because of others.
    pub(super) fn names(&self) -> Vec<Certname> {
        let state = self.lock();
        let mut names: Vec<(bool, &Certname)> = state
            .nodes
            .iter()
            .map(|(name, node)| (node.lease == NodeLease::Silent, name))
            .collect();
        names.sort_by_key(|(is_silent, _)| *is_silent);
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn select(
        &self,
        is_wanted: impl Fn(&Certname, &NodeLease) -> bool,
    ) -> Vec<Certname> {
        let state = self.lock();
        let wanted = state.nodes.iter();
        let wanted = wanted.filter(|(name, node)| is_wanted(name, &node.lease));
        wanted.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn is_held(&self, name: &Certname) -> bool {
        let state = self.lock();
        let node = state.nodes.get(name);
        node.is_some_and(|node| node.lease == NodeLease::Held)
    }

    pub(super) fn summary(&self) -> LeaseSummary {
        let state = self.lock();
        LeaseSummary::of(state.nodes.iter().map(|(name, node)| (name, &node.lease)))
    }

    /// What becomes of a node's lease if the job ends now.
    pub(super) fn fate(&self, name: &Certname) -> LeaseFate {
        let state = self.lock();
        let node = state.nodes.get(name);
        match node.and_then(|node| node.end) {
            Some(RunEndKind::Failed) if self.has_quarantine && state.has_begun => LeaseFate::Kept,
            Some(RunEndKind::Failed) => LeaseFate::Restored,
            _ if node.is_some_and(|node| node.runs_later) => LeaseFate::PassedOn,
            Some(RunEndKind::Succeeded) => LeaseFate::Ended,
            Some(RunEndKind::Noop) | None => LeaseFate::Restored,
        }
    }

    pub(super) fn quarantine(&self) -> QuarantineSummary {
        let mut summary = QuarantineSummary::default();
        for name in self.select_by_fate(LeaseFate::Kept) {
            match self.is_kept(&name) {
                true => summary.kept.push(name),
                false => summary.not_kept += 1,
            }
        }
        summary
    }

    fn select_by_fate(&self, fate: LeaseFate) -> Vec<Certname> {
        let mut names = self.select(|_, _| true);
        names.retain(|name| self.fate(name) == fate);
        names
    }

    fn is_kept(&self, name: &Certname) -> bool {
        let state = self.lock();
        let node = state.nodes.get(name);
        node.is_some_and(|node| node.lease == NodeLease::Held || node.was_held)
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn node(number: u8) -> Certname {
        format!("node{number}").parse().unwrap()
    }

    fn board(has_quarantine: bool) -> LeaseBoard {
        board_of(has_quarantine, BTreeSet::new())
    }

    fn board_of(has_quarantine: bool, later: BTreeSet<Certname>) -> LeaseBoard {
        let wanted = WantedLease {
            lease: Uuid::from_u128(1),
            nodes: vec![node(1), node(2), node(3)],
            later,
            has_quarantine,
            was_held: false,
        };
        let board = LeaseBoard::new(JobNumber::try_from(1).unwrap(), &wanted);
        let held = |number| (node(number), NodeLease::Held);
        board.record_answers(vec![held(1), held(2), (node(3), NodeLease::Absent)]);
        board
    }

    #[test]
    fn failures_before_the_first_run_keep_no_node_until_one_begins() {
        let board = board(true);
        board.record_end(&node(2), RunEndKind::Failed);
        board.record_begin(&node(9));
        assert_eq!(board.quarantine(), QuarantineSummary::default());
        assert!(board.take_urgent().is_empty());
        assert!(!board.awaits_keeps());
        board.record_begin(&node(1));
        assert_eq!(board.take_urgent(), [node(2)]);
        board.record_end(&node(3), RunEndKind::Failed);
        board.record_end(&node(1), RunEndKind::Succeeded);
        board.record_keeps(&[node(2)]);
        assert!(board.awaits_keeps(), "the third node was not asked");
        board.record_keeps(&[node(3)]);
        assert!(!board.awaits_keeps());
        let expected = QuarantineSummary {
            kept: vec![node(2)],
            not_kept: 1,
        };
        assert_eq!(board.quarantine(), expected);
        let fates = [1, 2].map(|number| board.fate(&node(number)));
        assert_eq!(fates, [LeaseFate::Ended, LeaseFate::Kept]);
    }

    #[test]
    fn only_a_success_that_changes_something_ends_an_earlier_quarantine() {
        let board = board(false);
        board.record_begin(&node(1));
        board.record_end(&node(1), RunEndKind::Noop);
        board.record_end(&node(2), RunEndKind::Failed);
        for number in 1..4 {
            assert_eq!(board.fate(&node(number)), LeaseFate::Restored);
        }
    }

    #[test]
    fn nodes_of_a_later_pass_are_passed_on_unless_their_run_failed() {
        let later: BTreeSet<Certname> = [1, 2, 3].map(node).into();
        let board = board_of(false, later.clone());
        board.record_begin(&node(1));
        board.record_end(&node(1), RunEndKind::Succeeded);
        board.record_end(&node(2), RunEndKind::Failed);
        assert_eq!(board.passed_on(), [node(1), node(3)].into());
        assert_eq!(board.fate(&node(2)), LeaseFate::Restored);

        let next = board_of(false, BTreeSet::new());
        next.record_answers(vec![(node(1), NodeLease::Absent)]);
        board.pass_to(&next, &[node(1)].into());
        assert!(next.is_held(&node(1)));
        assert!(board.is_passed_on().is_cancelled());
        assert_eq!(board.passed_on(), [node(3)].into(), "no job wants it");

        let stopped = board_of(false, later);
        stopped.end_passes();
        assert_eq!(stopped.passed_on(), BTreeSet::new());
    }
}
