//! `GET jobs` and `GET jobs/:id`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::root::Link;
use crate::{ApiError, Object, Timestamp, decimal};

/// By what jobs and plan jobs are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobsOrder {
    /// By number, as numbers.
    #[default]
    Name,
    /// By the login of the owner.
    Owner,
    /// By the last change of state.
    Timestamp,
    /// By the environment's name.
    Environment,
    /// By the state's name.
    State,
}

/// The query of `GET jobs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobsQuery {
    /// `limit` and `offset`.
    #[serde(flatten)]
    pub page: Page,
    /// By what.
    pub order_by: JobsOrder,
    /// In which direction.
    pub order: Order,
    /// `deploy`, `task` or `plan_task`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// A part of the task's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Login of the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The job's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Certname of a node of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Ended then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_finish_timestamp: Option<Timestamp>,
    /// Ended then or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_finish_timestamp: Option<Timestamp>,
}

/// The list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// The jobs of this page.
    pub items: Vec<Job>,
    /// Which page.
    pub pagination: Pagination,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// The job's absolute URL.
    pub id: String,
    /// The job's number, as text.
    pub name: String,
    /// `new`, `ready`, `running`, `stopping`, `stopped`, `finished` or `failed`.
    pub state: String,
    /// `task`, `deploy`, `plan_task`, …
    pub command: String,
    /// The same again.
    #[serde(rename = "type")]
    pub kind: String,
    /// As submitted, with defaults filled in and sensitive values left out.
    #[schema(value_type = Object)]
    pub options: Object,
    /// Who started it.
    pub owner: Owner,
    /// Free text; also in `options`.
    #[serde(default)]
    pub description: String,
    /// Also in `options`.
    pub environment: EnvironmentRef,
    /// The last change of state.
    pub timestamp: Timestamp,
    /// When the job was submitted.
    #[serde(default)]
    pub created_timestamp: Option<Timestamp>,
    /// When its first node started.
    #[serde(default)]
    pub started_timestamp: Option<Timestamp>,
    /// When it ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Seconds from start to end, or so far; null before the start.
    #[serde(default, with = "decimal::text")]
    #[schema(value_type = Option<String>, example = "256.0")]
    pub duration: Option<f64>,
    /// How many nodes.
    pub node_count: u64,
    /// How many nodes in each state; states that no node has are left out, null without nodes.
    #[serde(default)]
    pub node_states: Option<BTreeMap<String, u64>>,
    /// Progress of a job with batches; absent for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<JobRollout>,
    /// Where the nodes are.
    pub nodes: Link,
    /// Where the report is.
    pub report: Link,
    /// Where the events are.
    pub events: Link,
    /// As submitted.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// By which the job is found in the traces; only where the server sends any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Every state the job was in; only for a single job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Vec<JobStatus>>,
}

/// Progress of a job that takes its nodes in batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobRollout {
    /// The batch that was started last, from 1.
    pub batch: u64,
    /// How many batches there are.
    pub batches: u64,
    /// The end of the pause that the job is in; absent when it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_batch_timestamp: Option<Timestamp>,
}

/// A state and how long it lasted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobStatus {
    /// The state.
    pub state: String,
    /// Its begin.
    pub enter_time: Timestamp,
    /// Its end; null for the present one.
    pub exit_time: Option<Timestamp>,
}

/// An environment by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentRef {
    /// May be empty: each node its own.
    pub name: String,
}

/// Who started a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Owner {
    /// The user's UUID.
    pub id: String,
    /// The name to log in with.
    pub login: String,
    /// Empty when unknown.
    pub email: String,
    /// The name for people.
    pub display_name: String,
    /// The last login.
    pub last_login: Option<crate::PreciseTimestamp>,
    /// May not log in any more.
    pub is_revoked: bool,
    /// From a directory.
    pub is_remote: bool,
    /// May do everything.
    pub is_superuser: bool,
    /// Always false.
    pub is_group: bool,
    /// Roles.
    pub role_ids: Vec<i64>,
    /// Roles by way of groups.
    pub inherited_role_ids: Vec<i64>,
    /// Groups.
    pub group_ids: Vec<String>,
}

pub(crate) const ORDERS: &[(&str, JobsOrder)] = &[
    ("owner", JobsOrder::Owner),
    ("timestamp", JobsOrder::Timestamp),
    ("environment", JobsOrder::Environment),
    ("name", JobsOrder::Name),
    ("state", JobsOrder::State),
];

const KINDS: &[(&str, &str)] = &[
    ("deploy", "deploy"),
    ("task", "task"),
    ("command", "command"),
    ("script", "script"),
    ("upload", "upload"),
    ("plan_task", "plan_task"),
    ("plan_command", "plan_command"),
    ("plan_script", "plan_script"),
    ("plan_upload", "plan_upload"),
    ("plan_download", "plan_download"),
];

const STATES: &[(&str, &str)] = &[
    ("new", "new"),
    ("ready", "ready"),
    ("running", "running"),
    ("stopping", "stopping"),
    ("stopped", "stopped"),
    ("finished", "finished"),
    ("failed", "failed"),
];

impl JobsOrder {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        // Every variant is in the table.
        ORDERS
            .iter()
            .find(|(_, order)| *order == self)
            .map_or("name", |(name, _)| name)
    }
}

impl JobsQuery {
    /// From query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
            kind: given.one_of("type", KINDS)?,
            task: given.text("task"),
            owner: given.text("owner"),
            state: given.one_of("state", STATES)?,
            node: given.text("node"),
            min_finish_timestamp: given.time("min_finish_timestamp")?,
            max_finish_timestamp: given.time("max_finish_timestamp")?,
        };
        given.finish()?;
        if query.kind == Some("deploy") && query.task.is_some() {
            return Err(ApiError::invalid(
                "task",
                "cannot be combined with type=deploy",
            ));
        }
        Ok(query)
    }
}
