//! The PXP modules of the agent: one file per module, each turning a request's parameters into a
//! [`RequestPlan`] without side effects.
//!
//! Invariant: a request that cannot be executed is refused here, with the position of the error,
//! before anything is promised, written or started.

mod collect;
mod command;
mod echo;
mod environment;
mod external;
mod facts;
mod file;
mod ping;
mod place;
mod puppet;
mod run_with;
mod schema;
mod script;
mod status;
mod task;

use pxp::TransactionId;
use pxp::action::{CANCEL_ACTION, CancelParams, FilePath, FilePathError, FileSpec, TUTTI_MODULE};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::spool::ResultKind;

pub(crate) use collect::{COLLECTOR, collect_main};
pub(crate) use environment::AgentEnvironment;
pub(crate) use external::ExternalModules;
pub(crate) use facts::{FactPrograms, collect as collect_facts};
pub(crate) use file::{FilePlan, ItemKind, install_item};
pub(crate) use place::{PLACER, place_main};
pub(crate) use puppet::{PuppetInput, RUNNER, WaitingFor, result_of, runner_main, status_text};
pub(crate) use task::TaskRunInput;

/// The module that runs tasks, whose results may contain secrets.
pub(crate) const TASK_MODULE: &str = "task";

/// Directory below the spool entry that holds an action's files.
pub(crate) const FILES_DIRECTORY: &str = "files";

/// The plan for a request.
#[derive(Debug)]
pub(crate) enum RequestPlan {
    /// The answer is already known.
    Reply(Value),
    /// A query for the status of a transaction.
    Status(TransactionId),
    /// A request to stop an action.
    Cancel(CancelParams),
    /// Collection of this node's facts.
    Facts,
    Work(ActionPlan),
}

/// Work that takes time.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each request, and most are runs"
)]
pub(crate) enum ActionPlan {
    Run(RunPlan),
    Files(FilePlan),
}

/// A process to run.
#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) program: PlannedProgram,
    pub(crate) args: Vec<String>,
    pub(crate) input: ProcessInput,
    /// Files that are fetched and copied into the spool entry.
    pub(crate) files: Vec<PlannedFile>,
    /// True if the copies are kept with the result.
    pub(crate) keep_files: bool,
    pub(crate) result: ResultKind,
    /// The user that runs it; `None` for the agent's own user.
    pub(crate) user: Option<String>,
    /// Variables in addition to those of the input.
    pub(crate) env: Vec<(String, String)>,
}

/// The executable of a plan.
#[derive(Debug)]
pub(crate) enum PlannedProgram {
    /// A program installed on the node.
    Installed(String),
    /// The wrappers' executable, which is the agent itself.
    AgentExecutable,
    /// One of the plan's files.
    File(FilePath),
}

/// Input of the process on stdin and in variables.
#[derive(Debug)]
pub(crate) enum ProcessInput {
    Nothing,
    Stdin(Vec<u8>),
    Task(TaskRunInput),
    Puppet(PuppetInput),
}

/// A file of a plan.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFile {
    pub(crate) spec: FileSpec,
    /// Path below the spool entry.
    pub(crate) destination: FilePath,
}

impl ActionPlan {
    pub(crate) fn result_kind(&self) -> ResultKind {
        match self {
            Self::Run(plan) => plan.result.clone(),
            Self::Files(_) => ResultKind::Output,
        }
    }
}

/// Reason for which a request is refused. The first half of each text is pxp-agent's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestRefusal {
    #[error("unknown module: {0}")]
    UnknownModule(String),
    #[error("unknown action '{action}' for module '{module}'")]
    UnknownAction { module: String, action: String },
    #[error("the module '{0}' supports only blocking PXP requests")]
    OnlyBlocking(String),
    #[error("invalid input: {0}")]
    Input(String),
    #[error("cannot load the module '{module}': {why}")]
    Module { module: String, why: String },
}

impl From<FilePathError> for RequestRefusal {
    fn from(error: FilePathError) -> Self {
        Self::Input(error.to_string())
    }
}

/// True for the agent's own modules that are answered at once.
pub(crate) fn is_quick(module: &str) -> bool {
    matches!(module, "echo" | "facts" | "ping" | "status" | TUTTI_MODULE)
}

/// Plans a request for one of the agent's own modules; `None` for others.
pub(crate) fn plan(
    module: &str,
    action: &str,
    params: &RawValue,
) -> Option<Result<RequestPlan, RequestRefusal>> {
    let planned = match (module, action) {
        ("echo", "echo") => echo::plan(params),
        ("facts", "collect") => facts::plan(params),
        ("ping", "ping") => ping::plan(params),
        ("status", "query") => status::plan(params),
        (TUTTI_MODULE, CANCEL_ACTION) => parse(params).map(RequestPlan::Cancel),
        ("command" | "script" | "task", "run_with") => run_with::plan(module, params),
        ("command", "run") => command::plan(params),
        ("script", "run") => script::plan(params),
        ("task", "run") => task::plan(params),
        ("file", "download") => file::plan(params),
        ("file", "collect") => collect::plan(params),
        ("file", "place") => place::plan(params),
        (module, "run") if puppet::MODULES.contains(&module) => puppet::plan(params),
        (
            "echo" | "facts" | "ping" | "status" | "command" | "script" | "task" | "file"
            | TUTTI_MODULE,
            _,
        ) => Err(RequestRefusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        (module, _) if puppet::MODULES.contains(&module) => Err(RequestRefusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        _ => return None,
    };
    Some(planned)
}

/// Parses parameters into their type; the error names the position.
fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, RequestRefusal> {
    pxp::action::decode(params).map_err(|error| RequestRefusal::Input(error.to_string()))
}

/// Checks a text that becomes an argument or a variable: C strings end at NUL.
fn without_nul(what: &str, text: &str) -> Result<(), RequestRefusal> {
    if text.contains('\0') {
        return Err(RequestRefusal::Input(format!(
            "{what} contains a NUL character"
        )));
    }
    Ok(())
}

/// The path of an action's file, below the spool entry.
fn in_files_directory(name: &str) -> Result<FilePath, RequestRefusal> {
    Ok(format!("{FILES_DIRECTORY}/{name}").parse()?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    pub(crate) fn plan_of(
        module: &str,
        action: &str,
        params: &Value,
    ) -> Result<RequestPlan, RequestRefusal> {
        plan(module, action, &raw(params)).expect("one of our modules")
    }

    pub(crate) fn run_plan(module: &str, params: &Value) -> RunPlan {
        match plan_of(module, "run", params) {
            Ok(RequestPlan::Work(ActionPlan::Run(plan))) => plan,
            other => panic!("no run plan: {other:?}"),
        }
    }

    #[test]
    fn unknown_names_are_told_apart() {
        assert!(plan("nope", "run", &raw(&Value::Null)).is_none());
        let error = plan_of("task", "walk", &Value::Null).unwrap_err();
        assert_eq!(error.to_string(), "unknown action 'walk' for module 'task'");
    }
}
