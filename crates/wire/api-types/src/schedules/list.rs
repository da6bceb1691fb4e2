//! `GET scheduled_jobs/environment_jobs` and `…/:id`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Schedule, ScheduledType};
use crate::jobs::Owner;
use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::{ApiError, ErrorBody, Object, Timestamp};

/// By what scheduled jobs are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduledJobsOrder {
    /// By the next start; those without come last.
    #[default]
    NextRunTime,
    /// By the environment's name.
    Environment,
    /// By the login of the owner.
    Owner,
    /// By the name of the task or plan.
    Name,
    /// By the type.
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

/// The query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduledJobsQuery {
    /// `limit` and `offset`.
    pub page: Page,
    /// By what.
    pub order_by: ScheduledJobsOrder,
    /// In which direction.
    pub order: Order,
    /// Only these.
    pub kind: Option<&'static str>,
}

/// The list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobList {
    /// Those of this page.
    pub items: Vec<ScheduledJob>,
    /// Which page.
    pub pagination: Pagination,
}

/// One scheduled job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJob {
    /// Its absolute URL.
    pub id: String,
    /// Its number, as text.
    pub name: String,
    /// False: deleted.
    pub enabled: bool,
    /// May be empty.
    pub environment: String,
    /// With whose rights it runs.
    pub owner: Owner,
    /// Free text.
    pub description: String,
    /// What it runs.
    #[serde(rename = "type")]
    pub kind: ScheduledType,
    /// On what; `parameters` without the secret ones, whose names are in `sensitive_parameters`.
    #[schema(value_type = Object)]
    pub input: Object,
    /// As submitted.
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// When.
    pub schedule: Schedule,
    /// Null: there is no further start.
    pub next_run: Option<NextRun>,
    /// Null: it never ran.
    pub last_run: Option<LastRun>,
    /// How often it ran.
    #[serde(default)]
    pub runs: u64,
    /// The slot that waits for the run before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<NextRun>,
    /// The last slot that was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_skip: Option<LastSkip>,
    /// The next starts; only for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upcoming: Vec<Timestamp>,
}

/// A start to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextRun {
    /// When.
    pub time: Timestamp,
}

/// The last start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LastRun {
    /// When.
    pub time: Timestamp,
    /// What came of it.
    pub job: LastRunJob,
}

/// The job of the last start, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LastRunJob {
    /// The job's absolute URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The job's number; a number here, as in Puppet Enterprise. Null: there is no job.
    #[serde(default)]
    pub name: Option<i64>,
    /// Why there is no job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission_error: Option<Submission>,
}

/// Why there is no job: as the error that the command would have been answered with.
pub type Submission = ErrorBody;

/// Slots that were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastSkip {
    /// The first.
    pub time: Timestamp,
    /// The last.
    pub until: Timestamp,
    /// `overlap`, `missed`, `blackout`, `over` or `broken`.
    pub reason: String,
    /// For people.
    pub msg: String,
}

impl ScheduledJobsOrder {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        // Every variant is in the table.
        let listed = ORDERS.iter().find(|(_, order)| *order == self);
        listed.map_or("next_run_time", |(name, _)| name)
    }
}

impl ScheduledJobsQuery {
    /// From query parameters.
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
