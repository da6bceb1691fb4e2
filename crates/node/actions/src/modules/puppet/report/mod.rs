//! The report of a run: [`ParsedRunReport`], read from the `last_run_report.yaml` of Puppet 5 to 8.
//!
//! Invariant: of a report of any size, only the parts that a result carries are kept, each within
//! its limit, with the number of omitted ones.

mod events;
mod resource;

use std::io::Read;

use pxp::action::{CodeId, PuppetResource, PuppetResourceStatus, PuppetResult, ResourcesOmitted};
use serde_json::{Map, Number, Value};

pub(super) use events::ReportError;
use events::{ReportYamlNode, YamlEvents};

use crate::defaults::{
    MAX_REPORT_BYTES, REPORTED_ERRORS, REPORTED_METRICS, REPORTED_RESOURCES, REPORTED_TEXT_BYTES,
};

/// The part of a report that is sent to the requester.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedRunReport {
    pub(super) time: Option<String>,
    pub(super) transaction_uuid: Option<String>,
    pub(super) environment: Option<String>,
    pub(super) status: Option<String>,
    pub(super) configuration_version: Option<String>,
    pub(super) code_id: Option<CodeId>,
    pub(super) catalog_uuid: Option<String>,
    pub(super) puppet_version: Option<String>,
    pub(super) cached_catalog_status: Option<String>,
    pub(super) noop: Option<bool>,
    pub(super) noop_pending: Option<bool>,
    pub(super) corrective_change: Option<bool>,
    pub(super) metrics: Map<String, Value>,
    /// Messages of the level err or above.
    pub(super) errors: Vec<String>,
    resources: [Vec<PuppetResource>; 3],
    omitted: [u64; 3],
}

impl ParsedRunReport {
    /// Reads a report; a text that is not a report, or is truncated, is an error.
    pub(super) fn read(from: impl Read) -> Result<Self, ReportError> {
        let mut watched = LastByte {
            from: from.take(MAX_REPORT_BYTES + 1),
            last: None,
        };
        let read = Self::walk(&mut watched);
        if watched.from.limit() == 0 {
            return Err(ReportError::TooLarge(MAX_REPORT_BYTES));
        }
        let report = read?;
        // YAML accepts half a word as a word.
        if watched.last != Some(b'\n') {
            return Err(ReportError::Cut);
        }
        let known = ["changed", "unchanged", "failed"];
        if !report
            .status
            .as_deref()
            .is_some_and(|it| known.contains(&it))
        {
            return Err(ReportError::Lacks("status"));
        }
        if report.transaction_uuid.is_none() {
            return Err(ReportError::Lacks("transaction_uuid"));
        }
        Ok(report)
    }

    fn walk(from: impl Read) -> Result<Self, ReportError> {
        let mut events = YamlEvents::of(from)?;
        let mut report = Self::default();
        while let Some(key) = events.key()? {
            let text = match key.as_str() {
                "time" => &mut report.time,
                "transaction_uuid" => &mut report.transaction_uuid,
                "environment" => &mut report.environment,
                "status" => &mut report.status,
                "configuration_version" => &mut report.configuration_version,
                "puppet_version" => &mut report.puppet_version,
                "catalog_uuid" => &mut report.catalog_uuid,
                "cached_catalog_status" => &mut report.cached_catalog_status,
                other => {
                    report.walk_other(other, &mut events)?;
                    continue;
                }
            };
            *text = events.text()?.map(cut);
        }
        Ok(report)
    }

    fn walk_other<R: Read>(
        &mut self,
        key: &str,
        events: &mut YamlEvents<R>,
    ) -> Result<(), ReportError> {
        match key {
            "code_id" => self.code_id = events.text()?.and_then(|text| text.parse().ok()),
            "noop" => self.noop = events.read_bool()?,
            "noop_pending" => self.noop_pending = events.read_bool()?,
            "corrective_change" => self.corrective_change = events.read_bool()?,
            "metrics" => self.walk_metrics(events)?,
            "logs" => self.walk_logs(events)?,
            "resource_statuses" => {
                if events.enter_mapping()? {
                    while events.key()?.is_some() {
                        if let Some(resource) = resource::read(events)? {
                            self.add(resource);
                        }
                    }
                }
            }
            _ => events.skip()?,
        }
        Ok(())
    }

