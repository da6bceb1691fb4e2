//! Scheduled jobs: `scheduled_jobs/environment_jobs`, and the deprecated commands that create them.

mod command;
mod input;
mod list;
mod puppet_input;
mod schedule;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ApiError, Object, limits, strict};

pub use command::{PlanSchedule, ScheduleCommand, ScheduledCommand};
pub use input::{PlanInput, ScheduledInput, TaskInput, TypedValue};
pub use list::{
    LastRun, LastRunJob, LastSkip, NextRun, ScheduledJob, ScheduledJobList, ScheduledJobsOrder,
    ScheduledJobsQuery, Submission,
};
pub use puppet_input::PuppetRunMode;
pub use schedule::{BlackoutWindow, CalendarDays, Interval, Schedule};

/// Type of job that a schedule starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduledType {
    /// A task on nodes.
    Task,
    /// A Puppet run on nodes.
    Deploy,
    /// A plan of an environment.
    Plan,
}

/// Body of `POST scheduled_jobs/environment_jobs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateScheduledJob {
    /// Type of job to start.
    #[serde(rename = "type")]
    pub kind: ScheduledType,
    /// Input of the job; its keys depend on the type. Those of `deploy` are the keys of `POST command/deploy`, and
    /// `until_converged` (true, or the limits of `POST command/converge`) or `multi_pass` (true).
    #[schema(value_type = Object)]
    pub input: Object,
    /// Name of the environment; empty: each node runs in its own, which only `deploy` permits.
    pub environment: String,
    /// Times at which the job starts.
    #[serde(deserialize_with = "strict::deserialize_object")]
    pub schedule: Schedule,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values, returned unchanged with each job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
}

/// Body of `PUT scheduled_jobs/environment_jobs/:id`: each given key replaces the old value as a
/// whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpdateScheduledJob {
    /// Input of the job; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Object>,
    /// Name of the environment; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Times at which the job starts; absent: unchanged.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_schedule"
    )]
    pub schedule: Option<Schedule>,
    /// Free text shown in lists and logs; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Arbitrary keys and values; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub userdata: Option<Object>,
    /// False deletes the scheduled job permanently; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Reply to requests that create or change a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobReply {
    /// URL and number of the scheduled job.
    pub scheduled_job: ScheduledJobRef,
}

/// URL and number of a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobRef {
    /// Absolute URL of the scheduled job.
    pub id: String,
    /// Its number, as text.
    pub name: String,
}

impl CreateScheduledJob {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        limits::check_texts(&self.description, &self.userdata)
    }
}

impl UpdateScheduledJob {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        let none = Object::new();
        let description = self.description.as_deref().unwrap_or_default();
        limits::check_texts(description, self.userdata.as_ref().unwrap_or(&none))
    }
}

fn optional_schedule<'de, D>(reader: D) -> Result<Option<Schedule>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    strict::deserialize_object(reader).map(Some)
}
