//! Passes in which nodes run that wait for each other: [`RunPasses`].
//!
//! A node of such a cycle runs several times: first without the components whose producers have not run yet, and at
//! last with all of them. Invariants: each pass is an order without cycle; a component is compiled for the first time
//! when its producers have run in an earlier pass, or run before it in the same one; nodes that are in no cycle run once.

mod planner;
mod source_groups;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use pcp::Certname;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::planner::PassPlanner;
use super::{DependencyCycle, EnvironmentApplications, NodeOrder, NodeProduct};
use crate::defaults::PASSES_MAX;

/// The passes of a job's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPasses {
    /// The passes in the order in which they run.
    pub passes: Vec<RunPass>,
    /// The lease of their nodes; `None` for a single pass, and in plan jobs of older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Uuid>,
}

/// The lease that keeps other runs of Puppet from starting on the nodes of several passes, from the first to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassLease {
    pub id: Uuid,
    /// The nodes that run in a later pass.
    pub later: Vec<Certname>,
}

/// Runs that are one job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPass {
    /// Each node once; a node stands behind those of the pass that it waits for.
    pub nodes: Vec<PassNode>,
}

/// The run of a node in a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassNode {
    pub node: Certname,
    /// Nodes whose runs in this pass produce what components consume that are compiled here for the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Certname>,
    /// Runs in earlier passes that produce it; of each node the last one that does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<EarlierRun>,
    /// Capabilities that other nodes of the job consume from components that are compiled here for the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<String>,
    /// The components that are left for a later pass; empty in the last run of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<WaitingComponent>,
}

/// A component that is left for a later pass. If all that it needs is there from earlier runs, it is compiled nevertheless:
/// a catalog without it could remove what it manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingComponent {
    pub reference: String,
    /// Capabilities of other nodes that it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NodeProduct>,
    /// References of components of the same node that produce for it, and are left for later themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<String>,
}

/// The run of a node in an earlier pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierRun {
    pub node: Certname,
    /// Number of the pass, from 1.
    pub pass: usize,
}

/// Reason that the nodes cannot run in passes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPasses {
    /// Components wait for each other.
    #[error(transparent)]
    Cycle(#[from] DependencyCycle),
    /// A bound keeps the passes from growing with the number of components.
    #[error(
        "multi_pass: the nodes would run in more than {PASSES_MAX} passes; map the components to other nodes"
    )]
    TooMany,
}

// === impl RunPass ===

impl RunPass {
    /// The number of each node's level within the pass, as in [`NodeOrder::levels`].
    pub fn levels(&self) -> Vec<usize> {
        NodeOrder::of_pass(self).levels()
    }
}

// === impl PassNode ===

impl PassNode {
    /// All nodes that it waits for, in this pass and in earlier ones.
    pub fn producers(&self) -> BTreeSet<&Certname> {
        let earlier = self.after.iter().map(|run| &run.node);
        self.waits_for.iter().chain(earlier).collect()
    }
}

// === impl RunPasses ===

impl RunPasses {
    /// The passes of these nodes, of which each occurs once. As in [`NodeOrder`], nodes that are not named are not waited
    /// for.
    ///
    /// # Errors
    /// Components wait for each other, or there are too many passes.
    pub fn new(
        applications: &EnvironmentApplications,
        nodes: &[Certname],
    ) -> Result<Self, InvalidPasses> {
        let mut planner = PassPlanner::new(applications, nodes);
        let mut passes = Vec::new();
        while !planner.is_done() {
            if passes.len() == PASSES_MAX {
                return Err(InvalidPasses::TooMany);
            }
            passes.push(planner.plan_pass()?);
        }
        let lease = (passes.len() > 1).then(Uuid::new_v4);
        Ok(Self { passes, lease })
    }
}
