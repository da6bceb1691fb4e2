//! Kinds of jobs, and the differences between them.
//!
//! Invariant of [`JobKind`]: every difference between tasks, commands and Puppet runs (the requested
//! module, the slots, the words of events, the shape of results) is chosen by it and nowhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use pki::seal::SealKey;
use pxp::action::{self, ActionResult, RunWithParams};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use store::JobNumber;

use crate::download::DownloadDirectory;
use crate::file_server::StockParams;
use crate::node_params::NodeParams;
use crate::node_params_budget::NodeParamsBudget;
use crate::outcome::{self, OutcomeContext, RunOutcome};
use crate::over_ssh::OverSsh;
use crate::program;
use crate::scheduler::SlotPool;
use crate::state::JobState;

/// The kind of action that a job carries out on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum JobKind {
    /// Runs a task.
    Task,
    /// Runs the task that applies a catalog.
    Apply,
    /// Runs the task that prepares a node for catalogs.
    ApplyPrep,
    /// Runs a shell command line.
    Command,
    /// Runs a script that is a file of the server.
    Script,
    /// Copies a file of the server to the node.
    Upload,
    /// Copies a file of the node to the server.
    Download,
    /// An on-demand Puppet run.
    Puppet,
}

/// The request that every node of a job gets, less its transaction id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobAction {
    pub(crate) module: String,
    pub(crate) action: String,
    pub(crate) params: Arc<RawValue>,
    /// Parameters that each node has for itself.
    #[serde(default)]
    pub(crate) node_params: Arc<NodeParams>,
    /// SSH connections of nodes that the job requests to be reached over SSH.
    #[serde(default)]
    pub(crate) over_ssh: Arc<OverSsh>,
    /// Task for agents without the module.
    #[serde(default)]
    pub(crate) task: Option<Arc<TaskFallback>>,
    /// Destination on the server for the files of a download.
    #[serde(default)]
    pub(crate) place: Option<Arc<DownloadDirectory>>,
    /// Parameters in the form for stock agents.
    #[serde(skip)]
    pub(crate) stock: Arc<StockParams>,
}

/// A task that does the same as a module.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskFallback {
    pub(crate) name: String,
    pub(crate) params: Box<RawValue>,
}

/// Action that only Tutti's own agents have beside `run`.
pub(crate) const RUN_WITH: &str = "run_with";

/// The command of jobs that run Puppet.
pub const DEPLOY: &str = "deploy";

// === impl JobKind ===

impl JobKind {
    /// True for kinds that run a task because it is that task.
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Self::Task | Self::Apply | Self::ApplyPrep)
    }

    /// The pool whose slots its runs take.
    pub(crate) fn pool(self) -> SlotPool {
        match self {
            Self::Puppet => SlotPool::Compiles,
            _ => SlotPool::Actions,
        }
    }

    /// The states that a job enters when it is made, as PE has them.
    pub(crate) fn initial_states(self) -> &'static [JobState] {
        match self {
            Self::Puppet => &[JobState::New, JobState::Ready],
            _ => &[JobState::Ready],
        }
    }

    /// Parses a job's command as stored.
    pub(crate) fn from_command(command: &str) -> Self {
        match command {
            DEPLOY => Self::Puppet,
            "apply" => Self::Apply,
            "apply_prep" => Self::ApplyPrep,
            "command" => Self::Command,
            "script" => Self::Script,
            "upload" => Self::Upload,
            "download" => Self::Download,
            _ => Self::Task,
        }
    }

    /// A job's command as stored, and its name as a step of a plan.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Task => ("task", "plan_task"),
            Self::Apply => ("apply", "plan_apply"),
            Self::ApplyPrep => ("apply_prep", "plan_apply_prep"),
            Self::Command => ("command", "plan_command"),
            Self::Script => ("script", "plan_script"),
            Self::Upload => ("upload", "plan_upload"),
            Self::Download => ("download", "plan_download"),
            Self::Puppet => (DEPLOY, DEPLOY),
        }
    }

    /// Shapes the end of a run from the agent's result. `as_task`: a task was run instead of the
    /// module.
    pub(crate) fn shape(
        self,
        as_task: bool,
        result: &ActionResult,
        known: OutcomeContext,
        keep: Option<&SealKey>,
    ) -> RunOutcome {
        match self {
            Self::Command | Self::Script if as_task => program::shape_task(result, known),
            Self::Command | Self::Script => program::shape(result, known),
            Self::Task | Self::Apply | Self::ApplyPrep | Self::Upload | Self::Puppet => {
                outcome::shape(result, known, keep)
            }
            // Without a destination the file is stored nowhere, least of all in the result.
            Self::Download => outcome::shape_unreadable("where its files go is not known any more"),
        }
    }
}

// === impl JobAction ===

impl JobAction {
    pub(crate) fn new(module: &str, action: &str, params: Box<RawValue>) -> Self {
        Self {
            module: module.to_owned(),
            action: action.to_owned(),
            params: Arc::from(params),
            node_params: Arc::default(),
            over_ssh: Arc::default(),
            task: None,
            place: None,
            stock: Arc::default(),
        }
    }

