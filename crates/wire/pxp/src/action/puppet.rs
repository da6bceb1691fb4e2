//! `pxp-module-puppet` / `run`: a run of Puppet on the node, [`PuppetParams`] and [`PuppetResult`].
//!
//! The rule: what pxp-module-puppet says keeps its name and its meaning; the rest is an extension
//! that stock orchestrators ignore, and absent where it is not known.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CodeId;

/// The parameters. Closed: an option that nobody understands must not look as if it were in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PuppetParams {
    /// Command line options of `puppet agent`, option and value as separate words.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Id of the orchestrator's job; it stands in the run's report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Ignored, as pxp-module-puppet does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Value>,
}

/// How a run of Puppet ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PuppetResult {
    /// Of the run; always `apply`.
    pub kind: String,
    /// When the run began, as its report says it; `unknown` without a report, like the next three.
    pub time: String,
    /// Of the run.
    pub transaction_uuid: String,
    /// In which the node was compiled.
    pub environment: String,
    /// `changed`, `unchanged`, `failed` or `unknown`.
    pub status: String,
    /// Number of resources by what became of them: `total`, `changed`, `failed`, …
    pub metrics: Map<String, Value>,
    /// 0 when a run was made to its end, also with failed resources; 1 when not; -1 without a run.
    pub exitcode: i64,
    /// Of this shape: 1.
    pub version: u32,
    /// Why the run was not made, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<PuppetErrorType>,
    /// For people: cause and next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Extension: which failure it is, finer than `error_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<PuppetCause>,
    /// Extension: of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_version: Option<String>,
    /// Extension: which version of the code the catalog is of, where the server keeps versions. With a
    /// cached catalog it is the version of then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_id: Option<CodeId>,
    /// Extension: whether the run only looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noop: Option<bool>,
    /// Extension: whether a resource waits for a change that noop held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noop_pending: Option<bool>,
    /// Extension: whether something was put back that had been changed outside Puppet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrective_change: Option<bool>,
    /// Extension: `not_used`, `explicitly_requested` or `on_failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_catalog_status: Option<String>,
    /// Extension: of the `puppet` that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub puppet_version: Option<String>,
    /// Extension: the exit code of `puppet agent --detailed-exitcodes` (0, 1, 2, 4 or 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_exitcode: Option<i64>,
    /// Extension: the signal that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension: how long it waited for another run, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// Extension: resources that failed, changed or would have changed, failed ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<PuppetResource>,
    /// Extension: how many more there are.
    #[serde(default, skip_serializing_if = "ResourcesOmitted::is_empty")]
    pub resources_omitted: ResourcesOmitted,
    /// Extension: the first messages that Puppet logged as errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Extension: it was ended on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: it was ended because its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// What pxp-module-puppet calls a failure, and the names that only we need, after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PuppetErrorType {
    /// The request could not be read.
    InvalidJson,
    /// There is no `puppet` where it was looked for.
    NoPuppetBin,
    /// `puppet agent` said that all is well, and left no report.
    NoLastRunReport,
    /// The report cannot be read.
    InvalidLastRunReport,
    /// Somebody switched runs off on the node.
    AgentDisabled,
    /// Another run was under way for longer than this one waits.
    AgentAlreadyRunning,
    /// `puppet agent` could not be started.
    AgentFailedToStart,
    /// `puppet agent` said that it failed.
    AgentExitNonZero,
    /// Something a later agent says.
    #[serde(other)]
    Other,
}

/// Why a run failed, as finely as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PuppetCause {
    /// Puppet is not installed where it was looked for.
    NotInstalled,
    /// `puppet agent` could not be executed.
    NotStarted,
    /// Runs are switched off on the node.
    Disabled,
    /// Another run did not end in time.
    AlreadyRunning,
    /// The server compiled no catalog.
    CatalogFailed,
    /// No server answered.
    ServerUnreachable,
    /// Certificates are missing, not signed, or not accepted.
    Certificate,
    /// The server's environment for the node is another, or is not there.
    EnvironmentMismatch,
    /// It was ended on request.
    Cancelled,
    /// Its time was up.
    TimedOut,
    /// A signal ended it.
    Killed,
    /// It left no report and no reason that is known.
    NoReport,
    /// Its report cannot be read.
    InvalidReport,
    /// Something else; the text says what Puppet said.
    #[serde(other)]
    Other,
}

/// A resource of a run that is worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PuppetResource {
    /// As in `Type[title]`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// As in `Type[title]`.
    pub title: String,
    /// What became of it.
    pub status: PuppetResourceStatus,
    /// The manifest that declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The classes and resources it is in, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containment: Vec<String>,
    /// Whether something was put back that had been changed outside Puppet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrective: bool,
    /// What its events say; the failure's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// What became of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PuppetResourceStatus {
    /// It, or its restart, failed.
    Failed,
    /// It was changed.
    Changed,
    /// It would have been changed.
    Noop,
}

/// Resources that a result has no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcesOmitted {
    /// Failed ones.
    pub failed: u64,
    /// Changed ones.
    pub changed: u64,
    /// Those that would have been changed.
    pub noop: u64,
}

/// What stands for a value that a result does not have.
const UNKNOWN: &str = "unknown";

impl PuppetResult {
    /// A result that knows nothing of a run.
    pub fn unknown() -> Self {
        Self {
            kind: "apply".to_owned(),
            time: UNKNOWN.to_owned(),
            transaction_uuid: UNKNOWN.to_owned(),
            environment: UNKNOWN.to_owned(),
            status: UNKNOWN.to_owned(),
            metrics: Map::new(),
            exitcode: -1,
            version: 1,
            error_type: None,
            error: None,
            cause: None,
            configuration_version: None,
            code_id: None,
            noop: None,
            noop_pending: None,
            corrective_change: None,
            cached_catalog_status: None,
            puppet_version: None,
            detailed_exitcode: None,
            signal: None,
            waited_ms: 0,
            resources: Vec::new(),
            resources_omitted: ResourcesOmitted::default(),
            errors: Vec::new(),
            cancelled: false,
            timed_out: false,
        }
    }

    /// With why there was no run, or none to its end.
    #[must_use]
    pub fn failed(
        mut self,
        error_type: PuppetErrorType,
        cause: PuppetCause,
        error: impl Into<String>,
    ) -> Self {
        self.error_type = Some(error_type);
        self.cause = Some(cause);
        self.error = Some(error.into());
        self
    }
}

impl ResourcesOmitted {
    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
