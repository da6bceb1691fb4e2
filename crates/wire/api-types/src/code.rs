//! Code on the server, `/tutti/v1/code`: the deployment history and the code versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Timestamp, strict};

/// A deployment in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeDeployment {
    /// Number of the deployment.
    pub id: i64,
    /// Name of the environment.
    pub environment: String,
    /// `deploy`, `modules`, `control`, `remove`, `rollback`, `promote`, `publish` or `repair`.
    #[schema(example = "deploy")]
    pub action: String,
    /// True if the deployment was a dry run and made nothing live.
    pub dry_run: bool,
    /// `queued`, `deploying`, `syncing`, `synced` or `failed`.
    #[schema(example = "synced")]
    pub state: String,
    /// Login of the user who requested the deployment, or name of the program.
    pub owner: String,
    /// Reason given in the request; may be empty.
    pub reason: String,
    /// Time of the request.
    pub queued_timestamp: Timestamp,
    /// Start time; null while the deployment is queued.
    pub started_timestamp: Option<Timestamp>,
    /// End time; null until the deployment has ended.
    pub finished_timestamp: Option<Timestamp>,
    /// Number of the deployment that did the work, if one deployment served several requests.
    pub served_by: Option<i64>,
    /// Signature of the deployed version; null if there is none yet.
    pub version: Option<String>,
    /// Signature of the version that was live before; null if there was none.
    pub version_before: Option<String>,
    /// Commit of the control repository; null if it is not known.
    pub control_commit: Option<String>,
    /// Number of modules in the version.
    pub modules: usize,
    /// Differences from the previous version; null if they are not known.
    pub changes: Option<CodeChanges>,
    /// Remarks about the deployment, as sentences.
    pub notes: Vec<String>,
    /// Cause of the failure; null or absent if there was none.
    pub error: Option<ErrorBody>,
}

/// Differences between two versions, by module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeChanges {
    /// Commits of the control repository, if they differ.
    pub control: Option<CodeChange>,
    /// Modules that differ between the versions.
    pub modules: Vec<CodeModuleChange>,
}

/// Old and new commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeChange {
    /// Old commit; null if there was none.
    pub from: Option<String>,
    /// New commit; null if there is none.
    pub to: Option<String>,
}

/// A module that differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeModuleChange {
    /// Directory of the module in the environment.
    pub directory: String,
    /// Old version or commit; null if the module is new.
    pub from: Option<String>,
    /// New version or commit; null if the module was removed.
    pub to: Option<String>,
}

/// Query of `GET tutti/v1/code/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeHistoryQuery {
    /// Only deployments of this environment; `None`: of all environments.
    pub environment: Option<String>,
    /// Only deployments with a lower number; `None`: from the newest.
    pub before: Option<i64>,
    /// Largest number of deployments to return; `None`: the default.
    pub limit: Option<u64>,
}

/// Reply to `GET tutti/v1/code/history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeHistory {
    /// Deployments of this page, newest first.
    pub items: Vec<CodeDeployment>,
}

/// Reply to `GET tutti/v1/code/versions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersions {
    /// Versions on the server, sorted by environment.
    pub items: Vec<CodeVersion>,
}

/// A version of an environment that is stored on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersion {
    /// Name of the environment.
    pub environment: String,
    /// Signature of the version.
    pub version: String,
    /// True if this version is live.
    pub live: bool,
    /// Pin that keeps the environment at this version; absent or null if there is none.
    pub pinned: Option<CodePin>,
    /// Branch of the control repository; absent or null if it is not known.
    pub branch: Option<String>,
    /// Commit of the control repository; absent or null if it is not known.
    pub control_commit: Option<String>,
    /// Number of modules in the version.
    pub modules: usize,
}

/// Pin that keeps an environment at its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodePin {
    /// Login of the user who set the pin.
    pub owner: String,
    /// Reason given by that user; may be empty.
    pub reason: String,
    /// Time at which the pin was set.
    pub timestamp: Timestamp,
}

/// Query of `GET tutti/v1/code/diff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeDiffQuery {
    /// Environment of the first version.
    pub environment: String,
    /// First digits of the version's signature; absent: the live version.
    pub from: Option<String>,
    /// Environment of the second version; absent: the same one.
    pub to_environment: Option<String>,
    /// First digits of the version's signature; absent: the live version.
    pub to: Option<String>,
}

/// Reply to `GET tutti/v1/code/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeDiff {
    /// Signature of the first version.
    pub from: String,
    /// Signature of the second version.
    pub to: String,
    /// Differences between the versions, by module.
    pub changes: CodeChanges,
    /// Differences by file, up to a limit.
    pub files: Vec<CodeFileChange>,
    /// True if more files differ than are listed.
    pub cut: bool,
}

