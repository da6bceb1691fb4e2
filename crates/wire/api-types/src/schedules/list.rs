//! List of scheduled jobs: `GET scheduled_jobs/environment_jobs` and `…/:id`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Schedule, ScheduledType};
use crate::jobs::Owner;
use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Object, Timestamp};

/// Sort key of scheduled jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduledJobsOrder {
    /// By next start; jobs without one come last.
    #[default]
    NextRunTime,
    /// By name of the environment.
    Environment,
    /// By the login of the owner.
    Owner,
    /// By the name of the task or plan.
    Name,
    /// By type of the scheduled job.
    Type,
}

const ORDERS: &[(&str, ScheduledJobsOrder)] = &[
    ("next_run_time", ScheduledJobsOrder::NextRunTime),
    ("environment", ScheduledJobsOrder::Environment),
    ("owner", ScheduledJobsOrder::Owner),
    ("name", ScheduledJobsOrder::Name),
    ("type", ScheduledJobsOrder::Type),
];

const TYPES: &[(&str, &str)] = &[("task", "task"), ("deploy", "deploy"), ("plan", "plan")];

/// Query of `GET scheduled_jobs/environment_jobs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduledJobsQuery {
    /// Part of the list to return, from `limit` and `offset`.
    pub page: Page,
    /// Sort key of the list.
    pub order_by: ScheduledJobsOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
    /// Only scheduled jobs of this type; `None`: of all types.
    pub kind: Option<&'static str>,
}

/// A page of the list of scheduled jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobList {
    /// Scheduled jobs of this page.
    pub items: Vec<ScheduledJob>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: Pagination,
}

/// A scheduled job with its next and last run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJob {
    /// Absolute URL of the scheduled job.
    pub id: String,
    /// Its number, as text.
    pub name: String,
    /// False if the scheduled job was deleted.
    pub enabled: bool,
    /// Name of the environment; empty if each node runs in its own.
    pub environment: String,
    /// User with whose permissions the job runs.
    pub owner: Owner,
    /// Free text shown in lists and logs; may be empty.
    pub description: String,
    /// Type of the job that is started.
    #[serde(rename = "type")]
    pub kind: ScheduledType,
    /// Input of the job; `parameters` omits the secret ones, whose names are in
    /// `sensitive_parameters`.
    #[schema(value_type = Object)]
    pub input: Object,
    /// Keys and values that the request carried in `userdata`.
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Times at which the job starts.
    pub schedule: Schedule,
    /// Next start; null if there is none.
    pub next_run: Option<NextRun>,
    /// Last start, or attempt of one; null if there was none.
    pub last_run: Option<LastRun>,
    /// Number of starts so far.
    #[serde(default)]
    pub runs: u64,
    /// Start that waits for the end of the previous run; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<NextRun>,
    /// Most recent starts that were skipped; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_skip: Option<LastSkip>,
    /// Next starts; only in the reply about a single scheduled job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upcoming: Vec<Timestamp>,
}

/// A future start of a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextRun {
    /// Time of the start.
    pub time: Timestamp,
}

/// Last start of a scheduled job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LastRun {
    /// Time of the start.
    pub time: Timestamp,
    /// Job that was started, or the error.
    pub job: LastRunJob,
}

/// Job of the last start, or the reason for which there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LastRunJob {
    /// Absolute URL of the job; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Number of the job, as a JSON number like in Puppet Enterprise; null if there is no job.
    #[serde(default)]
    pub name: Option<i64>,
    /// Reason for which there is no job; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission_error: Option<Submission>,
}

/// Reason for which no job was started: the error with which the command would have been answered.
pub type Submission = ErrorBody;

/// Starts that were skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastSkip {
    /// Time of the first skipped start.
    pub time: Timestamp,
    /// Time of the last skipped start.
    pub until: Timestamp,
    /// Reason: `overlap`, `missed`, `blackout`, `over` or `broken`.
    pub reason: String,
    /// Sentence that describes the reason.
    pub msg: String,
}

impl ScheduledJobsOrder {
    /// Name of this sort key in the API.
    pub fn as_str(self) -> &'static str {
        // Every variant is in the table.
        let listed = ORDERS.iter().find(|(_, order)| *order == self);
        listed.map_or("next_run_time", |(name, _)| name)
    }
}

impl ScheduledJobsQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
            kind: given.one_of("type", TYPES)?,
        };
        given.finish()?;
        Ok(query)
    }
}
