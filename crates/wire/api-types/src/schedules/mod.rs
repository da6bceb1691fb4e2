//! Scheduled jobs: `scheduled_jobs/environment_jobs`, and the deprecated commands that make them.

mod command;
mod input;
mod list;
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
pub use schedule::{BlackoutWindow, CalendarDays, Interval, Schedule};

/// What a scheduled job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduledType {
    /// A task.
    Task,
    /// Puppet.
    Deploy,
    /// A plan.
    Plan,
}

/// `POST scheduled_jobs/environment_jobs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateScheduledJob {
    /// What it runs.
    #[serde(rename = "type")]
    pub kind: ScheduledType,
    /// On what; its keys depend on the type.
    #[schema(value_type = Object)]
    pub input: Object,
    /// Empty: each node in its own; for `deploy` only.
    pub environment: String,
    /// When.
    #[serde(deserialize_with = "strict::keyed")]
    pub schedule: Schedule,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Free keys and values, given back with each job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
}

/// `PUT scheduled_jobs/environment_jobs/:id`: each given key replaces the old value whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpdateScheduledJob {
    /// On what.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Object>,
    /// Where from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// When.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_schedule"
    )]
    pub schedule: Option<Schedule>,
    /// Free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Free keys and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub userdata: Option<Object>,
    /// False deletes it, for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The reply of whatever makes or changes a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobReply {
    /// The scheduled job.
    pub scheduled_job: ScheduledJobRef,
}

/// A scheduled job's address and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledJobRef {
    /// Its absolute URL.
    pub id: String,
    /// Its number, as text.
    pub name: String,
}

impl CreateScheduledJob {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        limits::check_texts(&self.description, &self.userdata)
    }
}

impl UpdateScheduledJob {
    /// What the types alone do not say.
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
    strict::keyed(reader).map(Some)
}