/// A file that differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeFileChange {
    /// Path relative to the environment.
    pub path: String,
    /// Type of the difference: `added`, `removed` or `changed`.
    #[schema(example = "changed")]
    pub change: String,
}

/// Body of `POST tutti/v1/code/rollback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRollbackCommand {
    /// Environment to roll back.
    pub environment: String,
    /// First digits of the version's signature; absent: the version that was live before the
    /// present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Free text that the deployment history shows; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// Body of `POST tutti/v1/code/promote`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodePromoteCommand {
    /// Environment that has the version.
    pub from: String,
    /// First digits of the version's signature; absent: the live version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Environment in which the version becomes live.
    pub to: String,
    /// Free text that the deployment history shows; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// Body of `POST tutti/v1/code/pin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodePinCommand {
    /// Environment to pin at the version that is live.
    pub environment: String,
    /// Free text, shown to users whose deployments are refused.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// Body of `POST tutti/v1/code/unpin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeUnpinCommand {
    /// Name of the environment.
    pub environment: String,
}

/// Reply to `POST tutti/v1/code/pin` and `unpin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodePinned {
    /// Name of the environment.
    pub environment: String,
    /// Signature of the version to which the environment is pinned; null if it is not pinned.
    pub version: Option<String>,
}

/// Body of `POST tutti/v1/code/gc` (garbage collection).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeGcCommand {
    /// Only report the versions and contents that would be removed.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub dry_run: bool,
}

/// Result of a garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeCollected {
    /// Versions that were removed because nothing needed them.
    pub versions: Vec<CodeGone>,
    /// Number of removed contents, which no version had.
    pub objects: usize,
    /// Size of the removed contents, in bytes.
    pub bytes: u64,
    /// Size of the remaining contents, in bytes.
    pub left_bytes: u64,
    /// Number of removed notes and file lists, which no version needed.
    pub notes: usize,
    /// Number of removed repository caches, unused for 30 days.
    pub repositories: usize,
    /// Size of the remaining repository caches, in bytes.
    pub repositories_bytes: u64,
}

/// A version that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeGone {
    /// Name of the environment.
    pub environment: String,
    /// Signature of the version.
    pub version: String,
}

/// Body of `POST tutti/v1/code/verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeVerifyCommand {
    /// Replace damaged contents as well.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub repair: bool,
}

/// Comparison of the code store with its hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVerified {
    /// Number of contents that were hashed.
    pub contents: usize,
    /// Total size of those contents, in bytes.
    pub bytes: u64,
    /// Number of contents that are not those of their hashes; a repair removes them.
    pub damaged_contents: usize,
    /// All versions, by environment.
    pub versions: Vec<CodeVerifiedVersion>,
}

/// Comparison of a version with the contents that it was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVerifiedVersion {
    /// Name of the version's environment.
    pub environment: String,
    /// Signature of the version.
    pub version: String,
    /// True if the version is live.
    pub live: bool,
    /// `whole`, `damaged`, `repaired`, or `unknown` if it cannot be compared.
    #[schema(example = "whole")]
    pub state: String,
    /// The first damaged files and links, by path.
    pub damaged: Vec<String>,
    /// Number of all damaged files and links.
    pub damaged_files: usize,
    /// Reason for which the version cannot be compared or repaired.
    pub why: Option<String>,
    /// Number of the deployment that was to repair the version.
    pub deployment: Option<i64>,
}

// === queries ===

impl CodeHistoryQuery {
    /// Reads `environment`, `before` and `limit`.
    ///
    /// # Errors
    /// A validation error for anything else.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let environment = given.text("environment");
        let before = given
            .number("before")?
            .map(|id| i64::try_from(id).unwrap_or(i64::MAX));
        let limit = given.number("limit")?;
        given.finish()?;
        Ok(Self {
            environment,
            before,
            limit,
        })
    }
}

impl CodeDiffQuery {
    /// Reads `environment`, `from`, `to_environment` and `to`.
    ///
    /// # Errors
    /// A validation error for anything else, or without `environment`.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let environment = given.text("environment");
        let (from, to) = (given.text("from"), given.text("to"));
        let to_environment = given.text("to_environment");
        given.finish()?;
        let environment =
            environment.ok_or_else(|| ApiError::invalid("environment", "this must be given"))?;
        Ok(Self {
            environment,
            from,
            to_environment,
            to,
        })
    }
}
