//! Events of jobs: `GET jobs/:id/events` and `GET events/stream`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, Timestamp};

/// Events of a job, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// Link to the events that follow this page.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// Events of this page.
    pub items: Vec<Event>,
}

/// Position of the first event that was not returned yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextEvents {
    /// URL of the next request.
    pub id: String,
    /// The event's number, as text.
    pub event: String,
}

/// Event of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The event's number, as text; ascending.
    pub id: String,
    /// `node_running`, `node_finished`, `node_failed`, `node_errored`, `node_skipped`,
    /// `node_disconnected`, `node_reconnected`, `node_as_task`, `node_late_outcome`,
    /// `leases_awaited`, `leases_taken`, `nodes_quarantined`, `batch_started`, `batch_finished`,
    /// `rollout_halted`, `job_stopping`, `job_aborted` or `job_finished`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Data of the event, for example `{"node": …, "detail": {…}}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// Sentence that describes the event.
    #[serde(default)]
    pub message: String,
}

impl Event {
    /// Returns true if this is the last event of its job.
    pub fn ends_job(&self) -> bool {
        ends_job(&self.kind)
    }
}

/// Returns true if an event of this type is the last one of its job.
pub fn ends_job(kind: &str) -> bool {
    matches!(kind, "job_finished" | "job_aborted")
}

/// Live output of a running task: the data of an SSE event `output`. It is not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveOutput {
    /// Certname of the node.
    pub node: String,
    /// Output stream: `stdout` or `stderr`.
    pub stream: String,
    /// Position of the data in the stream, in bytes.
    pub offset: u64,
    /// The data as text; absent if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The data in Base64; absent if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_base64: Option<String>,
}

/// The query of `GET jobs/:id/events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventsQuery {
    /// The first event, inclusive; 0: from the first.
    pub start: u64,
}

impl EventsQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let start = given.number("start")?.unwrap_or(0);
        given.finish()?;
        Ok(Self { start })
    }
}

/// The query of `GET events/stream`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamQuery {
    /// Only this job, with its live output; absent: the events of every job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The first event, inclusive. Absent: from the first one of the job, or from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
}

impl StreamQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            job: given.number("job")?,
            start: given.number("start")?,
        };
        given.finish()?;
        Ok(query)
    }
}
