//! The parameters of each action.

use std::collections::BTreeMap;

use partial_debug::partial_debug;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::file::{FileSpec, FileUri, Sha256};
use crate::task::{TaskImplementation, TaskName};
use crate::{TransactionId, json};

/// Parameters of `task` / `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskParams {
    /// Name of the task to run.
    pub task: TaskName,
    /// The task's parameters, including the orchestrator's own, which start with `_`.
    #[serde(deserialize_with = "json::strict_map")]
    pub input: Map<String, Value>,
    /// The task's input method if there is no `metadata`: `stdin`, `environment`, `both` or
    /// `powershell`; absent or empty: the agent decides by the file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// The files of the implementations and all supporting files.
    pub files: Vec<FileSpec>,
    /// Metadata of the task. If present, it replaces `input_method` and `features`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RunMetadata>,
    /// Features of the node, in addition to those that the agent detects itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// The part of a task's metadata that an agent needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// Input method of the task, as in [`TaskParams::input_method`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// Implementations of the task. Empty: the first of the files is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<TaskImplementation>,
    /// Supporting files; a name that ends with `/` stands for all files below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Features of the node, in addition to those that the agent detects itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// Parameters of `script` / `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptParams {
    /// File of the script.
    pub script: FileSpec,
    /// Arguments of the script, passed as they are, without a shell.
    pub arguments: Vec<String>,
}

/// Parameters of `command` / `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandParams {
    /// Command line, which a shell executes.
    pub command: String,
}

/// Parameters of `run_with` of `task`, `script` and `command`, an extension of Tutti: the
/// parameters of `run`, and the user and environment to run with. Closed, and with a different name
/// than `run`: an agent must refuse what it does not understand.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunWithParams {
    /// Parameters for the action `run`.
    pub run: Box<RawValue>,
    /// The user that runs the action; `None`: the agent's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// Additional environment variables of the action.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// Parameters of `tutti` / `cancel`, an extension of Tutti: ends a running action and everything it
/// started. It is a blocking request, because a stock pcp-broker forwards only the types of PXP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelParams {
    /// Transaction id of the action to end.
    pub transaction_id: TransactionId,
    /// `true`: kill at once, without a request to end first.
    pub force: bool,
}

/// Parameters of `file` / `download`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileParams {
    /// The entries in order: a directory before its contents.
    pub files: Vec<FileEntry>,
    /// Mode of files that do not exist yet; a stock agent ignores it and gives all files mode 0750.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Parameters of `file` / `collect`, an extension of Tutti: returns a file or directory of the node
/// as [`CollectedFiles`]. Closed: an agent must refuse what it does not understand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectParams {
    /// Absolute path of the file or directory.
    pub path: String,
    /// The user that reads the file; `None`: the agent's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
}

/// Parameters of `file` / `place`, an extension of Tutti: writes a file whose content is in the
/// request, because it is secret or is to be written by another user. Closed: an agent must refuse
/// what it does not understand.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceParams {
    /// Absolute path of the file to write.
    pub path: String,
    /// Content of the file, in Base64.
    pub content: String,
    /// Mode of the file if it does not exist yet.
    pub mode: u32,
    /// The user that writes the file; `None`: the agent's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
}

// Omits the content, which may be secret.
partial_debug!(PlaceParams { path, run_as });

/// A file or a directory of a node, returned on standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedFiles {
    /// True for a directory. Otherwise the file is the only item, without a path.
    pub is_directory: bool,
    /// The items in order: a directory before its contents.
    pub items: Vec<CollectedFileItem>,
    /// Number of entries in the directory that are neither file nor directory, or have no UTF-8
    /// name.
    #[serde(default)]
    pub left_out: u64,
}

/// One file or directory of [`CollectedFiles`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedFileItem {
    /// Path relative to the directory. It comes from a node and must be checked before use.
    pub path: String,
    /// Content in Base64; `None` for a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// True if the file's owner may execute it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_executable: bool,
}

/// A file, directory or symlink to create on the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Absolute path on the node.
    pub destination: String,
    /// Target of a symlink; empty for other kinds.
    pub link_source: String,
    /// Location of a file's content.
    pub uri: FileUri,
    /// SHA-256 digest of a file's content; `None` for other kinds, an empty string on the wire.
    #[serde(deserialize_with = "empty_is_none", serialize_with = "none_is_empty")]
    pub sha256: Option<Sha256>,
    /// The kind of the entry: file, directory or symlink.
    pub kind: FileKind,
    /// Mode of this entry if it does not exist yet; a stock agent ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// The kinds of [`FileEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file with content from [`FileEntry::uri`].
    File,
    /// A directory to create.
    Directory,
    /// A symbolic link to [`FileEntry::link_source`].
    Symlink,
}

/// Parameters of `status` / `query`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusParams {
    /// Transaction id of the action in question.
    pub transaction_id: TransactionId,
}

/// Parameters of `echo` / `echo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoParams {
    /// Text that the result returns as `outcome`.
    pub argument: String,
}

/// Parameters of `ping` / `ping`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingParams {
    /// Time at the sender; agents ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_timestamp: Option<String>,
}

fn empty_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sha256>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

fn none_is_empty<S: serde::Serializer>(
    digest: &Option<Sha256>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match digest {
        Some(digest) => serializer.collect_str(digest),
        None => serializer.serialize_str(""),
    }
}
