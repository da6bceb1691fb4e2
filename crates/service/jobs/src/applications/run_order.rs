//! The order of a job's runs while it runs: [`RunOrder`]. No I/O.
//!
//! Invariants: a run is released once, when every run that it waits for has succeeded and the leases are taken; it is
//! blocked once, when one of those runs did not succeed; and a run that was blocked is never released.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use environments::EnvironmentName;
use pcp::Certname;

use super::StoredNodeOrder;
use crate::state::RunState;

/// The waits between the runs of a job, by index of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunOrder {
    runs: HashMap<usize, OrderedRun>,
    /// As in [`StoredNodeOrder`].
    environment: Option<EnvironmentName>,
    /// Runs whose turn has come, and that wait for others, or for the leases.
    held: BTreeSet<usize>,
    /// The leases of the nodes are not taken yet.
    awaits_leases: bool,
}

#[derive(Clone, Debug, Default)]
struct OrderedRun {
    /// Runs that wait for this one.
    successors: Vec<usize>,
    /// Number of runs that this one waits for.
    open: usize,
    /// Capabilities that other nodes consume from this one.
    products: Vec<String>,
    is_over: bool,
}

/// The nodes because of which a run cannot start after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockingNodes {
    /// The node that it waits for.
    pub(crate) waits_for: Certname,
    /// The node whose run did not succeed: that one, or one that it waits for in turn.
    pub(crate) failed: Certname,
}

/// A run that cannot start, since one that it waits for did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockedRun {
    pub(crate) index: usize,
    /// The run that it waits for. It was blocked itself, or it is the one that did not succeed.
    pub(crate) waits_for: usize,
}

// === impl RunOrder ===

impl RunOrder {
    /// The order of runs on these nodes. The run of any other node is over, and it succeeded unless `unsuccessful` has
    /// its state. Returns also the runs that wait for one of the latter; they are to be ended.
    pub(crate) fn restore<'a>(
        stored: &StoredNodeOrder,
        runs: impl Iterator<Item = &'a Certname>,
        unsuccessful: &HashMap<Certname, RunState>,
    ) -> (Self, BTreeMap<usize, BlockingNodes>) {
        let indices: HashMap<&Certname, usize> = runs.zip(0..).collect();
        let index_of = |node: usize| indices.get(stored.nodes.get(node)?).copied();
        let mut order = Self {
            environment: stored.environment.parse().ok(),
            awaits_leases: stored.lease.is_some(),
            ..Self::default()
        };
        if order.awaits_leases {
            let leased = (0..stored.nodes.len()).filter_map(index_of);
            order.runs = leased.map(|run| (run, OrderedRun::default())).collect();
        }
        let mut blocked = BTreeMap::new();
        // for each node that was skipped, the node because of which; edges lead from earlier to later nodes
        let mut causes: HashMap<usize, usize> = HashMap::new();
        for [first, then] in &stored.edges {
            if let Some(waits_for) = index_of(*first) {
                let Some(run) = index_of(*then) else { continue };
                order.runs.entry(run).or_default().open += 1;
                let successors = &mut order.runs.entry(waits_for).or_default().successors;
                successors.push(run);
                continue;
            }
            let nodes = (stored.nodes.get(*first), stored.nodes.get(*then));
            let (Some(waits_for), Some(node)) = nodes else {
                continue;
            };
            if !unsuccessful.contains_key(waits_for) {
                continue;
            }
            let cause = causes.get(first).copied().unwrap_or(*first);
            if unsuccessful.get(node) == Some(&RunState::Skipped) {
                causes.entry(*then).or_insert(cause);
            }
            if let Some(run) = index_of(*then) {
                blocked.entry(run).or_insert_with(|| BlockingNodes {
                    waits_for: waits_for.clone(),
                    failed: stored.nodes[cause].clone(),
                });
            }
        }
        for (node, products) in &stored.products {
            if let Some(run) = index_of(*node) {
                order.runs.entry(run).or_default().products = products.iter().cloned().collect();
            }
        }
        (order, blocked)
    }

    /// True if the run waits for another one, or for the leases.
    pub(crate) fn is_waiting(&self, index: usize) -> bool {
        let run = self.runs.get(&index);
        run.is_some_and(|run| self.awaits_leases || run.open > 0)
    }

    /// Keeps a run whose turn has come until the leases are taken and the runs that it waits for have ended.
    pub(crate) fn hold(&mut self, index: usize) {
        self.held.insert(index);
    }

    /// Takes all runs that are held; none of them will start.
    pub(crate) fn take_held(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.held)
    }

    /// The capabilities that other nodes of the job consume from this run's node, and their environment; `None` if
    /// there are none.
    pub(crate) fn products(&self, index: usize) -> Option<(&EnvironmentName, &[String])> {
        let products = &self.runs.get(&index)?.products;
        let environment = self.environment.as_ref()?;
        (!products.is_empty()).then_some((environment, products))
    }

    /// Records that a run succeeded. Returns the held runs that can start now.
    pub(crate) fn record_success(&mut self, index: usize) -> Vec<usize> {
        let mut released = Vec::new();
        for successor in self.end(index) {
            let Some(run) = self.runs.get_mut(&successor) else {
                continue;
            };
            run.open -= 1;
            let is_free = run.open == 0 && !self.awaits_leases;
            if is_free && self.held.remove(&successor) {
                released.push(successor);
            }
        }
        released
    }

    /// Records that the leases are taken. Returns the held runs that can start now.
    pub(crate) fn record_leases(&mut self) -> Vec<usize> {
        self.awaits_leases = false;
        let held = std::mem::take(&mut self.held);
        let (waiting, free): (BTreeSet<usize>, BTreeSet<usize>) =
            held.into_iter().partition(|index| self.is_waiting(*index));
        self.held = waiting;
        free.into_iter().collect()
    }

    /// Records that a run ended without success. Returns the runs that depend on it, directly or not, nearest first;
    /// each has ended with that.
    pub(crate) fn record_failure(&mut self, index: usize) -> Vec<BlockedRun> {
        let mut blocked = Vec::new();
        let mut ended = VecDeque::from([index]);
        while let Some(waits_for) = ended.pop_front() {
            for index in self.end(waits_for) {
                self.held.remove(&index);
                let Some(run) = self.runs.get_mut(&index).filter(|run| !run.is_over) else {
                    continue;
                };
                run.is_over = true;
                blocked.push(BlockedRun { index, waits_for });
                ended.push_back(index);
            }
        }
        blocked
    }

    /// Marks a run as ended. Returns the runs that wait for it, once.
    fn end(&mut self, index: usize) -> Vec<usize> {
        self.held.remove(&index);
        let Some(run) = self.runs.get_mut(&index) else {
            return Vec::new();
        };
        run.is_over = true;
        std::mem::take(&mut run.successors)
    }
}
