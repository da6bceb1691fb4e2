//! The result of repeated runs: [`ConvergenceOutcome`].
//!
//! Invariant: a node that has not converged is counted, and explained unless there are too many.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::defaults::LISTED_NODES;
use crate::node_state::{NodeState, RerunReason};

/// The result for all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConvergenceOutcome {
    pub state: ConvergenceState,
    pub waves: u32,
    /// Number of nodes by the number of their runs of Puppet.
    pub nodes_by_runs: BTreeMap<u32, usize>,
    /// Nodes that have not converged.
    pub unsettled: BTreeMap<String, UnsettledNode>,
    /// Number of further ones.
    pub unsettled_omitted: usize,
}

/// The state of the nodes together: that of the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceState {
    /// No node has a reason to run again.
    Converged,
    /// It is not known whether nodes have one.
    Unknown,
    /// The last wave has ended, and nodes would run again.
    Capped,
    /// A node would run again, and its reruns over all jobs are used up.
    Throttled,
    /// A node changes the same again and again.
    Stalled,
    /// A node failed, or did not run.
    Failed,
}

/// A node that has not converged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsettledNode {
    pub state: ConvergenceState,
    /// The reason, in a sentence.
    pub reason: String,
    /// Resources that changed in the same way as in an earlier run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

// === impl ConvergenceOutcome ===

impl ConvergenceOutcome {
    pub(crate) fn new(waves: u32) -> Self {
        Self {
            state: ConvergenceState::Converged,
            waves,
            nodes_by_runs: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            unsettled_omitted: 0,
        }
    }

    pub(crate) fn add(&mut self, certname: String, runs: u32, unsettled: Option<UnsettledNode>) {
        *self.nodes_by_runs.entry(runs).or_default() += 1;
        let Some(unsettled) = unsettled else { return };
        self.state = self.state.max(unsettled.state);
        if self.unsettled.len() < LISTED_NODES {
            self.unsettled.insert(certname, unsettled);
        } else {
            self.unsettled_omitted += 1;
        }
    }

    /// The end in a sentence.
    pub fn describe(&self) -> String {
        let waves = match self.waves {
            1 => "1 wave".to_owned(),
            waves => format!("{waves} waves"),
        };
        let total: usize = self.nodes_by_runs.values().sum();
        match self.unsettled_count() {
            0 => format!("all nodes have converged after {waves}"),
            count => {
                let have = if count == 1 { "has" } else { "have" };
                let nodes = count_nodes(total);
                format!("{count} of {nodes} {have} not converged after {waves}")
            }
        }
    }

    /// Number of nodes that have not converged.
    pub fn unsettled_count(&self) -> usize {
        self.unsettled.len() + self.unsettled_omitted
    }

    /// Number of runs of Puppet.
    pub fn runs(&self) -> u64 {
        let product = |(runs, nodes): (&u32, &usize)| u64::from(*runs) * (*nodes as u64);
        self.nodes_by_runs.iter().map(product).sum()
    }
}

// === impl UnsettledNode ===

impl UnsettledNode {
    /// `None` for a node that has converged.
    pub(crate) fn of(state: NodeState) -> Option<Self> {
        let node = |state, reason| Self {
            state,
            reason,
            resources: Vec::new(),
        };
        Some(match state {
            NodeState::Settled => return None,
            NodeState::UnknownImports => node(
                ConvergenceState::Unknown,
                "it is not known whether data of other nodes have changed since its last run"
                    .to_owned(),
            ),
            NodeState::Repeating { resources } => Self {
                resources,
                ..node(
                    ConvergenceState::Stalled,
                    "it changed the same as in an earlier run".to_owned(),
                )
            },
            NodeState::Unfinished { reason } => {
                let reason = match reason {
                    RerunReason::Requested => "its last run requested another one",
                    RerunReason::ImportedData => {
                        "data of other nodes have changed since its last run"
                    }
                    RerunReason::Changed => "its last run changed something",
                    RerunReason::Skipped => "a node that it waits for would run again",
                };
                node(ConvergenceState::Capped, reason.to_owned())
            }
            NodeState::WithoutRerun { message } => node(ConvergenceState::Throttled, message),
            NodeState::Failed { message }
            | NodeState::NotRun { message }
            | NodeState::Skipped { message, .. } => node(ConvergenceState::Failed, message),
        })
    }
}

/// The number of nodes in words.
pub(crate) fn count_nodes(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}
