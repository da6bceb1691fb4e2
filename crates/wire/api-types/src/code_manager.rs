//! Code Manager's API, `/code-manager/v1`.
//!
//! The shapes are Puppet Enterprise's, with more keys; keys have hyphens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::code::CodeDeployment;
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, LateFollower, Timestamp, strict};

/// `POST code-manager/v1/deploys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CodeDeploysCommand {
    /// Names of environments.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub environments: Vec<String>,
    /// All environments of all sources; those that no source has any more are taken away.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub deploy_all: bool,
    /// Answer when all is over.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub wait: bool,
    /// Make the versions and look at them, but switch to none.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub dry_run: bool,
    /// Whether modules are looked up, too; else they stay what they are. They always are in an environment that is
    /// not live yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_modules: Option<bool>,
    /// Only these modules are looked up, and all else stays what it is: `owner/name`, `owner-name` or `name`. With
    /// `deploy-all`: in the environments that have them.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(value_type = Option<Vec<String>>)]
    pub modules: Vec<String>,
    /// Free text, for the history.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub reason: String,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeploy {
    /// The environment.
    pub environment: String,
    /// Its number; absent where nothing was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// `queued`, `deploying`, `syncing`, `complete` or `failed`.
    #[schema(example = "complete")]
    pub status: String,
    /// The commit of the control repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_signature: Option<String>,
    /// Where the version is known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_sync: Option<FileSyncCommits>,
    /// Followers that do not have it yet. It is `syncing` as long as there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_followers: Vec<LateFollower>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<CodeDeployment>,
}

/// The version of a deployment, where Puppet Enterprise has the commits of file sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileSyncCommits {
    /// The version's signature.
    pub environment_commit: String,
    /// Names all environments with their versions, where others follow this server; else as above.
    pub code_commit: String,
}

/// `GET code-manager/v1/deploys/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeploysStatus {
    /// What is under way, and what failed last.
    pub deploys_status: CodeDeploysUnderWay,
    /// The newest deployment of each environment that is over, dry runs included: who asked for it and when, the
    /// commit, and why it failed. None of environments that were taken away.
    #[serde(default)]
    pub last_outcomes: Vec<CodeDeployment>,
    /// What is live.
    pub file_sync_storage_status: CodeStorageStatus,
    /// Whether others have it, too.
    pub file_sync_client_status: CodeClientStatus,
    /// Why deployments from sources are refused at this moment: the settings cannot be used. Absent: they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_error: Option<ErrorBody>,
    /// Why no deployment could go live at this moment: directories cannot be written to, by a probe made for this
    /// answer. Its details have `obstacles`, each with `path`, `cause` and `remedy`. Absent: they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories_error: Option<ErrorBody>,
    /// Room on the disk; absent until it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_use: Option<CodeDiskUse>,
}

/// What code takes on the disk. It is counted when old versions are removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDiskUse {
    /// When that was.
    pub date: Timestamp,
    /// What versions take: each content once.
    pub versions_bytes: u64,
    /// What copies of repositories take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repositories_bytes: Option<u64>,
}

/// Deployments by their states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeDeploysUnderWay {
    /// Just written down; none is, for long.
    pub new: Vec<CodeDeployStatus>,
    /// Waiting for their turn.
    pub queued: Vec<CodeDeployStatus>,
    /// At work.
    pub deploying: Vec<CodeDeployStatus>,
    /// Environments of which the last deployment failed.
    pub failed: Vec<CodeDeployStatus>,
}

/// One deployment: `GET code-manager/v1/deploys/status?id=`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeployStatus {
    /// Its number.
    pub id: i64,
    /// The environment.
    pub environment: String,
    /// `queued`, `deploying`, `syncing`, `synced` or `failed`.
    #[schema(example = "synced")]
    pub status: String,
    /// When it was asked for.
    pub queued_at: Timestamp,
    /// Whom it waits for, if it waits to switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<CodeBlockers>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// Whom a deployment waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeBlockers {
    /// Plan jobs that want the environment to stay.
    pub plans: Vec<i64>,
    /// Jobs of Puppet runs that want the same.
    #[serde(default)]
    pub jobs: Vec<i64>,
    /// Deployments that were there before.
    pub deployments: Vec<i64>,
}

/// What is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeStorageStatus {
    /// Each environment.
    pub deployed: Vec<CodeDeployed>,
}

/// A live environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeDeployed {
    /// Its name.
    pub environment: String,
    /// Since when.
    pub date: Timestamp,
    /// The commit of the control repository.
    pub deploy_signature: String,
    /// The version's signature.
    pub version: String,
}

/// Who else has the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CodeClientStatus {
    /// Whether everybody who follows has what is live.
    pub all_synced: bool,
    /// Who follows, by name.
    #[schema(value_type = Object)]
    pub file_sync_clients: serde_json::Map<String, Value>,
}

/// One number of a deployment: `?id=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeStatusQuery {
    /// `None`: all.
    pub id: Option<i64>,
}

/// `POST code-manager/v1/webhook`: the query. The body is the forge's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeWebhookQuery {
    /// `github`, `gitlab`, …; absent: as the headers say.
    pub kind: Option<String>,
    /// Of which sources; absent: of all.
    pub prefix: Option<String>,
}

/// `POST api/v1/r10k/module`, as webhook-go has it: the query. The body is the forge's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeModuleWebhookQuery {
    /// `github`, `gitlab`, …; absent: as the headers say.
    pub kind: Option<String>,
    /// The module; absent: as the repository says.
    pub module_name: Option<String>,
    /// Whether only the environment of the branch is deployed.
    pub branch_only: bool,
}

/// What a webhook is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeWebhookReply {
    /// Always `OK`.
    #[schema(example = "OK")]
    pub status: String,
    /// What is deployed for it.
    pub deploys: Vec<CodeDeploy>,
}

// === impl queries ===

impl CodeStatusQuery {
    /// Reads `id`.
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
    /// Reads `type`, `module_name` and `branch_only`, which anything switches on, as in webhook-go.
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
