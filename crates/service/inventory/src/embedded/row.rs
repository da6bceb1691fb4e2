//! Rows of the four entities over a snapshot: [`each_row`], [`Row::cell`].

use std::ops::ControlFlow;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::Value;

use super::fleet::{Node, Snapshot};
use crate::lang::{Entity, Field, Segment};
use crate::{FactValue, HeldRecord, Report};

/// One row of an entity.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row<'s> {
    Node(&'s Certname, &'s Node),
    Fact(&'s Certname, &'s HeldRecord, &'s str, &'s FactValue),
    Inventory(&'s Certname, &'s HeldRecord),
    Report(&'s Certname, &'s Report, bool),
}

/// The value of one field in a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'s> {
    Null,
    /// The path does not exist.
    Absent,
    Bool(bool),
    Text(&'s str),
    Time(Timestamp),
    Json(&'s FactValue),
}

/// Passes every row of an entity, sorted by certname, to `each` until it breaks.
pub(super) fn each_row<'s, B>(
    snapshot: &'s Snapshot,
    entity: Entity,
    mut each: impl FnMut(Row<'s>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for (certname, node) in snapshot.iter() {
        match entity {
            Entity::Nodes => each(Row::Node(certname, node))?,
            Entity::Inventory => {
                if let Some(record) = &node.record {
                    each(Row::Inventory(certname, record))?;
                }
            }
            Entity::Facts => {
                if let Some(record) = &node.record {
                    for (name, value) in record.facts().entries() {
                        each(Row::Fact(certname, record, name, value))?;
                    }
                }
            }
            Entity::Reports => {
                for (i, report) in node.reports.iter().enumerate() {
                    each(Row::Report(certname, report, i == 0))?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

impl<'s> Row<'s> {
    /// The value of `field` in this row.
    pub(super) fn cell(self, field: &Field) -> Cell<'s> {
        let cell = match self {
            Self::Node(certname, node) => node_cell(certname, node, field.column),
            Self::Fact(certname, record, name, value) => match field.column {
                "certname" => Cell::Text(certname.as_str()),
                "name" => Cell::Text(name),
                "value" => Cell::Json(value),
                _ => text(record.environment()),
            },
            Self::Inventory(certname, record) => match field.column {
                "certname" => Cell::Text(certname.as_str()),
                "facts" => Cell::Json(record.facts()),
                "trusted" => Cell::Json(record.trusted()),
                "timestamp" => Cell::Time(record.timestamp),
                _ => text(record.environment()),
            },
            Self::Report(certname, report, latest) => {
                report_cell(certname, report, latest, field.column)
            }
        };
        field.path.iter().fold(cell, Cell::step)
    }
}

fn node_cell<'s>(certname: &'s Certname, node: &'s Node, column: &str) -> Cell<'s> {
    let record = node.record.as_deref();
    let report = node.reports.first().map(|report| &**report);
    let of_record = record.and_then(HeldRecord::environment);
    let of_report = report.and_then(|report| report.environment.as_deref());
    match column {
        "certname" => Cell::Text(certname.as_str()),
        "connected" => Cell::Bool(node.connected),
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
        _ => Cell::Null,
    }
}

fn report_cell<'s>(
    certname: &'s Certname,
    report: &'s Report,
    latest: bool,
    column: &str,
) -> Cell<'s> {
    match column {
        "certname" => Cell::Text(certname.as_str()),
        "hash" => Cell::Text(&report.hash),
        "transaction_uuid" => Cell::Text(&report.transaction_uuid),
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
        "latest_report?" => Cell::Bool(latest),
        _ => Cell::Null,
    }
}

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Null, Cell::Text)
}

fn bool<'s>(bool: Option<bool>) -> Cell<'s> {
    bool.map_or(Cell::Null, Cell::Bool)
}

fn time<'s>(time: Option<Timestamp>) -> Cell<'s> {
    time.map_or(Cell::Null, Cell::Time)
}

// === impl Cell ===

impl<'s> Cell<'s> {
    fn step(self, segment: &Segment) -> Self {
        let inside = match (self, segment) {
            (Self::Json(value), Segment::Key(key)) => value.get(key),
            (Self::Json(value), Segment::Index(index)) => value.at(*index),
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
            Self::Time(time) => Value::from(shown_time(time)),
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

fn shown_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Number of JSON values in `value`, itself included.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
