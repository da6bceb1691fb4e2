//! Requests for task jobs, and the reasons for refusing them.
//!
//! [`TaskRequest`] holds unchecked text; [`RunTaskError`] names everything that is wrong with it.
//! Invariant: a refused request has changed nothing.

use std::fmt;
use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::{BlobError, CodeError, ParamProblem};
use pcp::Certname;
use serde_json::{Map, Value};
use store::{PlanJournalWrite, SlotKey};

use crate::native::NativeAction;
use crate::over_ssh::OverSsh;
use crate::plan_jobs::PlanJobError;
use crate::submit::JobSubmitError;
use crate::targets::{NodeScope, ScopeError};

/// A request to run a task on nodes.
#[derive(Clone, Default)]
pub struct TaskRequest {
    /// The environment whose code is run.
    pub environment: String,
    /// Code id of the version of that environment to run; `None`: the current one.
    pub code_id: Option<String>,
    /// Name of the task, `module` or `module::task`.
    pub task: String,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters to be treated as secret, beside those that the metadata names.
    pub sensitive: Vec<String>,
    /// Action of a module that agents carry out instead of the task, if they have the module;
    /// otherwise they run the task. The rights needed are those for the task.
    pub native: Option<NativeAction>,
    /// The user on the nodes that runs the task; `None`: the user that the agent runs tasks as by
    /// default.
    pub run_as: Option<String>,
    /// The nodes to run on, before groups and queries are resolved.
    pub scope: NodeScope,
    /// The certnames that `scope` resolves to, if the caller has resolved it already.
    pub nodes: Option<Vec<Certname>>,
    /// Nodes that are reached over SSH for this job, whether they have an agent or not.
    pub over_ssh: OverSsh,
    /// Only show what would change; for tasks that can.
    pub noop: bool,
    /// Free text shown in lists and logs.
    pub description: String,
    /// Free keys and values, echoed with the job.
    pub userdata: Map<String, Value>,
    /// Timeout of the run on one node; `None`: the engine's default.
    pub timeout: Option<Duration>,
    /// Nodes at once, for this job; otherwise only `task_concurrency` bounds it.
    pub concurrency: Option<usize>,
    /// Batches, pauses between them, and how many nodes may fail.
    pub rollout: RolloutOptions,
    /// Login of the user who requested the job.
    pub owner: String,
    /// Id of that user; for a step of a plan job, it must be the id of the plan job's owner.
    pub owner_id: String,
    /// The plan job that this is a step of.
    pub plan_job: Option<i64>,
    /// Record about that plan which is stored with the job; `None` if this server does not run the
    /// plan.
    pub mark: Option<PlanJournalWrite>,
    /// True if the caller began before the server restarted: nodes that are disconnected just after
    /// the restart then get time to reconnect.
    pub after_restart: bool,
    /// The slot of a schedule that it runs for; a slot has one job at most.
    pub slot: Option<SlotKey>,
}

/// Reason that a task was not run. Nothing was sent, and nothing stored unless stated otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunTaskError {
    /// The text is not a valid environment name.
    #[error("`{name}` is not an environment's name: {reason}")]
    EnvironmentName {
        /// The name as requested.
        name: String,
        /// The problem with the name.
        reason: String,
    },
    /// There is no such environment.
    #[error(transparent)]
    UnknownEnvironment(CodeError),
    /// The text is not a valid task name.
    #[error("`{name}` is not a task's name: {reason}")]
    TaskName {
        /// The name as requested.
        name: String,
        /// The problem with the name.
        reason: String,
    },
    /// The environment has no such task.
    #[error(transparent)]
    UnknownTask(CodeError),
    /// The scope resolves to no nodes.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// Parameters that the task does not accept; all of them are listed.
    #[error("the parameters of `{task}` are wrong: {}", list_problems(problems))]
    Parameters {
        /// Name of the task.
        task: String,
        /// The problems, one for each wrong parameter; they never contain its value.
        problems: Vec<ParamProblem>,
    },
    /// The task's metadata does not declare support for noop.
    #[error("`{0}` does not support noop (its metadata has no `supports_noop`)")]
    NoopUnsupported(String),
    /// The text is not a valid user name for `run_as`.
    #[error("it cannot run as {user:?}: {why}")]
    RunAs {
        /// The user as requested.
        user: String,
        /// The problem with the user name.
        why: &'static str,
    },
    /// A concurrency, timeout or rollout limit is invalid.
    #[error("{0}")]
    Limit(String),
    /// The task's metadata or code cannot be used.
    #[error(transparent)]
    Code(CodeError),
    /// The task's files cannot be stored for the agents.
    #[error(transparent)]
    Files(#[from] BlobError),
    /// The task may not run as a step of its plan job.
    #[error(transparent)]
    Plan(#[from] PlanJobError),
    /// The engine did not accept the job.
    #[error(transparent)]
    Submit(#[from] JobSubmitError),
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

impl From<CodeError> for RunTaskError {
    fn from(error: CodeError) -> Self {
        match error {
            CodeError::UnknownEnvironment { .. } => Self::UnknownEnvironment(error),
            CodeError::UnknownTask { .. } => Self::UnknownTask(error),
            _ => Self::Code(error),
        }
    }
}

/// Leaves out the values of parameters.
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
