//! Code Manager's API, `/code-manager/v1`.
//!
//! The format is Puppet Enterprise's with additional keys; keys are written with hyphens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::code::CodeDeployment;
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, LateFollower, Timestamp, strict};

/// Body of `POST code-manager/v1/deploys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CodeDeploysCommand {
    /// Names of the environments to deploy.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub environments: Vec<String>,
    /// Deploy all environments of all sources, and remove those that no source has any more.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub deploy_all: bool,
    /// Send the reply only after all deployments have ended.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub wait: bool,
    /// Build and check the versions, but make none of them live.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub dry_run: bool,
    /// False to keep modules as they are instead of resolving them; absent: true. Modules are
    /// always resolved in an environment that is not live yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_modules: Option<bool>,
    /// Only resolve these modules (`owner/name`, `owner-name` or `name`) and keep everything else
    /// as it is. With `deploy-all`: in the environments that have them.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(value_type = Option<Vec<String>>)]
    pub modules: Vec<String>,
    /// Free text that the deployment history shows; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// A deployment that a request started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeploy {
    /// Name of the environment.
    pub environment: String,
    /// Number of the deployment; absent if none was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// `queued`, `deploying`, `syncing`, `complete` or `failed`.
    #[schema(example = "complete")]
    pub status: String,
    /// Commit of the control repository; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_signature: Option<String>,
    /// Signatures that identify the deployed version; absent until it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_sync: Option<FileSyncCommits>,
    /// Followers that do not have the version yet. The status is `syncing` while there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_followers: Vec<LateFollower>,
    /// Cause of the failure; null or absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Entry of the deployment in the history; absent unless the request waited for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<CodeDeployment>,
}

/// Signatures of a deployment, in the keys that Puppet Enterprise uses for file sync commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileSyncCommits {
    /// Signature of the version.
    pub environment_commit: String,
    /// Hash over all environments with their versions if other servers follow this one; otherwise
    /// the version's signature.
    pub code_commit: String,
}

/// Reply to `GET code-manager/v1/deploys/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeploysStatus {
    /// Active deployments, and environments whose last deployment failed.
    pub deploys_status: CodeDeploysUnderWay,
    /// Newest finished deployment of each environment, dry runs included, with its owner, times,
    /// commit and error. Removed environments are left out.
    #[serde(default)]
    pub last_outcomes: Vec<CodeDeployment>,
    /// Versions that are live.
    pub file_sync_storage_status: CodeStorageStatus,
    /// Followers, and their progress in syncing the live versions.
    pub file_sync_client_status: CodeClientStatus,
    /// Error in the settings for which deployments from sources are refused now; absent if there is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_error: Option<ErrorBody>,
    /// Error for which no deployment could go live now: directories that cannot be written to, by a
    /// probe made for this reply. Its details have `obstacles`, each with `path`, `cause` and
    /// `remedy`. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories_error: Option<ErrorBody>,
    /// Disk usage of the code; absent until it has been measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_use: Option<CodeDiskUse>,
}

/// Disk usage of the code, measured by garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDiskUse {
    /// Time of the measurement.
    pub date: Timestamp,
    /// Size of all versions in bytes, with each content counted once.
    pub versions_bytes: u64,
    /// Size of the repository caches in bytes; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repositories_bytes: Option<u64>,
}

/// Deployments, grouped by state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeDeploysUnderWay {
    /// Always empty: each deployment is queued at once.
    pub new: Vec<CodeDeployStatus>,
    /// Deployments that wait for their turn.
    pub queued: Vec<CodeDeployStatus>,
    /// Deployments that are in progress.
    pub deploying: Vec<CodeDeployStatus>,
    /// Failed deployments that are the newest of their environment.
    pub failed: Vec<CodeDeployStatus>,
}

/// One deployment: the reply to `GET code-manager/v1/deploys/status?id=`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeployStatus {
    /// Number of the deployment.
    pub id: i64,
    /// Name of the environment.
    pub environment: String,
    /// `queued`, `deploying`, `syncing`, `synced` or `failed`.
    #[schema(example = "synced")]
    pub status: String,
    /// Time of the request.
    pub queued_at: Timestamp,
    /// Jobs and deployments that delay the switch to the new version; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<CodeBlockers>,
    /// Cause of the failure; null or absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// Jobs and deployments that a deployment waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeBlockers {
    /// Numbers of plan jobs that lock the environment.
    pub plans: Vec<i64>,
    /// Numbers of jobs with Puppet runs that lock the environment.
    #[serde(default)]
    pub jobs: Vec<i64>,
    /// Numbers of earlier deployments.
    pub deployments: Vec<i64>,
}

/// Live versions of all environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeStorageStatus {
    /// One item for each environment.
    pub deployed: Vec<CodeDeployed>,
}

/// Live version of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeployed {
    /// Name of the environment.
    pub environment: String,
    /// Time at which the version became live.
    pub date: Timestamp,
    /// Commit of the control repository; empty if it is not known.
    pub deploy_signature: String,
    /// Signature of the version.
    pub version: String,
}

/// Servers that follow this server's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeClientStatus {
    /// True if every follower has the live versions and an unexpired lease.
    pub all_synced: bool,
    /// State of each follower, by certname.
    #[schema(value_type = Object)]
    pub file_sync_clients: serde_json::Map<String, Value>,
}

/// Query of `GET code-manager/v1/deploys/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeStatusQuery {
    /// Number of the deployment; `None`: all deployments.
    pub id: Option<i64>,
}

/// Query of `POST code-manager/v1/webhook`. The body has the forge's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeWebhookQuery {
    /// Type of forge: `github`, `gitlab`, …; absent: detected from the headers.
    pub kind: Option<String>,
    /// Only sources with this prefix; absent: all sources.
    pub prefix: Option<String>,
}

/// Query of `POST api/v1/r10k/module`, as in webhook-go. The body has the forge's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeModuleWebhookQuery {
    /// Type of forge: `github`, `gitlab`, …; absent: detected from the headers.
    pub kind: Option<String>,
    /// Name of the module; absent: derived from the repository's name.
    pub module_name: Option<String>,
    /// True if only the environment of the pushed branch is deployed.
    pub branch_only: bool,
}

/// Reply to an accepted webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeWebhookReply {
    /// Always `OK`, as in Puppet Enterprise.
    #[schema(example = "OK")]
    pub status: String,
    /// Deployments that the webhook started.
    pub deploys: Vec<CodeDeploy>,
}

// === queries ===

impl CodeStatusQuery {
    /// Reads the parameter `id`.
    ///
    /// # Errors
    /// A validation error for anything else.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let id = given
            .number("id")?
            .map(|id| i64::try_from(id).unwrap_or(i64::MAX));
        given.finish()?;
        Ok(Self { id })
    }
}

impl CodeWebhookQuery {
    /// Reads `type` and `prefix`.
    ///
    /// # Errors
    /// A validation error for anything else.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let (kind, prefix) = (given.text("type"), given.text("prefix"));
        given.finish()?;
        Ok(Self { kind, prefix })
    }
}

impl CodeModuleWebhookQuery {
    /// Reads `type`, `module_name` and `branch_only`, which any text switches on, as in webhook-go.
    ///
    /// # Errors
    /// A validation error for anything else.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let (kind, module_name) = (given.text("type"), given.text("module_name"));
        let branch_only = given.text("branch_only").is_some_and(|it| !it.is_empty());
        given.finish()?;
        Ok(Self {
            kind,
            module_name,
            branch_only,
        })
    }
}
