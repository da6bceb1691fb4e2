//! The JSON of a report as agents send it: [`AgentReport`].
//!
//! Invariant: keys that are not read here are skipped, and null counts as absent, since agents of
//! many versions report.

use std::fmt;

use inventory::ReportMetric;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bounded_list::BoundedList;
use crate::defaults::{
    CATEGORY_METRICS, LIST_WORDS, METRIC_CATEGORIES, REPORT_FIRST_LOGS, REPORT_LAST_LOGS,
    REPORT_RESOURCES, RESOURCE_EVENTS,
};

/// A whole report.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentReport {
    pub(crate) host: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) configuration_version: Option<Value>,
    pub(crate) transaction_uuid: Option<String>,
    pub(crate) report_format: Option<i64>,
    pub(crate) puppet_version: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) noop: Option<bool>,
    pub(crate) noop_pending: Option<bool>,
    pub(crate) environment: Option<String>,
    pub(crate) corrective_change: Option<bool>,
    pub(crate) catalog_uuid: Option<String>,
    pub(crate) code_id: Option<String>,
    pub(crate) job_id: Option<Value>,
    pub(crate) cached_catalog_status: Option<String>,
    #[serde(alias = "master_used")]
    pub(crate) server_used: Option<String>,
    pub(crate) logs: BoundedList<AgentLog, REPORT_FIRST_LOGS, REPORT_LAST_LOGS>,
    pub(crate) metrics: AgentMetrics,
    pub(crate) resource_statuses: AgentResources,
}

/// A message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentLog {
    pub(crate) level: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) tags: BoundedList<String, LIST_WORDS>,
    pub(crate) time: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<i64>,
}

/// The notable resources.
#[derive(Debug, Default)]
pub(crate) struct AgentResources {
    /// The resources, by reference such as `File[/etc/motd]`.
    pub(crate) notable: Vec<(String, AgentResource)>,
    /// Number of further notable resources.
    pub(crate) left_out: usize,
}

/// A resource.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentResource {
    pub(crate) title: Option<String>,
    pub(crate) resource_type: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<i64>,
    pub(crate) containment_path: BoundedList<String, LIST_WORDS>,
    pub(crate) time: Option<String>,
    pub(crate) evaluation_time: Option<f64>,
    pub(crate) changed: Option<bool>,
    pub(crate) failed: Option<bool>,
    pub(crate) failed_to_restart: Option<bool>,
    pub(crate) skipped: Option<bool>,
    pub(crate) out_of_sync: Option<bool>,
    pub(crate) corrective_change: Option<bool>,
    pub(crate) events: BoundedList<AgentEvent, RESOURCE_EVENTS>,
}

/// A change of a property.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentEvent {
    pub(crate) status: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) property: Option<String>,
    pub(crate) previous_value: Option<Box<RawValue>>,
    pub(crate) desired_value: Option<Box<RawValue>>,
    pub(crate) message: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) corrective_change: Option<bool>,
}

/// Metrics of all categories.
#[derive(Debug, Default)]
pub(crate) struct AgentMetrics {
    pub(crate) metrics: Vec<ReportMetric>,
    /// `true` if some were left out.
    pub(crate) is_cut: bool,
}

/// Metrics of one category. A value is `[name, label, number]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentMetricCategory {
    values: BoundedList<BoundedList<Value, 3>, CATEGORY_METRICS>,
}

struct ResourcesVisitor;

struct MetricsVisitor;

// === impl AgentResource ===

impl AgentResource {
    fn is_notable(&self) -> bool {
        let states = [
            self.changed,
            self.failed,
            self.failed_to_restart,
            self.skipped,
            self.out_of_sync,
        ];
        states.contains(&Some(true)) || self.events.has_items()
    }
}

impl<'de> Deserialize<'de> for AgentResources {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(ResourcesVisitor)
    }
}

impl<'de> Visitor<'de> for ResourcesVisitor {
    type Value = AgentResources;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<AgentResources, E> {
        Ok(AgentResources::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentResources, A::Error> {
        let mut resources = AgentResources::default();
        while let Some((reference, resource)) = map.next_entry::<String, AgentResource>()? {
            if !resource.is_notable() {
                continue;
            }
            match resources.notable.len() < REPORT_RESOURCES {
                true => resources.notable.push((reference, resource)),
                false => resources.left_out += 1,
            }
        }
        Ok(resources)
    }
}

impl<'de> Deserialize<'de> for AgentMetrics {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(MetricsVisitor)
    }
}

impl<'de> Visitor<'de> for MetricsVisitor {
    type Value = AgentMetrics;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<AgentMetrics, E> {
        Ok(AgentMetrics::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentMetrics, A::Error> {
        let mut all = AgentMetrics::default();
        let mut categories = 0;
        while let Some(category) = map.next_key::<String>()? {
            categories += 1;
            if categories > METRIC_CATEGORIES {
                map.next_value::<IgnoredAny>()?;
                all.is_cut = true;
                continue;
            }
            let Some(read) = map.next_value::<Option<AgentMetricCategory>>()? else {
                continue;
            };
            all.is_cut |= read.values.left_out > 0;
            for value in read.values.into_items() {
                let mut parts = value.into_items();
                let (name, _, value) = (parts.next(), parts.next(), parts.next());
                if let (Some(Value::String(name)), Some(value @ Value::Number(_))) = (name, value) {
                    let category = category.clone();
                    all.metrics.push(ReportMetric {
                        category,
                        name,
                        value,
                    });
                }
            }
        }
        Ok(all)
    }
}
