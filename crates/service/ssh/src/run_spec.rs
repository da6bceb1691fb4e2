//! Files, program and input of a request, for a node without an agent. Main type:
//! [`RemoteRunSpec`].
//!
//! Invariants: it is decided from the request alone, without a connection; names become paths only
//! as [`FilePath`], and parameters become variables only if a shell can hold them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pxp::action::{
    self, CommandParams, FileParams, FilePath, FileSpec, PlaceParams, RunWithParams, ScriptParams,
    Sha256, TaskParams,
};
use pxp::task::{ProgramHead, choose_implementation};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::file_placement::{self, FilePlacement};
use crate::script::NOT_EXECUTABLE;

/// Features of a node without an agent, the same as Bolt's: a task that needs Puppet's libraries
/// needs an agent.
const FEATURES: [&str; 1] = ["shell"];

/// Work of a request, independent of the host.
#[derive(Debug, PartialEq)]
pub(crate) struct RemoteRunSpec {
    pub(crate) files: Vec<RemoteFileUpload>,
    pub(crate) program: RemoteProgram,
    pub(crate) input: Option<SshTaskInput>,
    /// Environment variables besides the task's parameters.
    pub(crate) variables: BTreeMap<String, String>,
    /// User of the request; `None` for the connection's.
    pub(crate) run_as: Option<String>,
}

/// A file that is uploaded into the run's directory before the start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RemoteFileUpload {
    pub(crate) path: FilePath,
    pub(crate) content: UploadContent,
}

/// Content of an uploaded file.
#[derive(PartialEq, Eq)]
pub(crate) enum UploadContent {
    /// A blob of the server.
    Stored(Sha256),
    /// Sent with the request, since it is not stored on the server.
    Inline(Arc<[u8]>),
}

