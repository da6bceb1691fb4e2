//! Nodes and report of a job: `GET jobs/:id/nodes` and `GET jobs/:id/report`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::events::NextEvents;
use crate::order::Order;
use crate::paging::Page;
use crate::parameters::Parameters;
use crate::{ApiError, Object, Timestamp, decimal};

/// Sort key of the nodes of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodesOrder {
    /// By certname.
    #[default]
    Name,
    /// By duration of the run.
    Duration,
    /// By name of the state.
    State,
    /// By start time.
    StartTimestamp,
    /// By end time.
    FinishTimestamp,
}

/// The query of `GET jobs/:id/nodes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodesQuery {
    /// Part of the list to return, from `limit` and `offset`.
    #[serde(flatten)]
    pub page: Page,
    /// Sort key of the list.
    pub order_by: NodesOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
    /// Only nodes in this state; `None`: in all states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobNodes {
    /// Link to the events that followed this snapshot.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// Nodes of this page.
    pub items: Vec<JobNode>,
}

/// One node of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobNode {
    /// Certname of the node.
    pub name: String,
    /// `new`, `ready`, `running`, `finished`, `failed`, `errored` or `skipped`.
    pub state: String,
    /// The batch that the node is in, from 1; absent for a job without batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Transport to the node, for example `pcp`.
    #[serde(default)]
    pub transport: String,
    /// Start time; null until the node starts.
    #[serde(default)]
    pub start_timestamp: Option<Timestamp>,
    /// End time; null until the node has ended.
    #[serde(default)]
    pub finish_timestamp: Option<Timestamp>,
    /// Duration in seconds; null until the node has ended.
    #[serde(default, with = "decimal::number")]
    #[schema(value_type = Option<f64>)]
    pub duration: Option<f64>,
    /// End time, or the start time before it; null until the node starts.
    #[serde(default)]
    pub timestamp: Option<Timestamp>,
    /// Puppet's transaction id of the run; null for tasks, and until the agent has sent it.
    #[serde(default)]
    pub transaction_uuid: Option<String>,
    /// Number of the newest event of the node in this job; 0 if there is none.
    #[serde(default, rename = "latest-event-id")]
    pub latest_event_id: i64,
    /// Further data: `message` (the reason for which the node could not run, or is not
    /// connected), `report-url`, `stderr`, `stderr_bytes`, and `run-time` (seconds since Puppet
    /// started).
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// Result of the task, action or Puppet run; absent until the node has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
}

/// The report of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// One item for each node of the job.
    pub items: Vec<ReportItem>,
}

/// One node in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReportItem {
    /// Certname of the node.
    pub node: String,
    /// State of the node.
    pub state: String,
    /// End time, or the start time before it; the job's creation time if the node did not start.
    pub timestamp: Option<Timestamp>,
    /// Start time; absent if the node did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<Timestamp>,
    /// End time; absent until the node has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_timestamp: Option<Timestamp>,
    /// Always empty; present as in the format of Puppet Enterprise.
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
    /// Reads the query parameters.
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
