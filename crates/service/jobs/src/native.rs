//! Actions of plans on nodes beside tasks: commands, scripts and files, by modules built into the
//! agents. Main type: [`NativeAction`].
//!
//! Invariant: every native action has a task that does the same. The right to run that task is the
//! right to the action, and an agent without the module gets the task in its place.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use environments::{BlobError, BlobStore, EnvironmentName};
use partial_debug::partial_debug;
use pxp::action::{
    self, CollectParams, CommandParams, FileEntry, FileKind, FileParams, FilePath, FileSpec,
    FileUri, PlaceParams, ScriptParams, Sha256,
};
use pxp::defaults::PROGRAM_HEAD_BYTES;
use pxp::task::ProgramHead;
use serde_json::{Map, Value, json};

use crate::kind::{JobAction, JobKind};
use crate::outcome::REDACTED;

/// Environment variable with a secret command line for the shell that runs it.
const LINE_VARIABLE: &str = "_TUTTI_LINE";

/// Mode of a file that did not exist before, as `cp` would set it.
const NEW_FILE_MODE: u32 = 0o644;
/// Mode of a new file with secret content: readable by its owner alone.
const SECRET_FILE_MODE: u32 = 0o600;
/// Mode of a new directory, and of a file that may be executed.
const EXECUTABLE_MODE: u32 = 0o755;

/// The native action to carry out.
#[derive(Clone)]
pub enum NativeAction {
    /// Runs a shell command line.
    Command {
        /// The command line.
        line: String,
        /// Variables of its environment. Every user of a node sees the arguments of a program, and only its own
        /// user sees its environment.
        env: BTreeMap<String, String>,
    },
    /// Runs a script.
    Script {
        /// Content of the script.
        file: FileContent,
        /// Arguments that the script is called with.
        arguments: Vec<String>,
        /// Variables of its environment.
        env: BTreeMap<String, String>,
    },
    /// Puts a file in place on the node.
    Upload {
        /// Content of the file.
        file: FileContent,
        /// Path on the node.
        destination: String,
    },
    /// Puts a file in place whose content is stored nowhere on the way.
    Secret {
        /// Content of the file, which is secret.
        file: FileContent,
        /// Path on the node.
        destination: String,
    },
    /// Puts a directory with all its contents in place on the node.
    UploadTree {
        /// Name of the directory as the plan gives it.
        name: String,
        /// The directory's items, each directory before its contents; the file contents are in the
        /// blobs already.
        items: Vec<TreeItem>,
        /// Path on the node.
        destination: String,
    },
    /// Copies a file or directory of the node to the server.
    Download {
        /// Path on the node.
        source: String,
        /// Path below the directory of the plan job.
        destination: String,
    },
}

/// An item in a directory: a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeItem {
    /// Path relative to the directory.
    pub path: String,
    /// SHA-256 of the file's content; `None` for a directory.
    pub sha256: Option<Sha256>,
    /// True if the file may be executed.
    pub is_executable: bool,
}

/// A file's content, which nodes fetch under its hash.
#[derive(Clone)]
pub struct FileContent {
    /// Name of the file as the plan gives it.
    pub name: String,
    /// The content. It is stored as it is, so it may be secret only in a [`NativeAction::ReturnedSecret`].
    pub bytes: Arc<[u8]>,
}

// === impl NativeAction ===

impl NativeAction {
    pub(crate) fn kind(&self) -> JobKind {
        match self {
            Self::Command { .. } => JobKind::Command,
            Self::Script { .. } => JobKind::Script,
            Self::Upload { .. } | Self::Secret { .. } | Self::UploadTree { .. } => JobKind::Upload,
            Self::Download { .. } => JobKind::Download,
        }
    }

    /// True if a task does the same; there is none for directories.
    pub(crate) fn has_task(&self) -> bool {
        !matches!(self, Self::UploadTree { .. })
    }

    /// True if agents can carry out the action as any user of the node.
    pub(crate) fn has_users(&self) -> bool {
        !matches!(self, Self::UploadTree { .. })
    }

    /// Parameters as they are shown in place of the task's. `sensitive` names the task's secret parameters; the
    /// values made of them are not shown.
    pub(crate) fn to_shown_params(&self, sensitive: &[String]) -> Value {
        let mut shown = self.describe_params();
        let Some(entries) = shown.as_object_mut() else {
            return shown;
        };
        for (name, value) in entries {
            if sensitive.iter().any(|it| it == self.parameter(name)) {
                *value = Value::from(REDACTED);
            }
        }
        shown
    }

