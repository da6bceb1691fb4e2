//! The result of all passes: [`MultiPassOutcome`].
//!
//! Invariant: a node without success is counted, and explained unless there are too many.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::defaults::LISTED_NODES;
use crate::outcome::count_nodes;

/// The result for all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MultiPassOutcome {
    pub state: MultiPassState,
    /// Number of planned passes.
    pub passes: u32,
    /// Number of nodes by the number of their runs of Puppet.
    pub nodes_by_runs: BTreeMap<u32, usize>,
    /// Nodes that did not succeed, by certname, with the reason of each.
    pub unsuccessful: BTreeMap<String, UnsuccessfulNode>,
    /// Number of further ones.
    pub unsuccessful_omitted: usize,
}

/// The state of a node, or of all together: that of the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MultiPassState {
    /// All runs succeeded.
    Succeeded,
    /// A node did not succeed that this one waits for.
    Skipped,
    /// Puppet did not run.
    NotRun,
    /// Puppet ran, and failed.
    Failed,
}

/// A node without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsuccessfulNode {
    pub state: MultiPassState,
    /// Number of the pass, from 1.
    pub pass: u32,
    /// The reason, in a sentence.
    pub reason: String,
    /// Kind of the error; `None` unless the node was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The node whose run did not succeed; `None` unless this one was skipped because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

// === impl MultiPassOutcome ===

impl MultiPassOutcome {
    pub(super) fn new(passes: u32) -> Self {
        Self {
            state: MultiPassState::Succeeded,
            passes,
            nodes_by_runs: BTreeMap::new(),
            unsuccessful: BTreeMap::new(),
            unsuccessful_omitted: 0,
        }
    }

    pub(super) fn add(
        &mut self,
        certname: String,
        runs: u32,
        unsuccessful: Option<UnsuccessfulNode>,
    ) {
        *self.nodes_by_runs.entry(runs).or_default() += 1;
        let Some(unsuccessful) = unsuccessful else {
            return;
        };
        self.state = self.state.max(unsuccessful.state);
        if self.unsuccessful.len() < LISTED_NODES {
            self.unsuccessful.insert(certname, unsuccessful);
        } else {
            self.unsuccessful_omitted += 1;
        }
    }

    /// The end in a sentence.
    pub fn describe(&self) -> String {
        let passes = match self.passes {
            1 => "1 pass".to_owned(),
            passes => format!("{passes} passes"),
        };
        let nodes = count_nodes(self.nodes_by_runs.values().sum());
        match self.unsuccessful.len() + self.unsuccessful_omitted {
            0 => format!("all nodes succeeded in {passes}"),
            count => format!("{count} of {nodes} did not succeed in {passes}"),
        }
    }
}
