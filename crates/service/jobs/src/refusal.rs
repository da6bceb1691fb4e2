//! Reasons that a job is not run: [`RunJobError`].
//!
//! Invariant: a refused job has changed nothing.

use environments::{BlobError, CodeError, ParamProblem};
use pxp::task::TaskName;

use crate::applications::{DependencyCycle, InvalidPasses};
use crate::plan_jobs::PlanJobError;
use crate::puppet::PuppetFlagError;
use crate::resolve::NodeResolveError;
use crate::submit::JobSubmitError;
use crate::targets::ScopeError;

/// Reason that a job was not run. Nothing was sent, and nothing stored unless stated otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunJobError {
    /// The environment or the task does not exist, or its code cannot be used.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The scope resolves to no nodes.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The nodes wait for each other.
    #[error(transparent)]
    Cycle(#[from] DependencyCycle),
    /// The environments of the nodes cannot be looked up.
    #[error("the environments of the nodes cannot be looked up: {0}")]
    Classify(NodeResolveError),
    /// Parameters that the task does not accept; all of them are listed.
    #[error("the parameters of `{task}` are wrong: {}", list_problems(problems))]
    Parameters {
        /// Name of the task.
        task: TaskName,
        /// The problems, one for each wrong parameter; they never contain its value.
        problems: Vec<ParamProblem>,
    },
    /// The task's metadata does not declare support for noop.
    #[error("`{0}` does not support noop (its metadata has no `supports_noop`)")]
    NoopUnsupported(TaskName),
    /// The text is not a valid user name for `run_as`.
    #[error("it cannot run as {user:?}: {why}")]
    RunAs {
        /// The user as requested.
        user: String,
        /// The problem with the user name.
        why: &'static str,
    },
    /// A Puppet option is invalid.
    #[error(transparent)]
    Flag(#[from] PuppetFlagError),
    /// A concurrency, timeout or rollout limit is invalid.
    #[error("{0}")]
    Limit(String),
    /// The task's files cannot be stored for the agents.
    #[error(transparent)]
    Files(#[from] BlobError),
    /// The job may not run as a step of its plan job.
    #[error(transparent)]
    Plan(#[from] PlanJobError),
    /// The engine did not accept the job.
    #[error(transparent)]
    Submit(#[from] JobSubmitError),
}

impl From<InvalidPasses> for RunJobError {
    fn from(error: InvalidPasses) -> Self {
        match error {
            InvalidPasses::Cycle(cycle) => Self::Cycle(cycle),
            InvalidPasses::TooMany => Self::Limit(error.to_string()),
        }
    }
}

/// Number of problems shown in a message; the list has all of them.
const SHOWN: usize = 10;

fn list_problems(problems: &[ParamProblem]) -> String {
    let mut shown: Vec<String> = problems
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect();
    if problems.len() > SHOWN {
        shown.push(format!("and {} more", problems.len() - SHOWN));
    }
    shown.join("; ")
}