    /// The task's parameter that corresponds to this name.
    fn parameter<'n>(&self, name: &'n str) -> &'n str {
        match (self, name) {
            // For the task, the variables stand in front of the command line.
            (Self::Command { .. }, "env_vars") => "command",
            (Self::Script { .. }, "script") => "name",
            (Self::Download { .. }, "source") => "path",
            (
                Self::Upload { .. } | Self::Secret { .. } | Self::UploadTree { .. },
                "destination",
            ) => "path",
            (_, name) => name,
        }
    }

    fn describe_params(&self) -> Value {
        match self {
            Self::Command { line, env } if env.is_empty() => json!({"command": line}),
            Self::Command { line, env } => json!({"command": line, "env_vars": env}),
            Self::Script {
                file,
                arguments,
                env,
            } => json!({"script": file.name, "arguments": arguments, "env_vars": env}),
            Self::Upload { file, destination } | Self::Secret { file, destination } => {
                json!({"source": file.name, "destination": destination})
            }
            Self::UploadTree {
                name, destination, ..
            } => json!({"source": name, "destination": destination}),
            Self::Download {
                source,
                destination,
            } => json!({"source": source, "destination": destination}),
        }
    }

    /// The action that agents are asked for. Stores the content for them; blocks on the disk.
    pub(crate) fn to_job_action(
        &self,
        environment: &EnvironmentName,
        blobs: &BlobStore,
        run_as: Option<&str>,
        sensitive: &[String],
    ) -> Result<JobAction, BlobError> {
        let user = || run_as.map(str::to_owned);
        Ok(match self {
            Self::Command { line, env } => {
                let is_secret = sensitive.iter().any(|name| name == "command");
                let (command, env) = match is_secret {
                    true => hide_arguments(line, env.clone()),
                    false => (line.clone(), env.clone()),
                };
                JobAction::new("command", "run", action::encode(&CommandParams { command }))
                    .with_user_and_env(user(), env)
            }
            Self::Script {
                file,
                arguments,
                env,
            } => {
                let sha256 = blobs.store_content(&file.bytes, &file.name)?;
                let params = ScriptParams {
                    script: FileSpec {
                        filename: file.file_name(),
                        sha256,
                        uri: blob_uri(environment, sha256),
                    },
                    arguments: arguments.clone(),
                };
                let action = JobAction::new("script", "run", action::encode(&params));
                let action = action.with_user_and_env(user(), env.clone());
                match ProgramHead::read(file.leading_bytes()) {
                    // A pxp-agent runs no file that names no interpreter; the task does, by `sh`.
                    ProgramHead::ShellText => action.for_tutti_agents(),
                    _ => action,
                }
            }
            Self::Secret { file, destination } => {
                file.to_write_action(destination, SECRET_FILE_MODE, user())
            }
            // Files are fetched from the server by the agent's own user.
            Self::Upload { file, destination } if run_as.is_some() => {
                file.to_write_action(destination, NEW_FILE_MODE, user())
            }
            Self::Upload { file, destination } => {
                let sha256 = blobs.store_content(&file.bytes, &file.name)?;
                let entry = to_file_entry(environment, destination.clone(), Some(sha256), None);
                to_upload_action(vec![entry])
            }
            Self::UploadTree {
                items, destination, ..
            } => {
                let root = destination.trim_end_matches('/');
                let of = |item: &TreeItem| {
                    let mode = item.is_executable.then_some(EXECUTABLE_MODE);
                    let destination = format!("{root}/{}", item.path);
                    to_file_entry(environment, destination, item.sha256, mode)
                };
                let top = to_file_entry(environment, root.to_owned(), None, None);
                to_upload_action(std::iter::once(top).chain(items.iter().map(of)).collect())
            }
            Self::Download { source, .. } => {
                let params = CollectParams {
                    path: source.clone(),
                    run_as: user(),
                };
                JobAction::new("file", "collect", action::encode(&params))
            }
        })
    }
}

/// A command line that runs another one from an environment variable, so that the arguments of the
/// shell do not show it.
fn hide_arguments(
    line: &str,
    mut env: BTreeMap<String, String>,
) -> (String, BTreeMap<String, String>) {
    env.insert(LINE_VARIABLE.to_owned(), line.to_owned());
    let outer = format!("_line=\"${LINE_VARIABLE}\"; unset {LINE_VARIABLE}; eval \"$_line\"");
    (outer, env)
}

/// An item of a directory: a file, or without a hash a directory.
fn to_file_entry(
    environment: &EnvironmentName,
    destination: String,
    sha256: Option<Sha256>,
    mode: Option<u32>,
) -> FileEntry {
    let nothing = || FileUri {
        path: String::new(),
        params: Map::new(),
    };
    FileEntry {
        destination,
        link_source: String::new(),
        uri: sha256.map_or_else(nothing, |sha256| blob_uri(environment, sha256)),
        sha256,
        kind: match sha256 {
            Some(_) => FileKind::File,
            None => FileKind::Directory,
        },
        mode: mode.or(sha256.is_none().then_some(EXECUTABLE_MODE)),
    }
}

