//! Stored deployments and their results: [`Deployment`], [`DeploymentOutcome`].

use std::fmt;

use api_types::LateFollower;
use environments::EnvironmentName;
use serde::{Deserialize, Serialize};
use store::{CodeDeployRow, NewCodeDeploy};
use uuid::Uuid;

use crate::defaults::REASON_BYTES;
use code_store::diff::ModuleChanges;
use code_store::version::VersionSignature;

/// The kind of change that a deployment makes to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentAction {
    /// Deploys the current state of its branch.
    Deploy {
        /// Builds and verifies the version, but does not switch.
        dry_run: bool,
    },
    /// Deploys the current state of some modules, and keeps everything else.
    Modules {
        /// Names of the modules: `owner/name`, `owner-name` or `name`.
        names: Vec<String>,
        /// Builds and verifies the version, but does not switch.
        dry_run: bool,
    },
    /// Deploys the current state of its branch, and keeps the modules.
    Control {
        /// Builds and verifies the version, but does not switch.
        dry_run: bool,
    },
    /// Removes the environment, if no source has it any more.
    Remove,
    /// Makes an existing version live.
    Rollback {
        /// Signature of the version.
        signature: VersionSignature,
    },
    /// Makes a version of another environment live.
    Promote {
        /// Environment that has the version.
        from: EnvironmentName,
        /// Signature of the version.
        signature: VersionSignature,
    },
    /// Makes the files that another tool wrote into the staging directory live.
    Publish,
    /// Replaces damaged files of a version; the live version stays the same.
    Repair {
        /// Signature of the version.
        signature: VersionSignature,
    },
}

/// The requester of a deployment, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentRequester {
    /// Login, or the name of a webhook.
    pub owner: String,
    /// Reason of the request, as free text.
    pub reason: String,
}

/// Progress of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentState {
    /// The deployment waits in the queue.
    Queued,
    /// The version is being resolved, fetched and built.
    Deploying,
    /// The version is live here, and others are being notified.
    Syncing,
    /// The deployment is over and succeeded.
    Synced,
    /// The deployment is over and failed; the live version is as it was.
    Failed,
}

/// A deployment, as it is stored in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Number that identifies the deployment.
    pub id: i64,
    /// Name of the deployed environment.
    pub environment: String,
    /// Name of the requested action: `deploy`, `modules`, `control`, `rollback`, …
    pub action: String,
    /// True if only a dry run was requested.
    pub dry_run: bool,
    /// Requester of the deployment, and the reason.
    pub requester: DeploymentRequester,
    /// Progress of the deployment.
    pub state: DeploymentState,
    /// Time of the request, in milliseconds.
    pub queued_ms: i64,
    /// Time at which work began, in milliseconds.
    pub started_ms: Option<i64>,
    /// Time at which the deployment was over, in milliseconds.
    pub finished_ms: Option<i64>,
    /// The deployment that did the work, if one served several.
    pub served_by: Option<i64>,
    /// Signature of the version that was made live, or would have been.
    pub signature: Option<String>,
    /// Signature of the version that was live before.
    pub before: Option<String>,
    /// Result of the deployment; only when it is over.
    pub outcome: Option<DeploymentOutcome>,
}

/// Result of a finished deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentOutcome {
    /// Commit of the control repository.
    #[serde(default)]
    pub control_commit: Option<String>,
    /// Number of modules in the version.
    #[serde(default)]
    pub modules: usize,
    /// Differences from the version that was live before.
    #[serde(default)]
    pub changes: Option<ModuleChanges>,
    /// Further notes for users.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Number of the switch that was announced to followers.
    #[serde(default)]
    pub generation: Option<i64>,
    /// Identifies all environments with their versions at that time.
    #[serde(default)]
    pub code_commit: Option<String>,
    /// Followers that had not switched when the deployment was over.
    #[serde(default)]
    pub late: Vec<LateFollower>,
    /// Reason of the failure, if it failed.
    #[serde(default)]
    pub error: Option<DeploymentFault>,
}

/// Reason that a deployment failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentFault {
    /// Error kind, for use by programs.
    pub kind: String,
    /// Error message, for users.
    pub msg: String,
}

/// The options of an action, as a row stores them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredActionOptions {
    #[serde(default)]
    dry_run: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    modules: Vec<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    from: Option<String>,
}

// === impl DeploymentAction ===

