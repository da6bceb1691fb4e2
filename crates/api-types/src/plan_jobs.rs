//! `GET plan_jobs` and what is below it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::jobs::{JobsOrder, ORDERS};
use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::root::Link;
use crate::{ApiError, JobStatus, NextEvents, Object, Owner, Timestamp, decimal};

/// The query of `GET plan_jobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanJobsQuery {
    /// `limit` and `offset`.
    pub page: Page,
    /// By what.
    pub order_by: JobsOrder,
    /// In which direction.
    pub order: Order,
    /// Whether results are told.
    pub results: bool,
    /// Ended then or later.
    pub min_finish_timestamp: Option<Timestamp>,
    /// Ended then or earlier.
    pub max_finish_timestamp: Option<Timestamp>,
}

/// The list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanJobList {
    /// The plan jobs of this page.
    pub items: Vec<PlanJob>,
    /// Which page.
    pub pagination: Pagination,
}

/// One plan job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanJob {
    /// The plan job's absolute URL.
    pub id: String,
    /// The plan job's number, as text.
    pub name: String,
    /// `running`, `success` or `failure`.
    pub state: String,
    /// As submitted, with defaults filled in and sensitive values left out.
    #[schema(value_type = Object)]
    pub options: Object,
    /// What the plan returned; null while it runs, absent where results are excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub result: Option<Value>,
    /// Who started it.
    pub owner: Owner,
    /// The last change of state; only for a single plan job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// When it started.
    pub created_timestamp: Timestamp,
    /// When it ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Seconds from start to end, or so far.
    #[serde(default, with = "decimal::number")]
    #[schema(value_type = Option<f64>, example = 256.924)]
    pub duration: Option<f64>,
    /// Where the events are.
    pub events: Link,
    /// As submitted.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Every state of every job that the plan started, by the job's number; only for a single plan
    /// job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BTreeMap<String, Vec<JobStatus>>>,
}

/// Events of a plan job, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEvents {
    /// Where to go on reading.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// The events; texts that a plan printed are cut after 1024 bytes.
    pub items: Vec<PlanEvent>,
}

/// One event of a plan job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEvent {
    /// The event's number, as text; ascending.
    pub id: String,
    /// `task_start`, `out_message`, `plan_start`, `plan_end`, `plan_finished`, `plan_failed`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// When.
    pub timestamp: Timestamp,
    /// Facts, for example `{"job-id": "8765"}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// For people.
    #[serde(default)]
    pub message: String,
}

impl PlanJobsQuery {
    /// From query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let results = given.one_of("results", &[("include", true), ("exclude", false)])?;
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
            results: results.unwrap_or(true),
            min_finish_timestamp: given.time("min_finish_timestamp")?,
            max_finish_timestamp: given.time("max_finish_timestamp")?,
        };
        given.finish()?;
        Ok(query)
    }
}
