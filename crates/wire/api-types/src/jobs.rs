//! `GET jobs` and `GET jobs/:id`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::root::Link;
use crate::{ApiError, Object, Timestamp, decimal};

/// Sort key of jobs and plan jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobsOrder {
    /// By job number, numerically.
    #[default]
    Name,
    /// By the owner's login.
    Owner,
    /// By the last change of state.
    Timestamp,
    /// By name of the environment.
    Environment,
    /// By name of the state.
    State,
}

/// The query of `GET jobs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobsQuery {
    /// Part of the list to return, from `limit` and `offset`.
    #[serde(flatten)]
    pub page: Page,
    /// Sort key of the list.
    pub order_by: JobsOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
    /// Only jobs of this type: `deploy`, `task`, `plan_task`, …
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Only jobs whose task name contains this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Only jobs of the user with this login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only jobs in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Only jobs with the node of this certname.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Only jobs that ended at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_finish_timestamp: Option<Timestamp>,
    /// Only jobs that ended at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_finish_timestamp: Option<Timestamp>,
}

/// A page of the list of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// The jobs of this page.
    pub items: Vec<Job>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: Pagination,
}

/// A job and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// The job's absolute URL.
    pub id: String,
    /// The job's number, as text.
    pub name: String,
    /// `new`, `ready`, `running`, `stopping`, `stopped`, `finished` or `failed`.
    pub state: String,
    /// `task`, `command`, `script`, `upload`, `download` or `deploy` (a Puppet run).
    pub command: String,
    /// As `command`; with the prefix `plan_` for a step of a plan, except for `deploy`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Options of the request, with defaults filled in and sensitive values redacted.
    #[schema(value_type = Object)]
    pub options: Object,
    /// User who started the job.
    pub owner: Owner,
    /// Free text; the same as in `options`.
    #[serde(default)]
    pub description: String,
    /// Environment of the job; the same as in `options`.
    pub environment: EnvironmentRef,
    /// Time of the last change of state.
    pub timestamp: Timestamp,
    /// Time at which the job was submitted.
    #[serde(default)]
    pub created_timestamp: Option<Timestamp>,
    /// Time at which its first node started; null before that.
    #[serde(default)]
    pub started_timestamp: Option<Timestamp>,
    /// End time; null until the job has ended.
    #[serde(default)]
    pub finished_timestamp: Option<Timestamp>,
    /// Duration in seconds, up to now if the job is running; null before the start.
    #[serde(default, with = "decimal::text")]
    #[schema(value_type = Option<String>, example = "256.0")]
    pub duration: Option<f64>,
    /// Number of nodes in the job.
    pub node_count: u64,
    /// Number of nodes in each state; states without nodes are left out. Null if the job has no
    /// nodes.
    #[serde(default)]
    pub node_states: Option<BTreeMap<String, u64>>,
    /// Progress of a job with batches; absent for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<JobRollout>,
    /// Link to the nodes of the job.
    pub nodes: Link,
    /// Link to the report of the job.
    pub report: Link,
    /// Link to the events of the job.
    pub events: Link,
    /// Keys and values that the request carried in `userdata`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Trace id of the job; absent if the server does not export traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// History of the job's states; only in the reply about a single job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Vec<JobStatus>>,
}

/// Progress of a job that takes its nodes in batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobRollout {
    /// Number of the batch that started last, from 1.
    pub batch: u64,
    /// Total number of batches.
    pub batches: u64,
    /// End of the current pause between batches; absent if there is no pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_batch_timestamp: Option<Timestamp>,
}

/// A state of a job, with its start and end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobStatus {
    /// Name of the state.
    pub state: String,
    /// Time at which the job entered the state.
    pub enter_time: Timestamp,
    /// Time at which the job left the state; null for the current state.
    pub exit_time: Option<Timestamp>,
}

/// An environment by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentRef {
    /// Name of the environment; empty if each node runs in its own.
    pub name: String,
}

/// User who started a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Owner {
    /// UUID of the user; empty if the user was deleted.
    pub id: String,
    /// Login name of the user.
    pub login: String,
    /// E-mail address; empty if it is unknown.
    pub email: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// Time of the user's last login; null if there was none.
    pub last_login: Option<crate::PreciseTimestamp>,
    /// True if the user was revoked or deleted, and can no longer log in.
    pub is_revoked: bool,
    /// True if the user comes from an external directory (LDAP or OIDC).
    pub is_remote: bool,
    /// True if the user has every permission.
    pub is_superuser: bool,
    /// Always false, since this is a user and not a group.
    pub is_group: bool,
    /// Ids of the roles that the user has directly.
    pub role_ids: Vec<i64>,
    /// Ids of the roles that the user has through groups.
    pub inherited_role_ids: Vec<i64>,
    /// Ids of the user's groups.
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
    ("plan_apply", "plan_apply"),
    ("plan_apply_prep", "plan_apply_prep"),
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
    /// Name of this sort key in the API.
    pub fn as_str(self) -> &'static str {
        // Every variant is in the table.
        ORDERS
            .iter()
            .find(|(_, order)| *order == self)
            .map_or("name", |(name, _)| name)
    }
}

impl JobsQuery {
    /// Reads the query parameters.
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
