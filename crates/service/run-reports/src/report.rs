//! A report of a Puppet run: [`RunReport`].

use std::fmt;
use std::str::FromStr;

use inventory::{PuppetReport, ReportMetric};
use jiff::Timestamp;
use pcp::Certname;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::defaults::NAME_BYTES;

/// A report as an agent sent it, within the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The node that sent the report.
    pub certname: Certname,
    /// Status, times and versions. Its metrics are those of the detail.
    pub summary: PuppetReport,
    /// Result of the run.
    pub status: RunStatus,
    /// Metrics, logs and resources.
    pub detail: RunReportDetail,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Resources were changed.
    Changed,
    /// Nothing was changed.
    Unchanged,
    /// A resource failed, or there was no catalog.
    Failed,
}

/// The parts of a report that no query reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReportDetail {
    /// Version of the format in which the agent reports.
    pub report_format: Option<i64>,
    /// The server that the agent used, as it says.
    pub server_used: Option<String>,
    /// Counts of resources and events, and seconds for each resource type.
    pub metrics: Vec<ReportMetric>,
    /// Messages of the run, in their order.
    pub logs: Vec<RunLogEntry>,
    /// Resources that are not as the catalog wants, or were changed; not the unchanged ones.
    pub resources: Vec<ReportedResource>,
    /// Parts of the report that were left out or changed, as sentences for users.
    pub notes: Vec<String>,
}

/// A message of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLogEntry {
    /// `debug`, `info`, `notice`, `warning`, `err`, `alert`, `emerg` or `crit`.
    pub level: String,
    /// Text of the message, cut if it is long.
    pub message: String,
    /// The resource or part of Puppet that logged it.
    pub source: String,
    /// Tags of the resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Time on the node.
    pub time: Option<Timestamp>,
    /// Manifest of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
}

/// A resource that a run changed, would have changed, skipped or failed at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedResource {
    /// Type of the resource, such as `File`.
    pub resource_type: String,
    /// Title of the resource.
    pub title: String,
    /// Manifest of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Classes and resources that contain it, from the outermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containment_path: Vec<String>,
    /// Time on the node.
    pub time: Option<Timestamp>,
    /// Seconds that the resource took.
    pub evaluation_time: Option<f64>,
    /// `true` if a property was changed.
    #[serde(default)]
    pub changed: bool,
    /// `true` if a change failed.
    #[serde(default)]
    pub failed: bool,
    /// `true` if the resource should have been restarted and that failed.
    #[serde(default)]
    pub failed_to_restart: bool,
    /// `true` if the resource was not looked at.
    #[serde(default)]
    pub skipped: bool,
    /// `true` if the resource was not as the catalog wants.
    #[serde(default)]
    pub out_of_sync: bool,
    /// `true` if the resource had been right in an earlier run.
    #[serde(default)]
    pub corrective_change: bool,
    /// Changes of properties, made or attempted or only noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ReportedEvent>,
}

/// A change of a property, or the attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedEvent {
    /// `success`, `failure`, `noop` or `audit`.
    pub status: String,
    /// Name of the event, such as `file_created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The property; `None` for an event of the whole resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// Value before, as text.
    #[serde(default)]
    pub previous_value: String,
    /// Value that the catalog wants, as text.
    #[serde(default)]
    pub desired_value: String,
    /// The text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time on the node.
    pub time: Option<Timestamp>,
    /// `true` if the property had been right in an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrective_change: Option<bool>,
}

// === impl RunStatus ===

impl RunStatus {
    /// The word that Puppet uses in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for RunStatus {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let all = [Self::Changed, Self::Unchanged, Self::Failed];
        all.into_iter()
            .find(|status| status.as_str() == word)
            .ok_or(())
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl ReportedResource ===

impl ReportedResource {
    /// Returns `true` if something went wrong with the resource.
    pub fn is_failed(&self) -> bool {
        self.failed || self.failed_to_restart
    }

    /// Approximate memory and length as JSON, in bytes.
    pub(crate) fn size(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let event = |event: &ReportedEvent| {
            128 + event.previous_value.len()
                + event.desired_value.len()
                + length(&event.message)
                + length(&event.property)
                + length(&event.name)
        };
        let path: usize = self.containment_path.iter().map(String::len).sum();
        let events: usize = self.events.iter().map(event).sum();
        256 + self.resource_type.len() + self.title.len() + length(&self.file) + path + events
    }
}

// === impl RunLogEntry ===

impl RunLogEntry {
    /// Approximate memory and length as JSON, in bytes.
    pub(crate) fn size(&self) -> usize {
        let tags: usize = self.tags.iter().map(|tag| tag.len() + 3).sum();
        let file = self.file.as_ref().map_or(0, String::len);
        128 + self.message.len() + self.source.len() + tags + file
    }
}

/// Id of the report of a run: 32 hexadecimal digits.
pub(crate) fn report_id(certname: &Certname, transaction_uuid: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(certname.as_str());
    hasher.update([0]);
    hasher.update(transaction_uuid);
    let digest = hasher.finalize();
    digest[..16].iter().fold(String::new(), |mut id, byte| {
        use fmt::Write as _;
        // Writing to a string does not fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// Longest text of a name that is a key: environments, ids and versions.
pub(crate) const KEY_BYTES: usize = NAME_BYTES / 4;