    pub(crate) fn with_node_params(self, node_params: NodeParams) -> Self {
        let node_params = Arc::new(node_params);
        Self {
            node_params,
            ..self
        }
    }

    /// Counts the memory of the parameters of nodes that were stored before a restart.
    pub(crate) fn with_counted_params(mut self, budget: &NodeParamsBudget) -> Self {
        let params = std::mem::take(&mut self.node_params);
        // it was read just now, so there is no other copy
        if let Some(params) = Arc::into_inner(params) {
            self.node_params = Arc::new(params.counted_in(budget));
        }
        self
    }

    pub(crate) fn with_over_ssh(self, over_ssh: OverSsh) -> Self {
        let over_ssh = Arc::new(over_ssh);
        Self { over_ssh, ..self }
    }

    /// Runs the action as another user, or with environment variables; that is a separate action,
    /// so that agents which know only `run` refuse it.
    pub(crate) fn with_user_and_env(
        self,
        run_as: Option<String>,
        env: BTreeMap<String, String>,
    ) -> Self {
        if run_as.is_none() && env.is_empty() {
            return self;
        }
        let said = match self.action == RUN_WITH {
            true => action::decode::<RunWithParams>(&self.params).ok(),
            false => None,
        };
        let mut with = said.unwrap_or_else(|| RunWithParams {
            run: RawValue::to_owned(&self.params),
            run_as: None,
            env: BTreeMap::new(),
        });
        with.run_as = run_as.or(with.run_as);
        with.env.extend(env);
        Self {
            action: RUN_WITH.to_owned(),
            params: Arc::from(action::encode(&with)),
            ..self
        }
    }

    /// Uses the action that only Tutti's own agents have, so that a stock agent refuses it and gets
    /// the task.
    pub(crate) fn for_tutti_agents(self) -> Self {
        if self.action == RUN_WITH {
            return self;
        }
        let with = RunWithParams {
            run: RawValue::to_owned(&self.params),
            run_as: None,
            env: BTreeMap::new(),
        };
        Self {
            action: RUN_WITH.to_owned(),
            params: Arc::from(action::encode(&with)),
            ..self
        }
    }

    /// Adds a task for agents without the module.
    pub(crate) fn with_task_fallback(self, name: &str, params: Box<RawValue>) -> Self {
        let name = name.to_owned();
        let task = Some(Arc::new(TaskFallback { name, params }));
        Self { task, ..self }
    }

    /// Sets the destination on the server for downloaded files.
    pub(crate) fn with_download(self, place: DownloadDirectory) -> Self {
        let place = Some(Arc::new(place));
        Self { place, ..self }
    }

    /// Adds the job's number if the kind sends it to the node: Puppet writes it into its report.
    pub(crate) fn with_job_number(self, kind: JobKind, job: JobNumber) -> Self {
        let JobKind::Puppet = kind else { return self };
        let Ok(mut params) = action::decode::<Map<String, Value>>(&self.params) else {
            // The parameters were serialized from an object.
            return self;
        };
        params.insert("job".to_owned(), Value::from(job.to_string()));
        let params = Arc::from(action::encode(&params));
        Self { params, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn puppet_is_told_the_number_of_its_job_and_a_task_is_not() {
        let params = || action::encode(&json!({"flags": ["--noop"], "env": []}));
        let action = || JobAction::new("m", "run", params());
        let told = action().with_job_number(JobKind::Puppet, JobNumber::new(7).unwrap());
        let told: Value = serde_json::from_str(told.params.get()).unwrap();
        assert_eq!(told, json!({"flags": ["--noop"], "env": [], "job": "7"}));
        let task = action().with_job_number(JobKind::Task, JobNumber::new(7).unwrap());
        assert_eq!(task.params.get(), params().get());
    }

    #[test]
    fn a_user_and_variables_are_another_action() {
        let none = BTreeMap::new;
        let action = || JobAction::new("script", "run", action::encode(&json!({"a": 1})));
        assert_eq!(action().with_user_and_env(None, none()).action, "run");
        let env = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        let both = action()
            .with_user_and_env(None, env)
            .with_user_and_env(Some("web".to_owned()), none());
        assert_eq!(both.action, "run_with");
        let told: Value = serde_json::from_str(both.params.get()).unwrap();
        assert_eq!(
            told,
            json!({"run": {"a": 1}, "run_as": "web", "env": {"A": "b"}})
        );
    }

    #[test]
    fn a_deploy_runs_puppet_and_everything_else_is_read_as_a_task() {
        assert_eq!(JobKind::from_command("deploy"), JobKind::Puppet);
        for kind in [
            JobKind::Task,
            JobKind::Apply,
            JobKind::ApplyPrep,
            JobKind::Command,
            JobKind::Script,
            JobKind::Upload,
            JobKind::Download,
        ] {
            assert_eq!(JobKind::from_command(kind.names().0), kind);
        }
        assert_eq!(JobKind::from_command("anything"), JobKind::Task);
    }
}
