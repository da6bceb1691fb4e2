//! Plan jobs, their events and their steps: `GET plan_jobs` and the resources below it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::defaults::{PLAN_STEPS, PLAN_STEPS_MAX};
use crate::jobs::{JobsOrder, ORDERS};
use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::root::Link;
use crate::{ApiError, JobRef, JobStatus, NextEvents, Object, Owner, Timestamp, decimal};

/// The query of `GET plan_jobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanJobsQuery {
    /// Part of the list to return, from `limit` and `offset`.
    pub page: Page,
    /// Sort key of the list.
    pub order_by: JobsOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
    /// True if the results of the plans are included.
    pub results: bool,
    /// Only jobs that ended at this time or later.
    pub min_finish_timestamp: Option<Timestamp>,
    /// Only jobs that ended at this time or earlier.
    pub max_finish_timestamp: Option<Timestamp>,
}

/// A page of the list of plan jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanJobList {
    /// The plan jobs of this page.
    pub items: Vec<PlanJob>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: Pagination,
}

/// A plan job and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanJob {
    /// The plan job's absolute URL.
    pub id: String,
    /// The plan job's number, as text.
    pub name: String,
    /// `running`, `success` or `failure`.
    pub state: String,
    /// Questions of the plan that are not answered yet; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<PlanQuestion>,
    /// Options of the request, with defaults filled in and sensitive parameters left out.
    #[schema(value_type = Object)]
    pub options: Object,
    /// Return value of the plan, or its error; null while it runs, absent if the request excludes
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub result: Option<Value>,
    /// User who started the plan job.
    pub owner: Owner,
    /// Time of the last change of state; only in the reply about a single plan job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// Start time of the plan job.
    pub created_timestamp: Timestamp,
    /// End time; null until the plan has ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Duration in seconds, up to now if the plan is running.
    #[serde(default, with = "decimal::number")]
    #[schema(value_type = Option<f64>, example = 256.924)]
    pub duration: Option<f64>,
    /// Link to the events of the plan job.
    pub events: Link,
    /// Keys and values that the request carried in `userdata`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// History of the states of every job that the plan started, by job number; only in the reply
    /// about a single plan job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BTreeMap<String, Vec<JobStatus>>>,
}

/// Question of a plan that a user must answer with `command/plan_answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanQuestion {
    /// Number of the step that waits for the answer.
    #[schema(example = "2.1")]
    pub step: String,
    /// The text of the question.
    #[serde(default)]
    pub prompt: String,
    /// True if the answer is a secret.
    #[serde(default)]
    pub sensitive: bool,
    /// Time at which the plan asked the question.
    pub asked_timestamp: Timestamp,
}

/// Events of a plan job, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEvents {
    /// Link to the events that follow this page.
    #[serde(rename = "next-events")]
    pub next_events: NextEvents,
    /// Events of this page; text that a plan printed is cut after 1024 bytes.
    pub items: Vec<PlanEvent>,
}

/// One event of a plan job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEvent {
    /// The event's number, as text; ascending.
    pub id: String,
    /// `task_start`, `out_message`, `plan_start`, `prompt`, `plan_finished`, `plan_failed`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Data of the event, for example `{"job-id": "8765"}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
    /// Sentence that describes the event.
    #[serde(default)]
    pub message: String,
}

/// The query of `GET plan_jobs/:id/steps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStepsQuery {
    /// Part of the list to return, from `limit` and `offset`.
    pub page: Page,
    /// Only steps in this state; `None`: in all states.
    pub state: Option<&'static str>,
}

/// Steps of a plan that this server runs, in the order of their start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanSteps {
    /// The steps of this page.
    pub items: Vec<PlanStep>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: Pagination,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    /// Number of the step, such as `7`; `2.1` is the first step of the plan's second branch.
    #[schema(example = "2.1")]
    pub step: String,
    /// Type of the step: `task`, `sleep`, `prompt`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Position of the step in the plan's code.
    #[serde(default)]
    pub site: String,
    /// Arguments of the step, without secrets; a string if they were too long to be stored whole.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// State of the step: `running`, `sleeping`, `waiting` (for a user's answer), `done`, `failed`,
    /// or `dropped` if the plan no longer needs its result.
    pub state: String,
    /// Job that the step started; null if it started none.
    #[serde(default)]
    pub job: Option<JobRef>,
    /// Start time of the step.
    pub started_timestamp: Timestamp,
    /// End time; null until the step has ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Time until which the step sleeps; null for other steps.
    #[serde(default)]
    pub until_timestamp: Option<Timestamp>,
    /// True if the step waits for a secret, false if it waits for another answer; absent if it does
    /// not wait for a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<bool>,
}

/// States by which steps can be filtered.
const STEP_STATES: &[(&str, &str)] = &[
    ("running", "running"),
    ("sleeping", "sleeping"),
    ("waiting", "waiting"),
    ("done", "done"),
    ("failed", "failed"),
    ("dropped", "dropped"),
];

impl PlanStepsQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let mut page = Page::take(&mut given)?;
        let limit = page.limit.unwrap_or(PLAN_STEPS);
        if limit > PLAN_STEPS_MAX {
            let what = format!("must be at most {PLAN_STEPS_MAX}; page with offset");
            return Err(ApiError::invalid("limit", what));
        }
        page.limit = Some(limit);
        let state = given.one_of("state", STEP_STATES)?;
        given.finish()?;
        Ok(Self { page, state })
    }
}

impl PlanJobsQuery {
    /// Reads the query parameters.
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
