//! Puppet runs that are repeated: wave by wave until their nodes have converged, or pass by pass ([`passes`]) if nodes of
//! applications wait for each other.
//!
//! [`converge`] runs the waves as steps of a plan, so that they go on after a restart of the server;
//! [`ConvergenceProgress`] decides which nodes run again, and does no I/O. Invariants:
//! - every node of a wave has ended before a node runs again;
//! - a node runs again only if its run requested that, or data changed that its catalog was compiled from, or
//!   (strictly) it changed anything;
//! - a node that changes the same again and again is left out and named;
//! - over all jobs, neither a node nor the fleet has more reruns than [`RerunBudget`] allows.

mod built_in;
mod converge;
pub mod defaults;
mod descriptions;
mod node_run;
mod node_state;
mod options;
mod outcome;
pub mod passes;
mod plan_steps;
mod progress;
mod rerun_budget;
mod rerun_draw;
mod rerun_limiter;
#[cfg(test)]
mod tests;

pub use api_types::converge::{CONVERGENCE_PLAN, NOT_CONVERGED};
pub use built_in::{BuiltInConvergence, ConvergenceLaunch, InvalidConvergence};
pub use converge::{ComparedImports, ConvergenceRequest, ImportedData, converge};
pub use node_run::{ChangedResources, NodeRun, RequestedRerun, RunEnd};
pub use options::ConvergenceOptions;
pub use outcome::{ConvergenceOutcome, ConvergenceState, UnsettledNode};
pub use progress::{ConvergenceProgress, EndedWave, NextWave, RerunCounts};
pub use rerun_budget::{
    LeftOutNode, LeftOutReason, RerunAnswer, RerunBudget, RerunCandidate, RerunLimits, RerunRate,
    RerunWait,
};
pub use rerun_limiter::{RerunLimiter, RerunMetrics};
