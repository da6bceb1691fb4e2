//! What the engine and the requests of one job share about its leases: [`LeaseBoard`]. No I/O.
//!
//! Invariants: no node is put into quarantine before an ordered run of the job has begun; and a node whose run succeeded
//! is never in quarantine.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pcp::Certname;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::WantedLease;
use super::node_lease::{LeaseSummary, NodeLease};

/// The nodes of a job with their leases.
#[derive(Debug)]
pub(super) struct LeaseBoard {
    /// Nodes on which the run does not succeed stay held.
    has_quarantine: bool,
    state: Mutex<BoardState>,
    /// A node is to be asked at once.
    changed: Notify,
    /// The job is over.
    is_over: CancellationToken,
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
    pub(super) fn new(wanted: &WantedLease) -> Self {
        let node = |name: &Certname| {
            let node = LeasedNode {
                lease: NodeLease::Absent,
                was_held: wanted.was_held,
                end: None,
                is_urgent: false,
            };
            (name.clone(), node)
        };
        let state = BoardState {
            has_begun: false,
            nodes: wanted.nodes.iter().map(node).collect(),
        };
        Self {
            has_quarantine: wanted.has_quarantine,
            state: Mutex::new(state),
            changed: Notify::new(),
            is_over: CancellationToken::new(),
        }
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
        match state.nodes.get(name).and_then(|node| node.end) {
            Some(RunEndKind::Succeeded) => LeaseFate::Ended,
            Some(RunEndKind::Failed) if self.has_quarantine && state.has_begun => LeaseFate::Kept,
            Some(RunEndKind::Failed | RunEndKind::Noop) | None => LeaseFate::Restored,
        }
    }

    pub(super) fn quarantine(&self) -> QuarantineSummary {
        let mut summary = QuarantineSummary::default();
        for name in self.select(|_, _| true) {
            match self.fate(&name) {
                LeaseFate::Kept if self.is_kept(&name) => summary.kept.push(name),
                LeaseFate::Kept => summary.not_kept += 1,
                LeaseFate::Ended | LeaseFate::Restored => {}
            }
        }
        summary
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
        let board = LeaseBoard::new(&WantedLease {
            lease: Uuid::from_u128(1),
            nodes: vec![node(1), node(2), node(3)],
            has_quarantine,
            was_held: false,
        });
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
        board.record_begin(&node(1));
        assert_eq!(board.take_urgent(), [node(2)]);
        board.record_end(&node(3), RunEndKind::Failed);
        board.record_end(&node(1), RunEndKind::Succeeded);
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
}
