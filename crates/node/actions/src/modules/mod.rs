//! What the agent can do: one file per PXP module, each turning a request's
//! parameters into a [`Planned`] without touching anything.
//!
//! The rule: a request that cannot be carried out is refused here, with the
//! place that is wrong, before anything is promised, written or started.

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
pub(crate) use environment::Environment;
pub(crate) use external::ExternalModules;
pub(crate) use facts::{FactPrograms, collect as collect_facts};
pub(crate) use file::{FilePlan, ItemKind, place};
pub(crate) use place::{PLACER, place_main};
pub(crate) use puppet::{PuppetInput, RUNNER, WaitingFor, result_of, runner_main, status_text};
pub(crate) use task::TaskInput;

/// The module that runs tasks, whose results may have secrets.
pub(crate) const TASK_MODULE: &str = "task";

/// Directory below the spool entry that holds an action's files.
pub(crate) const FILES_DIRECTORY: &str = "files";

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Planned {
    /// The answer itself.
    Reply(Value),
    /// A question about a transaction.
    Status(TransactionId),
    /// An order to end an action.
    Cancel(CancelParams),
    /// What this node is.
    Facts,
    Work(Work),
}

/// Something that takes time.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each request, and most are runs"
)]
pub(crate) enum Work {
    Run(RunPlan),
    Files(FilePlan),
}

/// A process to run.
#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) program: Program,
    pub(crate) args: Vec<String>,
    pub(crate) input: Input,
    /// Fetched, and copied into the spool entry.
    pub(crate) files: Vec<PlannedFile>,
    /// Whether the copies are kept with the result.
    pub(crate) keep_files: bool,
    pub(crate) result: ResultKind,
    /// Who runs it, where that is not the agent's own user.
    pub(crate) user: Option<String>,
    /// Variables beside those of the input.
    pub(crate) env: Vec<(String, String)>,
}

/// What is executed.
#[derive(Debug)]
pub(crate) enum Program {
    /// Something installed on the node.
    Installed(String),
    /// The program that wrappers are made of, which is the agent itself.
    OurOwn,
    /// One of the plan's files.
    File(FilePath),
}

/// What the process is told.
#[derive(Debug)]
pub(crate) enum Input {
    Nothing,
    Stdin(Vec<u8>),
    Task(TaskInput),
    Puppet(PuppetInput),
}

/// A file of a plan.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFile {
    pub(crate) spec: FileSpec,
    /// Where it goes, below the spool entry.
    pub(crate) destination: FilePath,
}

impl Work {
    pub(crate) fn result_kind(&self) -> ResultKind {
        match self {
            Self::Run(plan) => plan.result.clone(),
            Self::Files(_) => ResultKind::Output,
        }
    }
}

/// Why a request is refused. The first half of each text is pxp-agent's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
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

impl From<FilePathError> for Refusal {
    fn from(error: FilePathError) -> Self {
        Self::Input(error.to_string())
    }
}

/// The modules that come with the agent and are answered at once.
pub(crate) fn is_quick(module: &str) -> bool {
    matches!(module, "echo" | "facts" | "ping" | "status" | TUTTI_MODULE)
}

/// Plans a request for one of the agent's own modules; `None` for others.
pub(crate) fn plan(
    module: &str,
    action: &str,
    params: &RawValue,
) -> Option<Result<Planned, Refusal>> {
    let planned = match (module, action) {
        ("echo", "echo") => echo::plan(params),
        ("facts", "collect") => facts::plan(params),
        ("ping", "ping") => ping::plan(params),
        ("status", "query") => status::plan(params),
        (TUTTI_MODULE, CANCEL_ACTION) => parse(params).map(Planned::Cancel),
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
        ) => Err(Refusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        (module, _) if puppet::MODULES.contains(&module) => Err(Refusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        _ => return None,
    };
    Some(planned)
}

/// Parameters as their type; the error names the place.
fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, Refusal> {
    pxp::action::decode(params).map_err(|error| Refusal::Input(error.to_string()))
}

/// A text that becomes an argument or a variable: C strings end at NUL.
fn without_nul(what: &str, text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::Input(format!("{what} contains a NUL character")));
    }
    Ok(())
}

/// Where an action's file goes, below the spool entry.
fn in_files_directory(name: &str) -> Result<FilePath, Refusal> {
    Ok(format!("{FILES_DIRECTORY}/{name}").parse()?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    pub(crate) fn plan_of(module: &str, action: &str, params: &Value) -> Result<Planned, Refusal> {
        plan(module, action, &raw(params)).expect("one of our modules")
    }

    pub(crate) fn run_plan(module: &str, params: &Value) -> RunPlan {
        match plan_of(module, "run", params) {
            Ok(Planned::Work(Work::Run(plan))) => plan,
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
