//! `pxp-module-puppet` / `run`: a run of Puppet on the node, [`PuppetParams`] and [`PuppetResult`].
//!
//! Invariant: the members of pxp-module-puppet keep their name and meaning; all others are
//! extensions, which stock orchestrators ignore, and are absent if unknown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::CodeId;
use super::lease::LEASE_VARIABLE;

/// The parameters. Closed: an option that the agent does not know must not appear to be in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PuppetParams {
    /// Command line options of `puppet agent`, option and value as separate elements.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Id of the orchestrator's job; it is written into the run's report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Environment variables; ignored, as in pxp-module-puppet, except for [`REPORTED_RERUNS`] and the
    /// [lease](super::lease_variable).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Value>,
}

/// The element of [`PuppetParams::env`] with which the orchestrator takes over the reruns that the run requests: they
/// are in the result, and the node does not run Puppet again by itself. Agents that do not know it ignore it.
pub const REPORTED_RERUNS: &str = "TUTTI_RERUNS=reported";

/// A request of a run to be repeated, made by the module `common`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PuppetRerun {
    /// Key of the request. Of requests with one key, the last one counts.
    pub key: String,
    /// Shortest pause before the rerun, in seconds.
    pub delta_s: f64,
}

/// The outcome of a Puppet run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PuppetResult {
    /// Kind of the run; always `apply`.
    pub kind: String,
    /// Start of the run as in its report; `unknown` without a report, like the next three members.
    pub time: String,
    /// Transaction UUID of the run.
    pub transaction_uuid: String,
    /// Environment that the catalog was compiled in.
    pub environment: String,
    /// Status of the run: `changed`, `unchanged`, `failed` or `unknown`.
    pub status: String,
    /// Number of resources by result: `total`, `changed`, `failed`, …
    pub metrics: Map<String, Value>,
    /// 0 if the run finished, also with failed resources; 1 if it did not finish; -1 without a run.
    pub exitcode: i64,
    /// Version of this schema: 1.
    pub version: u32,
    /// The reason for which no run was made or it did not finish; `None` if it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<PuppetErrorType>,
    /// Error text for people: cause and next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Extension: the cause of the failure, more precise than `error_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<PuppetCause>,
    /// Extension: configuration version of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_version: Option<String>,
    /// Extension: the code version that the catalog was compiled from, if the server has code
    /// versions. For a cached catalog it is the version at the time of its compilation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_id: Option<CodeId>,
    /// Extension: id of the catalog, which each compilation makes anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_uuid: Option<String>,
    /// Extension: true if the run was made in noop mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noop: Option<bool>,
    /// Extension: true if a resource has a pending change that noop prevented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noop_pending: Option<bool>,
    /// Extension: true if the run reverted a change that had been made outside Puppet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrective_change: Option<bool>,
    /// Extension: `not_used`, `explicitly_requested` or `on_failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_catalog_status: Option<String>,
    /// Extension: version of the `puppet` that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub puppet_version: Option<String>,
    /// Extension: the exit code of `puppet agent --detailed-exitcodes` (0, 1, 2, 4 or 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_exitcode: Option<i64>,
    /// Extension: number of the signal that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Extension: the time for which the run waited for another run, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// Extension: resources that failed, changed or would have changed, failed ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<PuppetResource>,
    /// Extension: number of further resources that `resources` omits.
    #[serde(default, skip_serializing_if = "ResourcesOmitted::is_empty")]
    pub resources_omitted: ResourcesOmitted,
    /// Extension: requests to repeat the run, if the orchestrator wanted to know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<PuppetRerun>,
    /// Extension: the first messages that Puppet logged as errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Extension: true if the run was ended on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Extension: true if the run was ended by its timeout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// The failures that pxp-module-puppet names, followed by those that only Tutti uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PuppetErrorType {
    /// The request could not be parsed.
    InvalidJson,
    /// There is no `puppet` at the expected path.
    NoPuppetBin,
    /// `puppet agent` exited with success but left no report.
    NoLastRunReport,
    /// The report cannot be parsed.
    InvalidLastRunReport,
    /// An administrator disabled runs on the node.
    AgentDisabled,
    /// Another run was active for longer than this one waits.
    AgentAlreadyRunning,
    /// `puppet agent` could not be started.
    AgentFailedToStart,
    /// `puppet agent` exited with a failure.
    AgentExitNonZero,
    /// A value that only a newer agent sends.
    #[serde(other)]
    Other,
}

/// The cause of a failed run, as precisely as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PuppetCause {
    /// Puppet is not installed at the expected path.
    NotInstalled,
    /// `puppet agent` could not be executed.
    NotStarted,
    /// Runs are disabled on the node.
    Disabled,
    /// Another run did not end in time.
    AlreadyRunning,
    /// The server failed to compile a catalog.
    CatalogFailed,
    /// No server could be reached.
    ServerUnreachable,
    /// Certificates are missing, not signed, or not accepted.
    Certificate,
    /// The server assigns another environment to the node, or the environment does not exist.
    EnvironmentMismatch,
    /// The run was ended on request.
    Cancelled,
    /// The run was ended by its timeout.
    TimedOut,
    /// The run was ended by a signal.
    Killed,
    /// The run left no report and no known reason.
    NoReport,
    /// The report of the run cannot be parsed.
    InvalidReport,
    /// Another cause; the error text contains Puppet's message.
    #[serde(other)]
    Other,
}

/// A resource of a run that failed, changed or would have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PuppetResource {
    /// Type of the resource, as in `Type[title]`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Title of the resource, as in `Type[title]`.
    pub title: String,
    /// Result of the resource in this run.
    pub status: PuppetResourceStatus,
    /// The manifest that declares it; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the manifest; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The classes and resources that contain it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containment: Vec<String>,
    /// True if a change that had been made outside Puppet was reverted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrective: bool,
    /// Messages of its events; the failure's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// The result of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PuppetResourceStatus {
    /// The resource, or its restart, failed.
    Failed,
    /// The resource was changed.
    Changed,
    /// The resource would have been changed without noop.
    Noop,
}

/// Numbers of resources that a result omits to limit its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcesOmitted {
    /// Omitted resources that failed.
    pub failed: u64,
    /// Omitted resources that were changed.
    pub changed: u64,
    /// Omitted resources that would have been changed without noop.
    pub noop: u64,
}

/// The placeholder for a value that a result does not have.
const UNKNOWN: &str = "unknown";

impl PuppetParams {
    /// True if the requests to repeat the run are to be in the result.
    pub fn wants_reruns(&self) -> bool {
        self.env.iter().any(|variable| variable == REPORTED_RERUNS)
    }

    /// The lease of the run, if it names one.
    pub fn lease(&self) -> Option<Uuid> {
        let mut variables = self.env.iter().filter_map(Value::as_str);
        let lease = variables.find_map(|variable| variable.strip_prefix(LEASE_VARIABLE))?;
        Uuid::try_parse(lease).ok()
    }
}

impl PuppetResult {
    /// A result without any information about a run.
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
            catalog_uuid: None,
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
            reruns: Vec::new(),
            errors: Vec::new(),
            cancelled: false,
            timed_out: false,
        }
    }

    /// Adds the reason for which no run was made or it did not finish.
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
    /// True if no resource is omitted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