/// Leaves out the content.
impl fmt::Debug for UploadContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(sha256) => write!(f, "Kept({sha256})"),
            Self::Inline(_) => f.write_str("Sent"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RemoteProgram {
    /// One of the uploaded files; its first line determines the interpreter.
    File {
        path: FilePath,
        arguments: Vec<String>,
    },
    /// A line for the node's `sh`.
    Line(String),
    /// Creation of files and directories.
    PlaceFiles(Vec<FilePlacement>),
}

/// A task's parameters and its input methods.
#[derive(Debug, PartialEq)]
pub(crate) struct SshTaskInput {
    values: Map<String, Value>,
    stdin: bool,
    variables: bool,
    /// True if the task gets `_installdir`, the directory of its files.
    installdir: bool,
}

/// The parameters in the form that the task receives.
#[derive(Default)]
pub(crate) struct RenderedInput {
    pub(crate) stdin: Vec<u8>,
    /// Shell commands that export variables; empty if there are none.
    pub(crate) variables: String,
}

impl RemoteRunSpec {
    /// Parses a request. The error describes its defect, for the run's result.
    pub(crate) fn read(module: &str, action: &str, params: &RawValue) -> Result<Self, String> {
        match (module, action) {
            ("task", "run") => read_task(parse(params)?),
            ("command", "run") => {
                let CommandParams { command } = parse(params)?;
                check_no_nul("the command", &command)?;
                Ok(Self::of(Vec::new(), RemoteProgram::Line(command)))
            }
            ("script", "run") => read_script(parse(params)?),
            ("file", "download") => read_download(parse(params)?),
            ("file", "place") => read_place(parse(params)?),
            ("task" | "command" | "script", "run_with") => {
                let RunWithParams { run, run_as, env } = parse(params)?;
                let mut work = Self::read(module, "run", &run)?;
                for (name, value) in &env {
                    check_variable(name, value)?;
                }
                work.variables = env;
                work.run_as = run_as;
                Ok(work)
            }
            _ => Err(format!(
                "`{module} {action}` needs an agent on the node; over SSH there are tasks, commands, \
                 scripts and files"
            )),
        }
    }
}

impl RemoteRunSpec {
    fn of(files: Vec<RemoteFileUpload>, program: RemoteProgram) -> Self {
        Self {
            files,
            program,
            input: None,
            variables: BTreeMap::new(),
            run_as: None,
        }
    }

    /// Content of the file that is run; `None` if the program is not a file.
    pub(crate) fn executed_file(&self) -> Option<&UploadContent> {
        let RemoteProgram::File { path, .. } = &self.program else {
            return None;
        };
        let file = self.files.iter().find(|file| file.path == *path)?;
        Some(&file.content)
    }

    /// Text to add to standard error of a file that begins with `head` and ended with `code`: the
    /// shell does not explain these failures.
    pub(crate) fn explain_not_run(&self, head: &ProgramHead, code: i64) -> Option<String> {
        let RemoteProgram::File { path, .. } = &self.program else {
            return None;
        };
        let reason = match head {
            ProgramHead::Compiled(_) if code == i64::from(NOT_EXECUTABLE) => {
                head.explain_not_executable()
            }
            ProgramHead::Script(interpreter) => {
                // A carriage return in the interpreter's path was reported before the start.
                let is_in_argument = interpreter.has_carriage_return
                    && !interpreter.path.ends_with('\r')
                    && interpreter.by_env.is_none();
                (code != 0 && is_in_argument).then(|| interpreter.explain_carriage_return())
            }
            _ => None,
        };
        let name = path.file_name();
        reason.map(|reason| format!("cannot run {name}: {reason}\n"))
    }

    /// Renders the input of the program, for a run whose files are in `directory`.
    pub(crate) fn render(&self, directory: &str) -> RenderedInput {
        let rendered = self.input.as_ref().map(|input| input.render(directory));
        let mut rendered = rendered.unwrap_or_default();
        for (name, value) in &self.variables {
            export(&mut rendered.variables, name, value);
        }
        rendered
    }
}

/// Appends shell commands that export a variable.
fn export(to: &mut String, name: &str, value: &str) {
    let value = crate::quote::quote(value);
    to.extend([name, "=", &value, "; export ", name, "\n"]);
}

impl SshTaskInput {
    /// Renders the parameters for a run whose files are in `directory`.
    fn render(&self, directory: &str) -> RenderedInput {
        let mut values = self.values.clone();
        if self.installdir {
            values.insert("_installdir".to_owned(), Value::from(directory));
        }
        let stdin = if self.stdin {
            Value::Object(values.clone()).to_string().into_bytes()
        } else {
            Vec::new()
        };
        let mut variables = String::new();
        for (name, value) in values.iter().filter(|_| self.variables) {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            export(&mut variables, &format!("PT_{name}"), &text);
        }
        RenderedInput { stdin, variables }
    }
}

fn parse<T: serde::de::DeserializeOwned>(params: &RawValue) -> Result<T, String> {
    action::decode(params).map_err(|error| format!("the request cannot be read: {error}"))
}

fn read_script(params: ScriptParams) -> Result<RemoteRunSpec, String> {
    let path = flatten_path(&params.script.filename)?;
    for argument in &params.arguments {
        check_no_nul("an argument", argument)?;
    }
    let upload = RemoteFileUpload {
        path: path.clone(),
        content: UploadContent::Stored(params.script.sha256),
    };
    let arguments = params.arguments;
    Ok(RemoteRunSpec::of(
        vec![upload],
        RemoteProgram::File { path, arguments },
    ))
}

fn read_download(params: FileParams) -> Result<RemoteRunSpec, String> {
    let mut files = Vec::new();
    let mut placements = Vec::new();
    for (placement, sha256) in file_placement::read(params)? {
        if let (Some(path), Some(sha256)) = (placement.content.clone(), sha256) {
            let content = UploadContent::Stored(sha256);
            files.push(RemoteFileUpload { path, content });
        }
        placements.push(placement);
    }
    Ok(RemoteRunSpec::of(
        files,
        RemoteProgram::PlaceFiles(placements),
    ))
}

fn read_place(params: PlaceParams) -> Result<RemoteRunSpec, String> {
    let bytes = STANDARD.decode(&params.content);
    let content = bytes.map_err(|_| "the file's content is no Base64")?;
    let (path, placement) = file_placement::uploaded_file(params.path, params.mode)?;
    let content = UploadContent::Inline(content.into());
    let upload = RemoteFileUpload { path, content };
    let mut work = RemoteRunSpec::of(vec![upload], RemoteProgram::PlaceFiles(vec![placement]));
    work.run_as = params.run_as;
    Ok(work)
}

/// Checks that a shell can hold the variable.
fn check_variable(name: &str, value: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let first = bytes.next();
    let fits = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match fits {
        true => check_no_nul(name, value),
        false => Err(format!("{name:?} is no name of a variable")),
    }
}

fn read_task(params: TaskParams) -> Result<RemoteRunSpec, String> {
    let metadata = params.metadata.clone().unwrap_or_default();
    let features: Vec<&str> = FEATURES
        .into_iter()
        .chain(metadata.features.iter().map(String::as_str))
        .chain(params.features.iter().map(String::as_str))
        .collect();
    let chosen = choose_implementation(&metadata.implementations, &features).map_err(|error| {
        format!("{error}; a node without an agent has the feature `shell` alone")
    })?;
    let mut method = metadata.input_method.as_deref();
    method = method.or(params.input_method.as_deref());
    let mut extra = metadata.files.clone();
    let executable = match chosen {
        None => params.files.first().ok_or("the task has no file")?,
        Some(chosen) => {
            method = chosen.input_method.as_deref().or(method);
            extra.extend(chosen.files.iter().cloned());
            let named = |file: &&FileSpec| file.filename.as_str() == chosen.name;
            let found = params.files.iter().find(named);
            found.ok_or_else(|| format!("the task lacks its implementation {:?}", chosen.name))?
        }
    };
    let (stdin, variables) = input_methods(method, executable)?;
    let mut files = extra_files(&extra, &params.files)?;
    let installdir = !files.is_empty();
    let path = if installdir {
        let name = executable.filename.file_name();
        let path = format!("{}/tasks/{name}", params.task.module());
        path.parse().map_err(|error| format!("{path:?}: {error}"))?
    } else {
        flatten_path(&executable.filename)?
    };
    files.retain(|file| file.path != path);
    files.push(RemoteFileUpload {
        path: path.clone(),
        content: UploadContent::Stored(executable.sha256),
    });
    let mut values = params.input;
    values.insert("_task".to_owned(), Value::from(params.task.as_str()));
    if variables {
        check_variables(&values)?;
    }
    let arguments = Vec::new();
    let mut work = RemoteRunSpec::of(files, RemoteProgram::File { path, arguments });
    work.input = Some(SshTaskInput {
        values,
        stdin,
        variables,
        installdir,
    });
    Ok(work)
}

/// Input methods of a task: standard input, and environment variables.
fn input_methods(name: Option<&str>, executable: &FileSpec) -> Result<(bool, bool), String> {
    match name {
        Some("stdin") => Ok((true, false)),
        Some("environment") => Ok((false, true)),
        Some("both") => Ok((true, true)),
        None | Some("") if !executable.filename.as_str().ends_with(".ps1") => Ok((true, true)),
        other => Err(format!(
            "the task takes its input by {}, which there is not over SSH",
            other
                .filter(|name| !name.is_empty())
                .unwrap_or("powershell")
        )),
    }
}

/// The files that the metadata names; a name that ends with `/` stands for all files below it.
fn extra_files(names: &[String], files: &[FileSpec]) -> Result<Vec<RemoteFileUpload>, String> {
    let mut found: Vec<RemoteFileUpload> = Vec::new();
    for name in names {
        let mut matched = name.ends_with('/');
        for file in files {
            let filename = file.filename.as_str();
            if filename != name && !(name.ends_with('/') && filename.starts_with(name.as_str())) {
                continue;
            }
            matched = true;
            if !found.iter().any(|upload| upload.path == file.filename) {
                found.push(RemoteFileUpload {
                    path: file.filename.clone(),
                    content: UploadContent::Stored(file.sha256),
                });
            }
        }
        if !matched {
            return Err(format!("the task lacks {name:?}, which its metadata names"));
        }
    }
    Ok(found)
}

/// The last component of a path. Names that begin with a dot are reserved for files of the run.
fn flatten_path(path: &FilePath) -> Result<FilePath, String> {
    let name = path.file_name();
    if name.starts_with('.') {
        return Err(format!("the file {name:?} begins with a dot"));
    }
    name.parse().map_err(|error| format!("{name:?}: {error}"))
}

fn check_variables(values: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in values {
        let mut bytes = name.bytes();
        let fits =
            !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits {
            return Err(format!(
                "the parameter {name:?} cannot be the name of an environment variable; let the task \
                 take its input by stdin"
            ));
        }
        if let Value::String(text) = value {
            check_no_nul(&format!("the parameter {name:?}"), text)?;
        }
    }
    Ok(())
}

pub(crate) fn check_no_nul(what: &str, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!("{what} contains a NUL character"));
    }
    Ok(())
}
