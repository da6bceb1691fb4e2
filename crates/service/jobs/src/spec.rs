//! A job as the entries of the server request it: [`JobSpec`].
//!
//! Invariant: names are parsed by the entry, once; [`Jobs::run`](crate::Jobs::run) checks them
//! against the code and the nodes that there are.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api_types::rollout::RolloutOptions;
use environments::EnvironmentName;
use pcp::Certname;
use pxp::action::CodeId;
use pxp::task::TaskName;
use serde_json::{Map, Value};
use store::{PlanJournalWrite, SlotKey};

use crate::applications::{PassLease, RunPass};
use crate::kind::JobKind;
use crate::native::NativeAction;
use crate::node_params::NodeParamsSource;
use crate::over_ssh::OverSsh;
use crate::puppet::{CatalogCode, PinnedCode, PuppetFlags};
use crate::targets::NodeScope;

/// A job to be run: the same work on each of its nodes.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// The work on each node.
    pub work: JobWork,
    /// The nodes to run on, before groups and queries are resolved.
    pub scope: NodeScope,
    /// The certnames that `scope` resolves to, if the caller has resolved it already.
    pub nodes: Option<Vec<Certname>>,
    /// Limits on time, on nodes at once and on failures.
    pub limits: JobLimits,
    /// Free text shown in lists and logs.
    pub description: String,
    /// Free keys and values, echoed with the job.
    pub userdata: Map<String, Value>,
    /// Login of the user who requested the job.
    pub owner: String,
    /// Id of that user; for a step of a plan job, it must be the id of the plan job's owner.
    pub owner_id: String,
    /// The slot of a schedule that it runs for; a slot has one job at most.
    pub slot: Option<SlotKey>,
    /// The step of a plan job that it is; `None` outside plans.
    pub plan_step: Option<JobPlanStep>,
}

/// Limits of a job.
#[derive(Clone, Debug, Default)]
pub struct JobLimits {
    /// Timeout of the run on one node; `None`: the engine's default.
    pub timeout: Option<Duration>,
    /// Nodes at once, for this job; otherwise only `task_concurrency`, or for Puppet runs
    /// `global_concurrent_compiles`, bounds it.
    pub concurrency: Option<usize>,
    /// Batches, pauses between them, and how many nodes may fail.
    pub rollout: RolloutOptions,
}

/// The plan job that a job is a step of.
#[derive(Clone, Debug)]
pub struct JobPlanStep {
    /// Number of the plan job.
    pub plan_job: i64,
    /// Record about that plan which is stored with the job; `None` if this server does not run the
    /// plan.
    pub mark: Option<PlanJournalWrite>,
    /// True if the plan began before the server restarted: nodes that are disconnected just after
    /// the restart then get time to reconnect.
    pub after_restart: bool,
}

/// The work of a job on each of its nodes.
#[derive(Clone, Debug)]
pub enum JobWork {
    /// Runs a task.
    Task(TaskWork),
    /// Runs a native action.
    Native {
        /// The action, which agents carry out if they have its module.
        action: NativeAction,
        /// The task that other agents run. The rights needed are those for this task.
        task: TaskWork,
    },
    /// Runs Puppet.
    Puppet(PuppetWork),
}

/// A task with its parameters.
#[derive(Clone)]
pub struct TaskWork {
    /// The environment whose code is run.
    pub environment: EnvironmentName,
    /// Code id of the version of that environment to run; `None`: the current one.
    pub code_id: Option<String>,
    /// Name of the task.
    pub name: TaskName,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Parameters that each node has for itself; `None` if all nodes have the same. They are secret.
    pub node_params: Option<Arc<dyn NodeParamsSource>>,
    /// Names of parameters to be treated as secret, beside those that the metadata names.
    pub sensitive: Vec<String>,
    /// The user on the nodes that runs the task; `None`: the user that the agent runs tasks as by
    /// default.
    pub run_as: Option<String>,
    /// Only show what would change; for tasks that can.
    pub noop: bool,
    /// The reason that the task is run.
    pub purpose: TaskPurpose,
    /// Code of modules that is sent with the task.
    pub plugins: TaskPlugins,
    /// Nodes that are reached over SSH for this job, whether they have an agent or not.
    pub over_ssh: OverSsh,
}

/// The reason that a task is run, which names its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskPurpose {
    /// A user, a plan or a schedule names the task.
    #[default]
    Task,
    /// An `apply` block of a plan.
    Apply,
    /// `apply_prep` of a plan.
    ApplyPrep,
}

/// The code of all modules that Puppet needs on a node, without pluginsync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TaskPlugins {
    /// The task needs none.
    #[default]
    None,
    /// Resource types and providers, with what they load.
    Types,
    /// Facts.
    Facts {
        /// Names of the modules whose facts are sent; those of all if there are none.
        modules: Vec<String>,
    },
}

