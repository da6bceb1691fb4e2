//! Passes in which nodes run that wait for each other: [`RunPasses`].
//!
//! A node of such a cycle runs several times: first without the components whose producers have not run yet, and at
//! last with all of them. Invariants: each pass is an order without cycle; a component is compiled for the first time
//! when its producers have run in an earlier pass, or run before it in the same one; nodes that are in no cycle run once.

mod planner;
mod source_groups;
#[cfg(test)]
mod tests;

use pcp::Certname;
use serde::{Deserialize, Serialize};

use self::planner::PassPlanner;
use super::{DependencyCycle, EnvironmentApplications};
use crate::defaults::PASSES_MAX;

/// The passes of a job's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPasses {
    /// The passes in the order in which they run.
    pub passes: Vec<RunPass>,
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
    /// Nodes from which components consume that are compiled here for the first time. They run in this pass or in an
    /// earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Certname>,
    /// Capabilities that other nodes of the job consume from components that are compiled here for the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<String>,
    /// References of the components that are left for a later pass; empty in the last run of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
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

// === impl RunPasses ===

impl RunPasses {
    /// The passes of these nodes, of which each occurs once. As in [`NodeOrder`](super::NodeOrder), nodes that are not
    /// named are not waited for.
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
        Ok(Self { passes })
    }
}
