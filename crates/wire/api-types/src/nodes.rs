//! `GET jobs/:id/nodes` and `GET jobs/:id/report`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::events::NextEvents;
use crate::order::Order;
use crate::paging::Page;
use crate::parameters::Parameters;
use crate::{ApiError, Object, Timestamp, decimal};

/// By what nodes are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodesOrder {
    /// By certname.
    #[default]
    Name,
    /// By how long it took.
    Duration,
    /// By the state's name.
    State,
    /// By the start.
    StartTimestamp,
    /// By the end.
    FinishTimestamp,
}

/// The query of `GET jobs/:id/nodes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodesQuery {
    /// `limit` and `offset`.
    #[serde(flatten)]
    pub page: Page,
    /// By what.
    pub order_by: NodesOrder,
    /// In which direction.
    pub order: Order,
    /// Only nodes in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobNodes {
    /// Where the events go on that came after this picture.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// The nodes.
    pub items: Vec<JobNode>,
}

/// One node of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobNode {
    /// The certname, exactly as it was asked for.
    pub name: String,
    /// `new`, `ready`, `running`, `stopping`, `finished`, `failed`, `errored` or `skipped`.
    pub state: String,
    /// The batch that the node is in, from 1; absent for a job without batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// How the node was reached: `pcp`.
    #[serde(default)]
    pub transport: String,
    /// Null until it starts.
    #[serde(default)]
    pub start_timestamp: Option<Timestamp>,
    /// Null until it ends.
    #[serde(default)]
    pub finish_timestamp: Option<Timestamp>,
    /// Seconds; null until it ends.
    #[serde(default, with = "decimal::number")]
    #[schema(value_type = Option<f64>)]
    pub duration: Option<f64>,
    /// The last change of state.
    #[serde(default)]
    pub timestamp: Option<Timestamp>,
    /// Of a Puppet run; null for tasks.
    #[serde(default)]
    pub transaction_uuid: Option<String>,
    /// The newest event of the node in this job; 0: none.
    #[serde(default, rename = "latest-event-id")]
    pub latest_event_id: i64,
    /// `message` why it could not run, and the like.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// What came out; absent until the node ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
}

/// The report of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// One item for each node.
    pub items: Vec<ReportItem>,
}

/// One node in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReportItem {
    /// The certname.
    pub node: String,
    /// The node's state.
    pub state: String,
    /// The last change of state.
    pub timestamp: Option<Timestamp>,
    /// Absent when it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<Timestamp>,
    /// Absent until it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_timestamp: Option<Timestamp>,
    /// Resource events of a Puppet run; empty for tasks.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
}

const ORDERS: &[(&str, NodesOrder)] = &[
    ("name", NodesOrder::Name),
    ("duration", NodesOrder::Duration),
    ("state", NodesOrder::State),
    ("start_timestamp", NodesOrder::StartTimestamp),
    ("finish_timestamp", NodesOrder::FinishTimestamp),
];

const STATES: &[(&str, &str)] = &[
    ("new", "new"),
    ("ready", "ready"),
    ("running", "running"),
    ("stopping", "stopping"),
    ("stopped", "stopped"),
    ("finished", "finished"),
    ("failed", "failed"),
    ("errored", "errored"),
    ("skipped", "skipped"),
];

impl NodesQuery {
    /// From query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
            state: given.one_of("state", STATES)?,
        };
        given.finish()?;
        Ok(query)
    }
}
