//! The report and the result of a run without Puppet, in which all files were as they should be:
//! [`UnchangedRun`].
//!
//! Invariant: the report tells only what was checked; resources that only Puppet can judge are counted in the
//! total, as in a run of Puppet with tags.

use std::time::Duration;

use jiff::Timestamp;
use pxp::action::PuppetResult;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cached_catalog::CachedCatalog;

/// Version of the format of reports, which Puppet 5.5 to 8 use.
const REPORT_FORMAT: u32 = 12;

/// A run that changed nothing.
pub(super) struct UnchangedRun<'c> {
    pub(super) catalog: &'c CachedCatalog,
    pub(super) transaction_uuid: Uuid,
    /// Number of the job that asked for the run; `None` if it is unknown.
    pub(super) job_id: Option<&'c str>,
    pub(super) began: Timestamp,
    pub(super) took: Duration,
    /// Version of the Puppet that applied the catalog before.
    pub(super) puppet_version: Option<String>,
}

impl UnchangedRun<'_> {
    /// The report as Puppet sends it.
    pub(super) fn report(&self) -> Value {
        let catalog = self.catalog;
        let seconds = self.took.as_secs_f64();
        let values = |values: Value, name: &str, label: &str| json!({"name": name, "label": label, "values": values});
        let resources = json!([["total", "Total", catalog.resources]]);
        json!({
            "host": catalog.certname,
            "time": self.began.to_string(),
            "configuration_version": catalog.version,
            "transaction_uuid": self.transaction_uuid.to_string(),
            "report_format": REPORT_FORMAT,
            "puppet_version": self.puppet_version,
            "status": "unchanged",
            "transaction_completed": true,
            "noop": false,
            "noop_pending": false,
            "corrective_change": false,
            "environment": catalog.environment,
            "catalog_uuid": catalog.catalog_uuid,
            "code_id": catalog.code_id,
            "job_id": self.job_id,
            "cached_catalog_status": "explicitly_requested",
            "logs": [{
                "level": "info",
                "message": format!(
                    "{} files are as the catalog says; Puppet was not started",
                    catalog.files.len()
                ),
                "source": "tutti-agent",
                "tags": ["info"],
                "time": self.began.to_string(),
                "file": null,
                "line": null,
            }],
            "metrics": {
                "resources": values(resources, "resources", "Resources"),
                "time": values(json!([["total", "Total", seconds]]), "time", "Time"),
                "changes": values(json!([["total", "Total", 0]]), "changes", "Changes"),
                "events": values(json!([["total", "Total", 0]]), "events", "Events"),
            },
            "resource_statuses": {},
        })
    }

    /// The result for the requester.
    pub(super) fn into_result(self) -> PuppetResult {
        let catalog = self.catalog;
        let total = Value::from(catalog.resources);
        PuppetResult {
            time: self.began.to_string(),
            transaction_uuid: self.transaction_uuid.to_string(),
            environment: catalog.environment.clone(),
            status: "unchanged".to_owned(),
            metrics: [("total".to_owned(), total)].into_iter().collect(),
            exitcode: 0,
            configuration_version: Some(catalog.version.clone()),
            code_id: catalog.code_id.clone(),
            catalog_uuid: Some(catalog.catalog_uuid.clone()),
            noop: Some(false),
            noop_pending: Some(false),
            corrective_change: Some(false),
            cached_catalog_status: Some("explicitly_requested".to_owned()),
            puppet_version: self.puppet_version,
            detailed_exitcode: Some(0),
            ..PuppetResult::unknown()
        }
    }
}
