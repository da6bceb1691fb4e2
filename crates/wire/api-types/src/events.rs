//! `GET jobs/:id/events`, and what `GET events/stream` sends.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, Object, Timestamp};

/// Events of a job, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// Where to go on reading.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// The events.
    pub items: Vec<Event>,
}

/// The first event that was not given yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextEvents {
    /// The URL to ask next.
    pub id: String,
    /// The event's number, as text.
    pub event: String,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The event's number, as text; ascending.
    pub id: String,
    /// `node_running`, `node_finished`, `node_failed`, `node_errored`, `node_skipped`,
    /// `job_stopping`, `job_aborted` or `job_finished`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When.
    pub timestamp: Timestamp,
    /// Facts, for example `{"node": …, "detail": {…}}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// For people.
    #[serde(default)]
    pub message: String,
}

impl Event {
    /// Whether it is the last one of its job.
    pub fn ends_job(&self) -> bool {
        ends_job(&self.kind)
    }
}

/// Whether an event of this type is the last one of its job.
pub fn ends_job(kind: &str) -> bool {
    matches!(kind, "job_finished" | "job_aborted")
}

/// Output of a running task, as it is written: the data of an SSE event `output`. Not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveOutput {
    /// The node.
    pub node: String,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// Where in the stream the data begins, in bytes.
    pub offset: u64,
    /// The data, when it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The data, when it is not.
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
    /// From query parameters.
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
    /// From query parameters.
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
