//! `task run`: a Puppet task, with its implementation chosen by features and its input passed on
//! stdin, in `PT_` variables, or both.
//!
//! Invariant: names from the request become paths only as [`FilePath`](pxp::action::FilePath), and
//! variables only if the kernel can hold them.

use pxp::action::{FileSpec, TaskParams};
use pxp::task::choose_implementation;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::request_plan::{
    ActionPlan, PlannedFile, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan,
    in_files_directory, parse, without_nul,
};
use crate::spool::ResultKind;

/// Features of every POSIX agent.
const FEATURES: [&str; 2] = ["puppet-agent", "shell"];

/// Input method of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputMethod {
    Stdin,
    Environment,
    Both,
}

/// A task's input, complete except for the directory of its run.
#[derive(Debug)]
pub(crate) struct TaskRunInput {
    input: Map<String, Value>,
    method: InputMethod,
    /// True if the task receives the directory of its files.
    installdir: bool,
}

/// The parts of the metadata that determine the run.
struct SelectedImplementation {
    executable: FileSpec,
    method: InputMethod,
    /// File names and directories (ending in `/`) that belong to it.
    extra_files: Vec<String>,
}

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let params: TaskParams = parse(params)?;
    let chosen = choose(&params)?;
    let extra = extra_files(&chosen.extra_files, &params.files)?;
    let installdir = !extra.is_empty();
    let name = chosen.executable.filename.file_name();
    let destination = if installdir {
        in_files_directory(&format!("{}/tasks/{name}", params.task.module()))?
    } else {
        in_files_directory(name)?
    };

    let mut files = vec![PlannedFile {
        spec: chosen.executable,
        destination: destination.clone(),
    }];
    // A file that is also the executable is already in the list.
    files.extend(
        extra
            .into_iter()
            .filter(|file| file.destination != destination),
    );
    let mut input = params.input;
    input.insert("_task".into(), Value::String(params.task.to_string()));
    check_variables(chosen.method, &input)?;
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::File(destination),
        args: vec![],
        input: ProcessInput::Task(TaskRunInput {
            input,
            method: chosen.method,
            installdir,
        }),
        files,
        keep_files: installdir,
        result: ResultKind::Output,
        user: None,
        env: vec![],
    })))
}

/// The first implementation whose requirements are all met, or else the first file. The request's
/// own `features` and `input_method` apply in addition to the metadata's; pxp-agent ignores them as
/// soon as there is metadata.
fn choose(params: &TaskParams) -> Result<SelectedImplementation, RequestRefusal> {
    let metadata = params.metadata.clone().unwrap_or_default();
    let features: Vec<&str> = FEATURES
        .into_iter()
        .chain(metadata.features.iter().map(String::as_str))
        .chain(params.features.iter().map(String::as_str))
        .collect();
    let default_method = metadata
        .input_method
        .as_deref()
        .or(params.input_method.as_deref());
    let implementation = choose_implementation(&metadata.implementations, &features)
        .map_err(|error| RequestRefusal::Input(error.to_string()))?;
    let Some(implementation) = implementation else {
        let first = params.files.first();
        let executable = first
            .ok_or_else(|| RequestRefusal::Input("`files` is empty".into()))?
            .clone();
        let method = method(default_method, &executable)?;
        return Ok(SelectedImplementation {
            executable,
            method,
            extra_files: metadata.files,
        });
    };
    let executable = params
        .files
        .iter()
        .find(|file| file.filename.as_str() == implementation.name)
        .ok_or_else(|| {
            RequestRefusal::Input(format!(
                "`files` lacks the implementation {:?}",
                implementation.name
            ))
        })?
        .clone();
    let method = method(
        implementation.input_method.as_deref().or(default_method),
        &executable,
    )?;
    let mut extra_files = metadata.files.clone();
    extra_files.extend(implementation.files.iter().cloned());
    Ok(SelectedImplementation {
        executable,
        method,
        extra_files,
    })
}

fn method(name: Option<&str>, executable: &FileSpec) -> Result<InputMethod, RequestRefusal> {
    match name {
        Some("stdin") => Ok(InputMethod::Stdin),
        Some("environment") => Ok(InputMethod::Environment),
        Some("both") => Ok(InputMethod::Both),
        None | Some("") if executable.filename.as_str().ends_with(".ps1") => Err(
            RequestRefusal::Input("unsupported task input method: powershell".into()),
        ),
        None | Some("") => Ok(InputMethod::Both),
        Some(other) => Err(RequestRefusal::Input(format!(
            "unsupported task input method: {other}"
        ))),
    }
}

/// The files that the metadata names, each below the install directory.
fn extra_files(names: &[String], files: &[FileSpec]) -> Result<Vec<PlannedFile>, RequestRefusal> {
    let mut found: Vec<PlannedFile> = Vec::new();
    for name in names {
        let matching: Vec<_> = files
            .iter()
            .filter(|file| {
                let filename = file.filename.as_str();
                filename == name || (name.ends_with('/') && filename.starts_with(name))
            })
            .collect();
        if matching.is_empty() && !name.ends_with('/') {
            return Err(RequestRefusal::Input(format!(
                "`files` lacks {name:?}, which the metadata names"
            )));
        }
        for spec in matching {
            let destination = in_files_directory(spec.filename.as_str())?;
            if !found.iter().any(|file| file.destination == destination) {
                found.push(PlannedFile {
                    spec: spec.clone(),
                    destination,
                });
            }
        }
    }
    Ok(found)
}

fn check_variables(method: InputMethod, input: &Map<String, Value>) -> Result<(), RequestRefusal> {
    if method == InputMethod::Stdin {
        return Ok(());
    }
    for (name, value) in input {
        if name.is_empty() || name.contains(['=', '\0']) {
            let why = "cannot be the name of an environment variable";
            return Err(RequestRefusal::Input(format!(
                "the parameter {name:?} {why}"
            )));
        }
        if let Value::String(text) = value {
            without_nul(&format!("the parameter {name:?}"), text)?;
        }
    }
    Ok(())
}

impl TaskRunInput {
    /// Stdin and variables for a run whose files are in `installdir`.
    pub(crate) fn render(mut self, installdir: &str) -> (Vec<u8>, Vec<(String, String)>) {
        if self.installdir {
            self.input
                .insert("_installdir".into(), Value::String(installdir.into()));
        }
        let stdin = match self.method {
            InputMethod::Environment => Vec::new(),
            InputMethod::Stdin | InputMethod::Both => {
                serde_json::to_vec(&self.input).expect("a JSON value serialises")
            }
        };
        let variables = match self.method {
            InputMethod::Stdin => Vec::new(),
            InputMethod::Environment | InputMethod::Both => self
                .input
                .into_iter()
                .map(|(name, value)| {
                    let text = match value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    (format!("PT_{name}"), text)
                })
                .collect(),
        };
        (stdin, variables)
    }
}
