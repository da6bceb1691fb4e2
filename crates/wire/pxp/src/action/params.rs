//! The parameters of each action.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::file::{FileSpec, FileUri, Sha256};
use crate::task::{Implementation, TaskName};
use crate::{TransactionId, json};

/// `task` / `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskParams {
    /// The task.
    pub task: TaskName,
    /// Its parameters, with `_`-prefixed ones of the orchestrator among them.
    #[serde(deserialize_with = "json::strict_map")]
    pub input: Map<String, Value>,
    /// How it gets them when there is no `metadata`: `stdin`, `environment`, `both`,
    /// `powershell`; absent or empty: by the file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// The implementations' and all supporting files.
    pub files: Vec<FileSpec>,
    /// When present, it replaces `input_method` and `features`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RunMetadata>,
    /// Of the node, beyond those that the agent knows it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// What an agent needs of a task's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// As in [`TaskParams::input_method`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// Empty: the first of the files is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<Implementation>,
    /// Supporting files; a name that ends with `/` stands for all files below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Of the node, beyond those that the agent knows it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// `script` / `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptParams {
    /// The script.
    pub script: FileSpec,
    /// Passed as they are, without a shell.
    pub arguments: Vec<String>,
}

/// `command` / `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandParams {
    /// A line for the shell.
    pub command: String,
}

/// `run_with` of `task`, `script` and `command`, an extension of ours: what `run` gets, and in what it runs.
/// Closed, and by another name than `run`: what an agent does not understand it must refuse.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunWithParams {
    /// The parameters of `run`.
    pub run: Box<RawValue>,
    /// The user who runs it; the agent's own otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// Variables of its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// `tutti` / `cancel`, an extension of ours: ends a running action and everything it started. A blocking
/// request, since a stock pcp-broker forwards only the types of PXP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelParams {
    /// Transaction id of the action.
    pub transaction_id: TransactionId,
    /// `true`: kill at once, without asking first.
    pub force: bool,
}

/// `file` / `download`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileParams {
    /// In order: directories before what is in them.
    pub files: Vec<FileEntry>,
    /// The mode of files that are not there yet; a stock agent does not know it, and gives 0750 to
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// `file` / `collect`, an extension of ours: a file or directory of the node is told as [`Collected`]. Closed:
/// what an agent does not understand it must refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectParams {
    /// An absolute path.
    pub path: String,
    /// The user who reads it; the agent's own otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
}

/// `file` / `place`, an extension of ours: a file whose content is in the request, since it is secret or another
/// user's to write. Closed: what an agent does not understand it must refuse.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceParams {
    /// An absolute path.
    pub path: String,
    /// In Base64.
    pub content: String,
    /// Of a file that is not there yet.
    pub mode: u32,
    /// The user who writes it; the agent's own otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
}

/// Never what is in it.
impl std::fmt::Debug for PlaceParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlaceParams")
            .field("path", &self.path)
            .field("run_as", &self.run_as)
            .finish_non_exhaustive()
    }
}

/// A file or a directory of a node, on standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Otherwise it is the only item, without a path.
    pub is_directory: bool,
    /// Directories before what is in them.
    pub items: Vec<CollectedItem>,
    /// How much in the directory is neither file nor directory, or has no name in UTF-8.
    #[serde(default)]
    pub left_out: u64,
}

/// An item of [`Collected`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedItem {
    /// Relative to the directory. A node wrote it: not to be used unlooked at.
    pub path: String,
    /// In Base64; `None`: it is a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether its owner may execute the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_executable: bool,
}

/// One thing to put on the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// An absolute path.
    pub destination: String,
    /// What a symlink points to; empty for others.
    pub link_source: String,
    /// Where a file's content is.
    pub uri: FileUri,
    /// Of a file's content; an empty string on the wire for others.
    #[serde(deserialize_with = "empty_is_none", serialize_with = "none_is_empty")]
    pub sha256: Option<Sha256>,
    /// What it is.
    pub kind: FileKind,
    /// The mode of this one, if it is not there yet; a stock agent does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// The kinds of [`FileEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

/// `status` / `query`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusParams {
    /// The transaction that is asked for.
    pub transaction_id: TransactionId,
}

/// `echo` / `echo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoParams {
    /// Comes back as `outcome`.
    pub argument: String,
}

/// `ping` / `ping`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingParams {
    /// Ignored by agents.
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
