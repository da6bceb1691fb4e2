//! `GET plan_jobs` and what is below it.

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
    /// Questions that the plan waits with; absent: it waits for no person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<PlanQuestion>,
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

/// A question of a plan that a person is to answer by `command/plan_answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanQuestion {
    /// The step that waits.
    #[schema(example = "2.1")]
    pub step: String,
    /// The text of the question.
    #[serde(default)]
    pub prompt: String,
    /// The answer is a secret.
    #[serde(default)]
    pub sensitive: bool,
    /// When it was asked.
    pub asked_timestamp: Timestamp,
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

/// The query of `GET plan_jobs/:id/steps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStepsQuery {
    /// `limit` and `offset`.
    pub page: Page,
    /// Only those in this state.
    pub state: Option<&'static str>,
}

/// Steps of a plan that this server runs, in the order in which they began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanSteps {
    /// The steps of this page.
    pub items: Vec<PlanStep>,
    /// Which page.
    pub pagination: Pagination,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    /// `7`; `2.1` is the first step of the plan's second branch.
    #[schema(example = "2.1")]
    pub step: String,
    /// What it does: `task`, `sleep`, `prompt`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Where in the plan's code.
    #[serde(default)]
    pub site: String,
    /// What it was asked for, without secrets; a text where it was too long to be kept whole.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// `running`, `sleeping`, `waiting` (for a person), `done`, `failed`, or `dropped` when nothing
    /// waited for it any more.
    pub state: String,
    /// The job that it started.
    #[serde(default)]
    pub job: Option<JobRef>,
    /// When it began.
    pub started_timestamp: Timestamp,
    /// When it ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Until when it sleeps.
    #[serde(default)]
    pub until_timestamp: Option<Timestamp>,
    /// A step that waits for a person: whether for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<bool>,
}

/// The states of steps.
const STEP_STATES: &[(&str, &str)] = &[
    ("running", "running"),
    ("sleeping", "sleeping"),
    ("waiting", "waiting"),
    ("done", "done"),
    ("failed", "failed"),
    ("dropped", "dropped"),
];

impl PlanStepsQuery {
    /// From query parameters.
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
