//! Reports of Puppet runs: `/tutti/v1/reports`.

use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use crate::defaults::{REPORTS_MAX, REPORTS_SHOWN};
use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp};

/// The query of `GET /tutti/v1/reports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunReportsQuery {
    /// Only reports of this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Only reports of runs with this result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// Only reports of runs that this job started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Largest number of reports to return.
    pub limit: u64,
    /// Number of reports to skip at the beginning.
    pub offset: u64,
}

/// Reply to `GET /tutti/v1/reports`: reports in the order of their arrival, the last one first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportList {
    /// Reports of this page.
    pub items: Vec<RunReportItem>,
    /// `server`; `puppetdb` if this server has none of these reports, and PuppetDB was asked.
    #[serde(default)]
    #[schema(example = "server")]
    pub source: String,
}

/// The report of one run, without its details.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportItem {
    /// Id of the report.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015")]
    pub id: String,
    /// Certname of the node.
    pub node: String,
    /// `changed`, `unchanged` or `failed`.
    pub status: String,
    /// True if the run was in noop mode.
    pub noop: bool,
    /// True if the run would have made changes without noop.
    #[serde(default)]
    pub noop_pending: Option<bool>,
    /// True if the run corrected a change that was not made by Puppet.
    #[serde(default)]
    pub corrective_change: Option<bool>,
    /// Environment of the run.
    #[serde(default)]
    pub environment: Option<String>,
    /// Start of the run by the node's clock, or the time of arrival if that clock is wrong.
    #[serde(default)]
    pub start_time: Option<PreciseTimestamp>,
    /// End of the run.
    #[serde(default)]
    pub end_time: Option<PreciseTimestamp>,
    /// Time at which the server received the report.
    pub receive_time: PreciseTimestamp,
    /// Puppet's id of the run.
    pub transaction_uuid: String,
    /// Id of the catalog.
    #[serde(default)]
    pub catalog_uuid: Option<String>,
    /// Code id of the catalog.
    #[serde(default)]
    pub code_id: Option<String>,
    /// Configuration version of the catalog.
    #[serde(default)]
    pub configuration_version: Option<String>,
    /// `not_used`, `explicitly_requested` or `on_failure`.
    #[serde(default)]
    pub cached_catalog_status: Option<String>,
    /// The job that started the run; null if no job did.
    #[serde(default)]
    pub job: Option<String>,
    /// Version of Puppet on the node.
    #[serde(default)]
    pub puppet_version: Option<String>,
}

/// The complete report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportDocument {
    /// The report without its details.
    #[serde(flatten)]
    pub item: RunReportItem,
    /// Counts, and seconds by resource type.
    #[serde(default)]
    pub metrics: Vec<RunReportMetric>,
    /// Resources that were changed, failed or skipped, or that noop kept from a change.
    #[serde(default)]
    pub resources: Vec<RunReportResource>,
    /// Messages of the run.
    #[serde(default)]
    pub logs: Vec<RunReportLog>,
    /// Sentences about parts of the report that were left out or changed by the server.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A metric of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportMetric {
    /// `resources`, `changes`, `events` or `time`.
    pub category: String,
    /// Name within the category, for example `failed`.
    pub name: String,
    /// A count, or seconds.
    #[schema(value_type = f64)]
    pub value: Number,
}

/// A resource in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportResource {
    /// Type of the resource, for example `File`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of the resource.
    pub title: String,
    /// `failed`, `changed`, `corrective`, `noop`, `skipped`, `out_of_sync` or `unchanged`.
    pub status: String,
    /// Manifest that declares the resource.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in the manifest.
    #[serde(default)]
    pub line: Option<i64>,
    /// Classes and resources that contain the resource, from the outermost.
    #[serde(default)]
    pub containment_path: Vec<String>,
    /// Seconds that the resource took.
    #[serde(default)]
    pub evaluation_time: Option<f64>,
    /// Changes of properties, made or attempted.
    #[serde(default)]
    pub events: Vec<RunReportEvent>,
}

/// A change of a property, made or attempted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportEvent {
    /// `success`, `failure`, `noop` or `audit`.
    pub status: String,
    /// The property; null for an event of the whole resource.
    #[serde(default)]
    pub property: Option<String>,
    /// Value before the run.
    #[serde(default)]
    pub previous_value: String,
    /// Value that the catalog wants.
    #[serde(default)]
    pub desired_value: String,
    /// Puppet's text about the event.
    #[serde(default)]
    pub message: Option<String>,
    /// Time on the node.
    #[serde(default)]
    pub time: Option<PreciseTimestamp>,
    /// True if the property had been right in an earlier run.
    #[serde(default)]
    pub corrective_change: Option<bool>,
}

/// A message in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReportLog {
    /// `debug`, `info`, `notice`, `warning`, `err`, `alert`, `emerg` or `crit`.
    pub level: String,
    /// Text of the message.
    pub message: String,
    /// The resource, or the part of Puppet.
    #[serde(default)]
    pub source: String,
    /// Time on the node.
    #[serde(default)]
    pub time: Option<PreciseTimestamp>,
    /// Manifest that declares the resource.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in the manifest.
    #[serde(default)]
    pub line: Option<i64>,
}

const STATUSES: &[(&str, &str)] = &[
    ("changed", "changed"),
    ("unchanged", "unchanged"),
    ("failed", "failed"),
];

impl RunReportsQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            node: given.text("node"),
            status: given.one_of("status", STATUSES)?,
            job: given.text("job"),
            limit: given.number("limit")?.unwrap_or(REPORTS_SHOWN),
            offset: given.number("offset")?.unwrap_or(0),
        };
        given.finish()?;
        if query.limit > REPORTS_MAX {
            let what = format!("at most {REPORTS_MAX} reports are returned at once");
            return Err(ApiError::invalid("limit", what));
        }
        Ok(query)
    }
}
