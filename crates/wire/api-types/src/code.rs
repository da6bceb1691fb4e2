//! Code on the server, `/tutti/v1/code`: its history and its versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Timestamp, strict};

/// A deployment in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeDeployment {
    /// Its number.
    pub id: i64,
    /// The environment.
    pub environment: String,
    /// `deploy`, `modules`, `control`, `remove`, `rollback`, `promote`, `publish` or `repair`.
    #[schema(example = "deploy")]
    pub action: String,
    /// Whether it only tried.
    pub dry_run: bool,
    /// `queued`, `deploying`, `syncing`, `synced` or `failed`.
    #[schema(example = "synced")]
    pub state: String,
    /// Who asked for it.
    pub owner: String,
    /// Why.
    pub reason: String,
    /// When it was asked for.
    pub queued_timestamp: Timestamp,
    /// When work began.
    pub started_timestamp: Option<Timestamp>,
    /// When it was over.
    pub finished_timestamp: Option<Timestamp>,
    /// The deployment that did the work, where one served several.
    pub served_by: Option<i64>,
    /// The version's signature.
    pub version: Option<String>,
    /// What was live until then.
    pub version_before: Option<String>,
    /// What the control repository was at.
    pub control_commit: Option<String>,
    /// How many modules there are.
    pub modules: usize,
    /// What is different from before.
    pub changes: Option<CodeChanges>,
    /// What else people should know.
    pub notes: Vec<String>,
    /// Why it failed.
    pub error: Option<ErrorBody>,
}

/// What is different between two versions, by module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeChanges {
    /// The control repository, if its commit is another.
    pub control: Option<CodeChange>,
    /// The modules that are different.
    pub modules: Vec<CodeModuleChange>,
}

/// From what to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeChange {
    /// Null: there was none.
    pub from: Option<String>,
    /// Null: there is none.
    pub to: Option<String>,
}

/// A module that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeModuleChange {
    /// Its directory in the environment.
    pub directory: String,
    /// Null: it is new.
    pub from: Option<String>,
    /// Null: it is gone.
    pub to: Option<String>,
}

/// `GET tutti/v1/code/history`: the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeHistoryQuery {
    /// Of one environment.
    pub environment: Option<String>,
    /// Deployments before this number.
    pub before: Option<i64>,
    /// How many.
    pub limit: Option<u64>,
}

/// `GET tutti/v1/code/history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeHistory {
    /// Newest first.
    pub items: Vec<CodeDeployment>,
}

/// `GET tutti/v1/code/versions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersions {
    /// By environment.
    pub items: Vec<CodeVersion>,
}

/// A version of an environment that is on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersion {
    /// The environment.
    pub environment: String,
    /// Its signature.
    pub version: String,
    /// Whether it is the live one.
    pub live: bool,
    /// Who wants the environment to stay with it.
    pub pinned: Option<CodePin>,
    /// The branch of the control repository.
    pub branch: Option<String>,
    /// The commit of the control repository.
    pub control_commit: Option<String>,
    /// How many modules it has.
    pub modules: usize,
}

/// Who wants an environment to stay with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodePin {
    /// Login.
    pub owner: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub timestamp: Timestamp,
}

/// `GET tutti/v1/code/diff`: the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeDiffQuery {
    /// The environment.
    pub environment: String,
    /// The first digits of a version; absent: the live one.
    pub from: Option<String>,
    /// The other environment; absent: the same.
    pub to_environment: Option<String>,
    /// The first digits of a version; absent: the live one.
    pub to: Option<String>,
}

/// `GET tutti/v1/code/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeDiff {
    /// The signature of the one version.
    pub from: String,
    /// The signature of the other.
    pub to: String,
    /// By module.
    pub changes: CodeChanges,
    /// By file.
    pub files: Vec<CodeFileChange>,
    /// Whether more files are different than are named.
    pub cut: bool,
}

/// A file that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeFileChange {
    /// Relative to the environment.
    pub path: String,
    /// `added`, `removed` or `changed`.
    #[schema(example = "changed")]
    pub change: String,
}

/// `POST tutti/v1/code/rollback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRollbackCommand {
    /// The environment.
    pub environment: String,
    /// The first digits of a version; absent: the one that was live before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Free text, for the history.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// `POST tutti/v1/code/promote`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodePromoteCommand {
    /// The environment that has the version.
    pub from: String,
    /// The first digits of it; absent: the live one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The environment that gets it.
    pub to: String,
    /// Free text, for the history.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// `POST tutti/v1/code/pin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodePinCommand {
    /// The environment; it stays with the version that is live.
    pub environment: String,
    /// Free text, for whoever is kept from deploying.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// `POST tutti/v1/code/unpin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeUnpinCommand {
    /// The environment.
    pub environment: String,
}

/// Whether an environment stays with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodePinned {
    /// The environment.
    pub environment: String,
    /// The version that it stays with; null: it does not.
    pub version: Option<String>,
}

/// `POST tutti/v1/code/gc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeGcCommand {
    /// Say only what would go.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub dry_run: bool,
}

/// What went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeCollected {
    /// Versions that nobody needed.
    pub versions: Vec<CodeGone>,
    /// Contents that no version had.
    pub objects: usize,
    /// What they took.
    pub bytes: u64,
    /// What all that are left take.
    pub left_bytes: u64,
    /// Notes and lists of files that no version needed.
    pub notes: usize,
    /// Copies of repositories that nobody used for 30 days.
    pub repositories: usize,
    /// What those that are left take.
    pub repositories_bytes: u64,
}

/// A version that went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeGone {
    /// The environment.
    pub environment: String,
    /// Its signature.
    pub version: String,
}

/// `POST tutti/v1/code/verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeVerifyCommand {
    /// Replace what is damaged.
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

/// Comparison of a version with what it was built of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeVerifiedVersion {
    /// Environment of the version.
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

// === impl queries ===

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