    /// Reads `resources: {values: [[name, label, number], …]}` from the metrics.
    fn walk_metrics<R: Read>(&mut self, events: &mut YamlEvents<R>) -> Result<(), ReportError> {
        if !events.enter_mapping()? {
            return Ok(());
        }
        while let Some(name) = events.key()? {
            if name != "resources" || !events.enter_mapping()? {
                if name != "resources" {
                    events.skip()?;
                }
                continue;
            }
            while let Some(key) = events.key()? {
                if key != "values" {
                    events.skip()?;
                } else if events.enter_sequence()? {
                    while let Some(row) = events.item()? {
                        if events.matches(row, &ReportYamlNode::Sequence)? {
                            self.metric(events)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn metric<R: Read>(&mut self, events: &mut YamlEvents<R>) -> Result<(), ReportError> {
        let mut columns: [Option<String>; 3] = [None, None, None];
        let mut index = 0;
        while let Some(node) = events.item()? {
            let text = events.text_of(node)?;
            if let Some(column) = columns.get_mut(index) {
                *column = text;
            }
            index += 1;
        }
        let [name, _label, value] = columns;
        let (Some(name), Some(value)) = (name, value) else {
            return Ok(());
        };
        let number = value
            .parse::<u64>()
            .map(Number::from)
            .ok()
            .or_else(|| Number::from_f64(value.parse().ok()?));
        if let Some(number) = number
            && self.metrics.len() < REPORTED_METRICS
        {
            // Old reports contain Ruby symbols.
            let name = cut(name.trim_start_matches(':').to_owned());
            self.metrics.insert(name, Value::Number(number));
        }
        Ok(())
    }

    fn walk_logs<R: Read>(&mut self, events: &mut YamlEvents<R>) -> Result<(), ReportError> {
        if !events.enter_sequence()? {
            return Ok(());
        }
        while let Some(item) = events.item()? {
            if !events.matches(item, &ReportYamlNode::Mapping)? {
                continue;
            }
            let (mut level, mut message) = (None, None);
            while let Some(key) = events.key()? {
                match key.as_str() {
                    "level" => level = events.text()?,
                    "message" => message = events.text()?,
                    _ => events.skip()?,
                }
            }
            let level = level.as_deref().map(|level| level.trim_start_matches(':'));
            if matches!(level, Some("err" | "alert" | "emerg" | "crit"))
                && let Some(message) = message
            {
                keep_error(&mut self.errors, cut(message));
            }
        }
        Ok(())
    }

    fn add(&mut self, resource: PuppetResource) {
        let kind = match resource.status {
            PuppetResourceStatus::Failed => 0,
            PuppetResourceStatus::Changed => 1,
            PuppetResourceStatus::Noop => 2,
        };
        if self.resources[kind].len() < REPORTED_RESOURCES {
            self.resources[kind].push(resource);
        } else {
            self.omitted[kind] += 1;
        }
    }

    /// The result of a run that was completed.
    pub(super) fn into_result(self) -> PuppetResult {
        let unknown = PuppetResult::unknown();
        let [failed, changed, noop] = self.omitted;
        PuppetResult {
            time: self.time.unwrap_or(unknown.time),
            transaction_uuid: self.transaction_uuid.unwrap_or(unknown.transaction_uuid),
            environment: self.environment.unwrap_or(unknown.environment),
            status: self.status.unwrap_or(unknown.status),
            metrics: self.metrics,
            exitcode: 0,
            configuration_version: self.configuration_version,
            code_id: self.code_id,
            catalog_uuid: self.catalog_uuid,
            noop: self.noop,
            noop_pending: self.noop_pending,
            corrective_change: self.corrective_change,
            cached_catalog_status: self.cached_catalog_status,
            puppet_version: self.puppet_version,
            resources: self.resources.into_iter().flatten().collect(),
            resources_omitted: ResourcesOmitted {
                failed,
                changed,
                noop,
            },
            errors: self.errors,
            ..PuppetResult::unknown()
        }
    }
}

/// Reader that remembers the last byte of a stream.
struct LastByte<R> {
    from: R,
    last: Option<u8>,
}

impl<R: Read> Read for LastByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.from.read(buffer)?;
        if let Some(last) = buffer[..size].last() {
            self.last = Some(*last);
        }
        Ok(size)
    }
}

/// Keeps messages that differ: the first ones, and the last, which is often a summary.
pub(super) fn keep_error(errors: &mut Vec<String>, message: String) {
    if errors.contains(&message) {
        return;
    }
    if errors.len() >= REPORTED_ERRORS {
        errors.pop();
    }
    errors.push(message);
}

/// Cuts a text to the limit of one text.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > REPORTED_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(REPORTED_TEXT_BYTES));
        text.push('…');
    }
    // Databases and C strings cannot hold NUL.
    if text.contains('\0') {
        text = text.replace('\0', "\u{fffd}");
    }
    text
}

#[cfg(test)]
mod tests;
