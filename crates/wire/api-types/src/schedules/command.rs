//! The deprecated commands `schedule_deploy`, `schedule_task` and `schedule_plan`.
//!
//! The body is that of the command to schedule, with `scheduled_time` and, optionally,
//! `schedule_options`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::input::from_object;
use super::{CreateScheduledJob, Interval, Schedule, ScheduledType};
use crate::{ApiError, DeployCommand, Object, TaskCommand, Timestamp, strict};

/// Body of a deprecated scheduling command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduleCommand(pub Object);

/// Keys of the body that define the schedule; all other keys belong to the command itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledCommand {
    /// Time of the first start.
    pub scheduled_time: Timestamp,
    /// Repetition of the job; absent: it runs once.
    #[serde(default)]
    pub schedule_options: Option<ScheduleOptions>,
}

/// Repetition of a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleOptions {
    /// Interval between starts; absent: the job runs once.
    #[serde(default)]
    pub interval: Option<Interval>,
}

/// Keys of the body of `schedule_plan` other than the schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSchedule {
    /// Name of the plan: `module` or `module::plan`.
    pub plan_name: String,
    /// Parameters of the plan, by name.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub params: Object,
    /// Name of the environment.
    #[serde(default = "production")]
    pub environment: String,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values, returned unchanged with each job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
}

impl ScheduleCommand {
    /// Converts the body into a request for a scheduled job.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn into_job(self, kind: ScheduledType) -> Result<CreateScheduledJob, ApiError> {
        let mut rest = self.0;
        let mut times = Object::new();
        for key in ["scheduled_time", "schedule_options"] {
            times.extend(rest.remove(key).map(|value| (key.to_owned(), value)));
        }
        let times: ScheduledCommand = from_object("the body", times)?;
        let schedule = Schedule {
            start_time: Some(times.scheduled_time),
            interval: times.schedule_options.and_then(|options| options.interval),
            ..Schedule::default()
        };
        let job = |input, environment, description, userdata| CreateScheduledJob {
            kind,
            input,
            environment,
            schedule,
            description,
            userdata,
        };
        Ok(match kind {
            ScheduledType::Task => {
                let command: TaskCommand = from_object("the body", rest)?;
                let input = without_null(json!({
                    "name": command.task,
                    "parameters": wrapped(command.params),
                    "scope": command.scope,
                    "targets": command.targets,
                    "noop": command.noop,
                    "concurrency": command.concurrency,
                    "batch": command.batch,
                    "pause_between_batches": command.pause_between_batches,
                    "max_failures": command.max_failures,
                    "splay": command.splay,
                    "timeout": command.timeout,
                }));
                job(
                    input,
                    command.environment,
                    command.description,
                    command.userdata,
                )
            }
            ScheduledType::Deploy => {
                let command: DeployCommand = from_object("the body", rest)?;
                let mut input = without_null(json!(command));
                for key in ["environment", "description", "userdata"] {
                    input.remove(key);
                }
                if !input.contains_key("scope") {
                    input.insert("scope".to_owned(), json!({"whole_environment": true}));
                }
                job(
                    input,
                    command.environment,
                    command.description,
                    command.userdata,
                )
            }
            ScheduledType::Plan => {
                let command: PlanSchedule = from_object("the body", rest)?;
                let input = without_null(json!({
                    "name": command.plan_name,
                    "parameters": wrapped(command.params),
                }));
                job(
                    input,
                    command.environment,
                    command.description,
                    command.userdata,
                )
            }
        })
    }
}

/// Wraps each `{p: v}` as `{p: {"value": v}}`.
fn wrapped(params: Object) -> Object {
    let wrap = |(name, value)| (name, json!({ "value": value }));
    params.into_iter().map(wrap).collect()
}

fn without_null(value: Value) -> Object {
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        // It was made from a struct.
        _ => Object::new(),
    }
}

fn production() -> String {
    crate::defaults::ENVIRONMENT.to_owned()
}
