//! A deployment, as it is kept: [`Deployment`], and what it did: [`Outcome`].

use std::fmt;

use api_types::LateFollower;
use environments::EnvironmentName;
use serde::{Deserialize, Serialize};
use store::{CodeDeployRow, NewCodeDeploy};
use uuid::Uuid;

use crate::defaults::REASON_BYTES;
use code_store::diff::ModuleChanges;
use code_store::version::VersionSignature;

/// What is done with an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentAction {
    /// What its branch has becomes live.
    Deploy {
        /// Make the version and look at it, but do not switch.
        dry_run: bool,
    },
    /// It becomes live anew, with what some modules are now, and all else as it is.
    Modules {
        /// Which: `owner/name`, `owner-name` or `name`.
        names: Vec<String>,
        /// Make the version and look at it, but do not switch.
        dry_run: bool,
    },
    /// It becomes live anew, with what its branch has now, but for modules: those are as they are.
    Control {
        /// Make the version and look at it, but do not switch.
        dry_run: bool,
    },
    /// It is taken away, if no source has it any more.
    Remove,
    /// A version that is here becomes live.
    Rollback {
        /// Which.
        signature: VersionSignature,
    },
    /// A version of another environment becomes live.
    Promote {
        /// Of which.
        from: EnvironmentName,
        /// Which.
        signature: VersionSignature,
    },
    /// What another tool wrote into the staging directory becomes live.
    Publish,
    /// Damaged files of a version are replaced; what is live stays.
    Repair {
        /// Signature of the version.
        signature: VersionSignature,
    },
}

/// Who wants it, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentRequester {
    /// Login, or the name of a webhook.
    pub owner: String,
    /// Free text.
    pub reason: String,
}

/// How far a deployment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for its turn.
    Queued,
    /// It is resolved, fetched and built.
    Deploying,
    /// It is live here, and told to others.
    Syncing,
    /// It is over, and well.
    Synced,
    /// It is over, and what was live is as it was.
    Failed,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Its number.
    pub id: i64,
    /// Of what.
    pub environment: String,
    /// What was asked for: `deploy`, `modules`, `control`, `rollback`, …
    pub action: String,
    /// Whether only a dry run was.
    pub dry_run: bool,
    /// Who asked, and why.
    pub by: DeploymentRequester,
    /// How far it is.
    pub state: State,
    /// When it was asked for.
    pub queued_ms: i64,
    /// When work began.
    pub started_ms: Option<i64>,
    /// When it was over.
    pub finished_ms: Option<i64>,
    /// The deployment that did the work, where one served several.
    pub served_by: Option<i64>,
    /// What was made live, or would have been.
    pub signature: Option<String>,
    /// What was live until then.
    pub before: Option<String>,
    /// What it did; only when it is over.
    pub outcome: Option<Outcome>,
}

/// What a deployment did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the control repository was at.
    #[serde(default)]
    pub control_commit: Option<String>,
    /// How many modules there are.
    #[serde(default)]
    pub modules: usize,
    /// What is different from before.
    #[serde(default)]
    pub changes: Option<ModuleChanges>,
    /// What else people should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The number of the switch that followers were told of.
    #[serde(default)]
    pub generation: Option<i64>,
    /// Names all environments with their versions, as they were then.
    #[serde(default)]
    pub code_commit: Option<String>,
    /// Followers that had not switched when it was over.
    #[serde(default)]
    pub late: Vec<LateFollower>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<DeploymentFault>,
}

/// Why a deployment failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentFault {
    /// For programs.
    pub kind: String,
    /// For people.
    pub msg: String,
}

/// What a row says of what was asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Options {
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
    /// Whether nothing is switched.
    pub(super) fn is_dry(&self) -> bool {
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

    fn options(&self) -> Options {
        match self {
            Self::Deploy { dry_run } | Self::Control { dry_run } => Options {
                dry_run: *dry_run,
                ..Options::default()
            },
            Self::Modules { names, dry_run } => Options {
                dry_run: *dry_run,
                modules: names.clone(),
                ..Options::default()
            },
            Self::Remove | Self::Publish => Options::default(),
            Self::Rollback { signature } | Self::Repair { signature } => Options {
                signature: Some(signature.to_string()),
                ..Options::default()
            },
            Self::Promote { from, signature } => Options {
                signature: Some(signature.to_string()),
                from: Some(from.to_string()),
                ..Options::default()
            },
        }
    }

    /// What a row asks for; `None`: no version of this program wrote it.
    pub(super) fn of(row: &CodeDeployRow) -> Option<Self> {
        let options: Options = serde_json::from_str(&row.options).ok()?;
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

    /// The row that asks for this.
    pub(super) fn row(
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
            reason: cut(&by.reason, REASON_BYTES).to_owned(),
            state: State::Queued.to_string(),
            queued_ms,
        }
    }
}

/// The begin of a text, at the border of a character.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

// === impl State ===

impl State {
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

impl fmt::Display for State {
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
        let options: Options = serde_json::from_str(&row.options).unwrap_or_default();
        Self {
            id: row.id,
            environment: row.environment,
            action: row.action,
            dry_run: options.dry_run,
            by: DeploymentRequester {
                owner: row.owner,
                reason: row.reason,
            },
            state: State::parse(&row.state),
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