fn to_upload_action(files: Vec<FileEntry>) -> JobAction {
    let mode = Some(NEW_FILE_MODE);
    JobAction::new(
        "file",
        "download",
        action::encode(&FileParams { files, mode }),
    )
}

/// URI from which nodes fetch a blob. The blob is found by its hash; the path is only for the
/// servers' logs.
fn blob_uri(environment: &EnvironmentName, sha256: Sha256) -> FileUri {
    let environment = Value::from(environment.to_string());
    FileUri {
        path: format!("/puppet/v3/file_content/modules/plan/{sha256}"),
        params: Map::from_iter([
            ("environment".to_owned(), environment),
            ("sha256".to_owned(), Value::from(sha256.to_string())),
        ]),
    }
}

// === impl FileContent ===

impl FileContent {
    /// An action that carries the content in the request itself.
    fn to_write_action(&self, destination: &str, mode: u32, run_as: Option<String>) -> JobAction {
        let params = PlaceParams {
            path: destination.to_owned(),
            content: STANDARD.encode(&self.bytes),
            mode,
            run_as,
        };
        JobAction::new("file", "place", action::encode(&params))
    }

    /// The first bytes, which determine how the file is run.
    fn leading_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(PROGRAM_HEAD_BYTES)]
    }

    /// The last part of the name, if it is valid as a file name on every node.
    fn file_name(&self) -> FilePath {
        let last = self.name.rsplit('/').next().unwrap_or_default();
        let last = last.trim_start_matches('.');
        let plain = || "script".parse().expect("a plain word is a path");
        last.parse().unwrap_or_else(|_| plain())
    }
}

/// Leaves out command lines and file contents.
impl fmt::Debug for NativeAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().names().0)
    }
}

// Leaves out the content.
partial_debug!(FileContent { name });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_command_is_in_no_argv_and_not_shown() {
        let place = tempfile::tempdir().unwrap();
        let blobs = BlobStore::open(place.path().to_owned()).unwrap();
        let native = NativeAction::Command {
            line: "echo canary".to_owned(),
            env: BTreeMap::from([("A".to_owned(), "canary".to_owned())]),
        };
        let secret = ["command".to_owned()];
        assert!(
            !native
                .to_shown_params(&secret)
                .to_string()
                .contains("canary")
        );
        assert!(native.to_shown_params(&[]).to_string().contains("canary"));
        let environment = "production".parse().unwrap();
        let action = native
            .to_job_action(&environment, &blobs, None, &secret)
            .unwrap();
        let with: pxp::action::RunWithParams = action::decode(&action.params).unwrap();
        assert!(!with.run.get().contains("canary"), "{}", with.run.get());
        assert_eq!(with.env[LINE_VARIABLE], "echo canary");
        // The wrapped action does the same as the command line.
        let run: CommandParams = action::decode(&with.run).unwrap();
        let done = std::process::Command::new("/bin/sh")
            .args(["-c", &run.command])
            .env_clear()
            .envs([(
                LINE_VARIABLE,
                "a='x  y'; echo \"$a\" ${_TUTTI_LINE-gone}; exit 3",
            )])
            .output()
            .unwrap();
        assert_eq!(done.stdout, b"x  y gone\n");
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_script_that_names_no_interpreter_is_for_the_task_where_an_agent_is_not_ours() {
        let place = tempfile::tempdir().unwrap();
        let blobs = BlobStore::open(place.path().to_owned()).unwrap();
        let environment = "production".parse().unwrap();
        let asked = |text: &str, run_as| {
            let native = NativeAction::Script {
                file: FileContent {
                    name: "x.sh".to_owned(),
                    bytes: Arc::from(text.as_bytes()),
                },
                arguments: Vec::new(),
                env: BTreeMap::new(),
            };
            let action = native
                .to_job_action(&environment, &blobs, run_as, &[])
                .unwrap();
            (
                action.action,
                action.params.get().matches("\"run\"").count(),
            )
        };
        assert_eq!(asked("#!/bin/sh\necho", None), ("run".to_owned(), 0));
        for (text, run_as) in [
            ("echo", None),
            ("echo", Some("web")),
            ("#!/bin/sh", Some("web")),
        ] {
            // The wrappers are never nested, since no agent accepts that.
            assert_eq!(asked(text, run_as), ("run_with".to_owned(), 1), "{text}");
        }
    }

    #[test]
    fn a_script_keeps_the_last_part_of_its_name_where_nodes_can_have_it() {
        for (name, kept) in [
            ("m/deep/x.sh", "x.sh"),
            ("m/.hidden", "hidden"),
            ("m/a:b", "script"),
            ("m/..", "script"),
        ] {
            let file = FileContent {
                name: name.to_owned(),
                bytes: Arc::from(*b"x"),
            };
            assert_eq!(file.file_name().as_str(), kept, "{name}");
        }
    }
}