/// An on-demand Puppet run.
#[derive(Clone, Debug, Default)]
pub struct PuppetWork {
    /// The environment to run in; `None`: each node runs in its own.
    pub environment: Option<PuppetEnvironment>,
    /// Options of the Puppet run.
    pub flags: PuppetFlags,
    /// Code version that the catalogs are compiled from.
    pub code: CatalogCode,
    /// The levels of the environment's applications are the batches of the job.
    pub has_barrier: bool,
    /// Nodes of applications on which the run does not succeed are kept from running Puppet by themselves.
    pub has_quarantine: bool,
    /// The pass that the runs are; `None`: their nodes run once, in the order of the environment's applications.
    pub pass: Option<RunPass>,
    /// The lease that the job shares with those of other passes; `None`: it has one of its own.
    pub pass_lease: Option<PassLease>,
    /// Requests of the runs to be repeated come with the results of agents that can do so, and the nodes do not repeat
    /// the runs themselves.
    pub reports_reruns: bool,
}

/// The environment of a Puppet run.
#[derive(Clone, Debug)]
pub struct PuppetEnvironment {
    /// Name of the environment.
    pub name: EnvironmentName,
    /// A node that is classified into another environment does not run.
    pub is_enforced: bool,
}

// === impl JobSpec ===

impl JobSpec {
    /// A job without limits, owner and texts.
    pub fn new(work: JobWork, scope: NodeScope) -> Self {
        Self {
            work,
            scope,
            nodes: None,
            limits: JobLimits::default(),
            description: String::new(),
            userdata: Map::new(),
            owner: String::new(),
            owner_id: String::new(),
            slot: None,
            plan_step: None,
        }
    }
}

// === impl JobWork ===

impl JobWork {
    /// The task that is run, or that stands in for a native action.
    pub fn task(&self) -> Option<&TaskWork> {
        match self {
            Self::Task(task) | Self::Native { task, .. } => Some(task),
            Self::Puppet(_) => None,
        }
    }

    /// As [`JobWork::task`], to change it.
    pub fn task_mut(&mut self) -> Option<&mut TaskWork> {
        match self {
            Self::Task(task) | Self::Native { task, .. } => Some(task),
            Self::Puppet(_) => None,
        }
    }

    /// The environment; `None`: each node's own.
    pub fn environment(&self) -> Option<&EnvironmentName> {
        match self {
            Self::Task(task) | Self::Native { task, .. } => Some(&task.environment),
            Self::Puppet(run) => run.environment.as_ref().map(|it| &it.name),
        }
    }

    /// The environment as text, empty if each node has its own.
    pub(crate) fn environment_text(&self) -> &str {
        self.environment().map_or("", EnvironmentName::as_str)
    }

    /// The environment that all nodes of a Puppet run are to use; `None`: each uses its own, or that is allowed.
    pub(crate) fn enforced_environment(&self) -> Option<&EnvironmentName> {
        let Self::Puppet(run) = self else { return None };
        let environment = run.environment.as_ref()?;
        let is_enforced = environment.is_enforced || run.code.pinned().is_some();
        is_enforced.then_some(&environment.name)
    }

    /// The version that the nodes of Puppet runs get; `None`: the live one.
    pub(crate) fn pinned_code(&self) -> Option<PinnedCode> {
        let Self::Puppet(run) = self else { return None };
        Some(PinnedCode {
            environment: self.environment()?.to_string(),
            code_id: run.code.pinned()?.clone(),
        })
    }

    /// The version whose applications order the nodes; `None`: the live one.
    pub(crate) fn known_code_id(&self) -> Option<CodeId> {
        match self {
            Self::Puppet(run) => run.code.code_id(),
            Self::Task(task) | Self::Native { task, .. } => task.code_id.as_ref()?.parse().ok(),
        }
    }

    pub(crate) fn is_noop(&self) -> bool {
        match self {
            Self::Task(task) | Self::Native { task, .. } => task.noop,
            Self::Puppet(run) => run.flags.noop,
        }
    }

    pub(crate) fn kind(&self) -> JobKind {
        match self {
            Self::Task(task) => match task.purpose {
                TaskPurpose::Task => JobKind::Task,
                TaskPurpose::Apply => JobKind::Apply,
                TaskPurpose::ApplyPrep => JobKind::ApplyPrep,
            },
            Self::Native { action, .. } => action.kind(),
            Self::Puppet(_) => JobKind::Puppet,
        }
    }
}

// === impl TaskWork ===

impl TaskWork {
    /// The task without parameters and options.
    pub fn new(environment: EnvironmentName, name: TaskName) -> Self {
        Self {
            environment,
            code_id: None,
            name,
            params: Map::new(),
            node_params: None,
            sensitive: Vec::new(),
            run_as: None,
            noop: false,
            purpose: TaskPurpose::default(),
            plugins: TaskPlugins::default(),
            over_ssh: OverSsh::default(),
        }
    }
}

/// Leaves out the values of parameters.
impl fmt::Debug for TaskWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWork")
            .field("environment", &self.environment)
            .field("name", &self.name)
            .field("params", &self.params.keys().collect::<Vec<_>>())
            .field("noop", &self.noop)
            .finish_non_exhaustive()
    }
}