impl DeploymentAction {
    /// True for a dry run, which switches nothing.
    pub(super) fn is_dry_run(&self) -> bool {
        match self {
            Self::Deploy { dry_run }
            | Self::Modules { dry_run, .. }
            | Self::Control { dry_run } => *dry_run,
            Self::Remove
            | Self::Rollback { .. }
            | Self::Promote { .. }
            | Self::Publish
            | Self::Repair { .. } => false,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Deploy { .. } => "deploy",
            Self::Modules { .. } => "modules",
            Self::Control { .. } => "control",
            Self::Remove => "remove",
            Self::Rollback { .. } => "rollback",
            Self::Promote { .. } => "promote",
            Self::Publish => "publish",
            Self::Repair { .. } => "repair",
        }
    }

    fn options(&self) -> StoredActionOptions {
        match self {
            Self::Deploy { dry_run } | Self::Control { dry_run } => StoredActionOptions {
                dry_run: *dry_run,
                ..StoredActionOptions::default()
            },
            Self::Modules { names, dry_run } => StoredActionOptions {
                dry_run: *dry_run,
                modules: names.clone(),
                ..StoredActionOptions::default()
            },
            Self::Remove | Self::Publish => StoredActionOptions::default(),
            Self::Rollback { signature } | Self::Repair { signature } => StoredActionOptions {
                signature: Some(signature.to_string()),
                ..StoredActionOptions::default()
            },
            Self::Promote { from, signature } => StoredActionOptions {
                signature: Some(signature.to_string()),
                from: Some(from.to_string()),
                ..StoredActionOptions::default()
            },
        }
    }

    /// The action of a row; `None` if no version of this program wrote the row.
    pub(super) fn from_row(row: &CodeDeployRow) -> Option<Self> {
        let options: StoredActionOptions = serde_json::from_str(&row.options).ok()?;
        let signature = || options.signature.as_ref()?.parse().ok();
        match row.action.as_str() {
            "deploy" => Some(Self::Deploy {
                dry_run: options.dry_run,
            }),
            "modules" => Some(Self::Modules {
                names: options.modules,
                dry_run: options.dry_run,
            }),
            "control" => Some(Self::Control {
                dry_run: options.dry_run,
            }),
            "remove" => Some(Self::Remove),
            "publish" => Some(Self::Publish),
            "rollback" => Some(Self::Rollback {
                signature: signature()?,
            }),
            "repair" => Some(Self::Repair {
                signature: signature()?,
            }),
            "promote" => Some(Self::Promote {
                from: options.from.as_ref()?.parse().ok()?,
                signature: signature()?,
            }),
            _ => None,
        }
    }

    /// The row that stores this action.
    pub(super) fn to_row(
        &self,
        environment: &EnvironmentName,
        by: &DeploymentRequester,
        queued_ms: i64,
    ) -> NewCodeDeploy {
        NewCodeDeploy {
            request_id: Uuid::new_v4().to_string(),
            environment: environment.to_string(),
            action: self.name().to_owned(),
            options: serde_json::to_string(&self.options()).unwrap_or_default(),
            owner: by.owner.clone(),
            reason: truncate(&by.reason, REASON_BYTES).to_owned(),
            state: DeploymentState::Queued.to_string(),
            queued_ms,
        }
    }
}

/// The beginning of a text of at most `bytes` bytes, cut between characters.
pub(crate) fn truncate(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

// === impl DeploymentState ===

impl DeploymentState {
    fn parse(text: &str) -> Self {
        match text {
            "queued" => Self::Queued,
            "deploying" => Self::Deploying,
            "syncing" => Self::Syncing,
            "synced" => Self::Synced,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for DeploymentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Queued => "queued",
            Self::Deploying => "deploying",
            Self::Syncing => "syncing",
            Self::Synced => "synced",
            Self::Failed => "failed",
        })
    }
}

// === impl Deployment ===

impl From<CodeDeployRow> for Deployment {
    fn from(row: CodeDeployRow) -> Self {
        let options: StoredActionOptions = serde_json::from_str(&row.options).unwrap_or_default();
        Self {
            id: row.id,
            environment: row.environment,
            action: row.action,
            dry_run: options.dry_run,
            requester: DeploymentRequester {
                owner: row.owner,
                reason: row.reason,
            },
            state: DeploymentState::parse(&row.state),
            queued_ms: row.queued_ms,
            started_ms: row.started_ms,
            finished_ms: row.finished_ms,
            served_by: row.served_by,
            signature: row.signature,
            before: row.before,
            outcome: row
                .outcome
                .and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}
