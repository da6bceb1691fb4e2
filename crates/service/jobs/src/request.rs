//! What a caller asks for, and why it may be refused.
//!
//! [`TaskRequest`] is text as it came; [`RunTaskError`] names everything that is wrong with it. The
//! rule: a refused request has changed nothing.

use std::fmt;
use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::{BlobError, CodeError, ParamProblem};
use pcp::Certname;
use serde_json::{Map, Value};
use store::{PlanMark, SlotKey};

use crate::native::Native;
use crate::over_ssh::OverSsh;
use crate::plan_jobs::PlanJobError;
use crate::submit::SubmitError;
use crate::targets::{Scope, ScopeError};

/// A task to be run on nodes.
#[derive(Clone, Default)]
pub struct TaskRequest {
    /// The environment whose code is run.
    pub environment: String,
    /// The version of it; the present one otherwise.
    pub code_id: Option<String>,
    /// `module` or `module::task`.
    pub task: String,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters to be treated as secret, beside those that the metadata names.
    pub sensitive: Vec<String>,
    /// What agents do by a module of their own instead, if they have it; then the task is what they do
    /// otherwise, and what rights are needed for.
    pub native: Option<Native>,
    /// The user of the nodes who runs it; whoever agents run things as otherwise.
    pub run_as: Option<String>,
    /// Where.
    pub scope: Scope,
    /// What `scope` comes to, where the caller knows already.
    pub nodes: Option<Vec<Certname>>,
    /// Nodes that are reached over SSH for this job, whether they have an agent or not.
    pub over_ssh: OverSsh,
    /// Only show what would change; for tasks that can.
    pub noop: bool,
    /// For people.
    pub description: String,
    /// Free keys and values, echoed with the job.
    pub userdata: Map<String, Value>,
    /// How long one node may take; the engine's default otherwise.
    pub timeout: Option<Duration>,
    /// Nodes at once, for this job; otherwise only `task_concurrency` bounds it.
    pub concurrency: Option<usize>,
    /// Batches, pauses between them, and how many nodes may fail.
    pub rollout: RolloutOptions,
    /// The login of who asks.
    pub owner: String,
    /// His id; for a step of a plan job, which must be his.
    pub owner_id: String,
    /// The plan job that this is a step of.
    pub plan_job: Option<i64>,
    /// What is written of that plan with the job, if this server runs the plan.
    pub mark: Option<PlanMark>,
    /// If this server came back just now, nodes that are away get time to do so too, since whoever asks
    /// was there before.
    pub after_restart: bool,
    /// The slot of a schedule that it runs for; a slot has one job at most.
    pub slot: Option<SlotKey>,
}

/// Why a task was not run. Nothing was sent, and nothing stored unless said otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunTaskError {
    /// The name cannot be an environment's.
    #[error("`{name}` is not an environment's name: {reason}")]
    EnvironmentName {
        /// As asked.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such environment.
    #[error(transparent)]
    UnknownEnvironment(CodeError),
    /// The name cannot be a task's.
    #[error("`{name}` is not a task's name: {reason}")]
    TaskName {
        /// As asked.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The environment has no such task.
    #[error(transparent)]
    UnknownTask(CodeError),
    /// The scope comes to no nodes.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// Parameters that the task does not take as they are; all of them.
    #[error("the parameters of `{task}` are wrong: {}", list(problems))]
    Parameters {
        /// The task.
        task: String,
        /// Never with a value.
        problems: Vec<ParamProblem>,
    },
    /// The task does not say that it can.
    #[error("`{0}` does not support noop (its metadata has no `supports_noop`)")]
    NoopUnsupported(String),
    /// The user whom it is to run as cannot be one.
    #[error("it cannot run as {user:?}: {why}")]
    RunAs {
        /// As asked.
        user: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A limit that makes no sense.
    #[error("{0}")]
    Limit(String),
    /// The task's metadata or code cannot be used.
    #[error(transparent)]
    Code(CodeError),
    /// The task's files cannot be kept for the agents.
    #[error(transparent)]
    Files(#[from] BlobError),
    /// It cannot be a step of its plan job.
    #[error(transparent)]
    Plan(#[from] PlanJobError),
    /// The job was not taken.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// How many problems stand in a message; the rest is in the list.
const SHOWN: usize = 10;

fn list(problems: &[ParamProblem]) -> String {
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

impl From<CodeError> for RunTaskError {
    fn from(error: CodeError) -> Self {
        match error {
            CodeError::UnknownEnvironment { .. } => Self::UnknownEnvironment(error),
            CodeError::UnknownTask { .. } => Self::UnknownTask(error),
            _ => Self::Code(error),
        }
    }
}

/// Never the values of parameters.
impl fmt::Debug for TaskRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRequest")
            .field("environment", &self.environment)
            .field("task", &self.task)
            .field("params", &self.params.keys().collect::<Vec<_>>())
            .field("scope", &self.scope)
            .field("noop", &self.noop)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
