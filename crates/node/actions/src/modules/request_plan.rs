//! The work that a request asks for: [`RequestPlan`], and the refusal of a request that asks for
//! something impossible: [`RequestRefusal`].

use std::path::PathBuf;

use pxp::TransactionId;
use pxp::action::{
    CancelParams, FilePath, FilePathError, FileSpec, HoldLeaseParams, ReleaseLeaseParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::puppet::PuppetInput;
use super::task::TaskRunInput;
use crate::spool::ResultKind;

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
    /// A request to hold or renew a lease.
    HoldLease(HoldLeaseParams),
    /// A request to end a lease.
    ReleaseLease(ReleaseLeaseParams),
    /// The lease of this node is wanted.
    ShowLease,
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

/// The items to install, in order.
#[derive(Debug)]
pub(crate) struct FilePlan {
    pub(crate) items: Vec<FileItem>,
}

#[derive(Debug)]
pub(crate) struct FileItem {
    pub(crate) destination: PathBuf,
    /// Mode of a file or directory that does not exist yet.
    pub(crate) mode: u32,
    pub(crate) kind: ItemKind,
}

#[derive(Debug)]
pub(crate) enum ItemKind {
    File(FileSpec),
    Directory,
    Symlink { target: String },
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

/// Parses parameters into their type; the error names the position.
pub(super) fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, RequestRefusal> {
    pxp::action::decode(params).map_err(|error| RequestRefusal::Input(error.to_string()))
}

/// Checks a text that becomes an argument or a variable: C strings end at NUL.
pub(super) fn without_nul(what: &str, text: &str) -> Result<(), RequestRefusal> {
    if text.contains('\0') {
        return Err(RequestRefusal::Input(format!(
            "{what} contains a NUL character"
        )));
    }
    Ok(())
}

/// The path of an action's file, below the spool entry.
pub(super) fn in_files_directory(name: &str) -> Result<FilePath, RequestRefusal> {
    Ok(format!("{FILES_DIRECTORY}/{name}").parse()?)
}
