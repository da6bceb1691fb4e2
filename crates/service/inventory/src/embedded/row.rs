//! Rows of the four entities over a snapshot: [`for_each_row`], [`EntityRow::cell`].

use std::ops::ControlFlow;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::Value;

use super::node_table::{InventoryNode, InventorySnapshot};
use crate::lang::{PathSegment, QueryEntity, QueryField};
use crate::{CompactNodeRecord, FactValue, PuppetReport};

/// One row of an entity.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntityRow<'s> {
    Node(&'s Certname, &'s InventoryNode),
    Fact(&'s Certname, &'s CompactNodeRecord, &'s str, &'s FactValue),
    Inventory(&'s Certname, &'s CompactNodeRecord),
    Report(&'s Certname, &'s PuppetReport, bool),
}

/// The value of one field in a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldValue<'s> {
    Null,
    /// The path does not exist.
    Absent,
    Bool(bool),
    Text(&'s str),
    Time(Timestamp),
    Json(&'s FactValue),
}

/// Passes every row of an entity, sorted by certname, to `each` until it breaks.
pub(super) fn for_each_row<'s, B>(
    snapshot: &'s InventorySnapshot,
    entity: QueryEntity,
    mut each: impl FnMut(EntityRow<'s>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for (certname, node) in snapshot.iter() {
        match entity {
            QueryEntity::Nodes => each(EntityRow::Node(certname, node))?,
            QueryEntity::Inventory => {
                if let Some(record) = &node.record {
                    each(EntityRow::Inventory(certname, record))?;
                }
            }
            QueryEntity::Facts => {
                if let Some(record) = &node.record {
                    for (name, value) in record.facts().entries() {
                        each(EntityRow::Fact(certname, record, name, value))?;
                    }
                }
            }
            QueryEntity::Reports => {
                for (i, report) in node.reports.iter().enumerate() {
                    each(EntityRow::Report(certname, report, i == 0))?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

impl<'s> EntityRow<'s> {
    /// The value of `field` in this row.
    pub(super) fn cell(self, field: &QueryField) -> FieldValue<'s> {
        let cell = match self {
            Self::Node(certname, node) => node_cell(certname, node, field.column),
            Self::Fact(certname, record, name, value) => match field.column {
                "certname" => FieldValue::Text(certname.as_str()),
                "name" => FieldValue::Text(name),
                "value" => FieldValue::Json(value),
                _ => text(record.environment()),
            },
            Self::Inventory(certname, record) => match field.column {
                "certname" => FieldValue::Text(certname.as_str()),
                "facts" => FieldValue::Json(record.facts()),
                "trusted" => FieldValue::Json(record.trusted()),
                "timestamp" => FieldValue::Time(record.timestamp),
                _ => text(record.environment()),
            },
            Self::Report(certname, report, latest) => {
                report_cell(certname, report, latest, field.column)
            }
        };
        field.path.iter().fold(cell, FieldValue::follow_segment)
    }
}

fn node_cell<'s>(certname: &'s Certname, node: &'s InventoryNode, column: &str) -> FieldValue<'s> {
    let record = node.record.as_deref();
    let report = node.reports.first().map(|report| &**report);
    let of_record = record.and_then(CompactNodeRecord::environment);
    let of_report = report.and_then(|report| report.environment.as_deref());
    match column {
        "certname" => FieldValue::Text(certname.as_str()),
        "connected" => FieldValue::Bool(node.connected),
        "facts_environment" => text(of_record),
        "facts_timestamp" => time(record.map(|record| record.timestamp)),
        // Every run has a catalog; before the first one, the environment that the agent requests
        // is the best known value.
        "catalog_environment" => text(of_report.or(of_record)),
        "catalog_timestamp" => time(report.and_then(|report| report.start_time)),
        "report_environment" => text(of_report),
        "report_timestamp" => time(report.and_then(|report| report.end_time)),
        "latest_report_hash" => text(report.map(|report| report.hash.as_str())),
        "latest_report_status" => text(report.and_then(|report| report.status.as_deref())),
        "latest_report_noop" => bool(report.and_then(|report| report.noop)),
        "latest_report_noop_pending" => bool(report.and_then(|report| report.noop_pending)),
        "latest_report_corrective_change" => {
            bool(report.and_then(|report| report.corrective_change))
        }
        "latest_report_job_id" => text(report.and_then(|report| report.job_id.as_deref())),
        "cached_catalog_status" => {
            text(report.and_then(|report| report.cached_catalog_status.as_deref()))
        }
        // `deactivated`, `expired`: always null, because such nodes are removed here.
        _ => FieldValue::Null,
    }
}

fn report_cell<'s>(
    certname: &'s Certname,
    report: &'s PuppetReport,
    latest: bool,
    column: &str,
) -> FieldValue<'s> {
    match column {
        "certname" => FieldValue::Text(certname.as_str()),
        "hash" => FieldValue::Text(&report.hash),
        "transaction_uuid" => FieldValue::Text(&report.transaction_uuid),
        "status" => text(report.status.as_deref()),
        "noop" => bool(report.noop),
        "noop_pending" => bool(report.noop_pending),
        "corrective_change" => bool(report.corrective_change),
        "environment" => text(report.environment.as_deref()),
        "configuration_version" => text(report.configuration_version.as_deref()),
        "catalog_uuid" => text(report.catalog_uuid.as_deref()),
        "code_id" => text(report.code_id.as_deref()),
        "cached_catalog_status" => text(report.cached_catalog_status.as_deref()),
        "job_id" => text(report.job_id.as_deref()),
        "puppet_version" => text(report.puppet_version.as_deref()),
        "start_time" => time(report.start_time),
        "end_time" => time(report.end_time),
        "receive_time" => time(report.receive_time),
        "latest_report?" => FieldValue::Bool(latest),
        _ => FieldValue::Null,
    }
}

fn text(text: Option<&str>) -> FieldValue<'_> {
    text.map_or(FieldValue::Null, FieldValue::Text)
}

fn bool<'s>(bool: Option<bool>) -> FieldValue<'s> {
    bool.map_or(FieldValue::Null, FieldValue::Bool)
}

fn time<'s>(time: Option<Timestamp>) -> FieldValue<'s> {
    time.map_or(FieldValue::Null, FieldValue::Time)
}

// === impl FieldValue ===

impl<'s> FieldValue<'s> {
    fn follow_segment(self, segment: &PathSegment) -> Self {
        let inside = match (self, segment) {
            (Self::Json(value), PathSegment::Key(key)) => value.get(key),
            (Self::Json(value), PathSegment::Index(index)) => value.element_at(*index),
            _ => None,
        };
        inside.map_or(Self::Absent, Self::Json)
    }

    /// The value as JSON; times in PuppetDB's format, in UTC with milliseconds.
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::Null | Self::Absent => Value::Null,
            Self::Bool(bool) => bool.into(),
            Self::Text(text) => text.into(),
            Self::Time(time) => Value::from(format_time(time)),
            Self::Json(value) => value.to_json(),
        }
    }

    pub(super) fn is_null(self) -> bool {
        match self {
            Self::Null | Self::Absent => true,
            Self::Json(value) => value.is_null(),
            _ => false,
        }
    }
}

fn format_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Number of JSON values in `value`, itself included.
pub(super) fn count_values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count_values).sum::<usize>(),
        _ => 1,
    }
}
