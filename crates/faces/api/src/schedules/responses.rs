//! A scheduled job in the form of the API.

use api_types::schedules::{LastRun, LastRunJob, LastSkip, NextRun, ScheduledJob, ScheduledType};
use api_types::{ErrorBody, Object, Owner, Timestamp};
use schedules::{ScheduleView, ScheduledJobKind};
use serde_json::{Value, json};
use store::LaunchedJob;

use super::times::schedule;
use crate::base_url::BaseUrl;

pub(super) fn job(base: &BaseUrl, job: ScheduleView, owner: Owner) -> ScheduledJob {
    let schedule = schedule(&job.timetable);
    let at = |at_ms: i64| NextRun {
        time: Timestamp::from_ms(at_ms),
    };
    let last_run = job.last.map(|last| LastRun {
        time: Timestamp::from_ms(last.at_ms),
        job: match last.outcome {
            Ok(LaunchedJob::Job(number)) => LastRunJob {
                id: Some(base.job_url(number).id),
                name: Some(number.get()),
                submission_error: None,
            },
            Ok(LaunchedJob::Plan(number)) => LastRunJob {
                id: Some(base.orchestrator_url(&format!("plan_jobs/{number}"))),
                name: Some(number),
                submission_error: None,
            },
            Err(error) => LastRunJob {
                id: None,
                name: None,
                submission_error: Some(ErrorBody {
                    kind: error.kind,
                    msg: error.msg,
                    details: error.details,
                }),
            },
        },
    });
    let last_skip = job.skipped.map(|skip| LastSkip {
        time: Timestamp::from_ms(skip.first_ms),
        until: Timestamp::from_ms(skip.last_ms),
        reason: skip_reason(skip.reason),
        msg: skip.reason.as_str().to_owned(),
    });
    ScheduledJob {
        id: address(base, job.id),
        name: job.id.to_string(),
        enabled: job.enabled,
        environment: job.environment,
        owner,
        description: job.description,
        kind: schedule_type(job.kind),
        input: input(job.kind, job.name, job.input, &job.sensitive),
        userdata: job.userdata,
        schedule,
        next_run: job.next_ms.map(at),
        last_run,
        runs: job.runs,
        queued: job.queued_ms.map(at),
        last_skip,
        upcoming: Vec::new(),
    }
}

/// The absolute URL of a scheduled job.
pub(super) fn address(base: &BaseUrl, id: i64) -> String {
    base.orchestrator_url(&format!("scheduled_jobs/environment_jobs/{id}"))
}

/// The name first, then parameters as plain values and the names of the sensitive ones.
fn input(kind: ScheduledJobKind, name: String, mut rest: Object, sensitive: &[String]) -> Object {
    let mut input = Object::new();
    if kind == ScheduledJobKind::Deploy {
        return rest;
    }
    let parameters = rest.remove("parameters").unwrap_or_default();
    let plain: Object = match parameters {
        Value::Object(parameters) => parameters
            .into_iter()
            .map(|(name, value)| (name, value.get("value").cloned().unwrap_or_default()))
            .collect(),
        _ => Object::new(),
    };
    input.insert("name".to_owned(), json!(name));
    input.insert("parameters".to_owned(), Value::Object(plain));
    input.insert("sensitive_parameters".to_owned(), json!(sensitive));
    input.extend(rest);
    input
}

fn skip_reason(reason: schedules::SkipReason) -> String {
    let word = serde_json::to_value(reason).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

pub(super) fn schedule_type(kind: ScheduledJobKind) -> ScheduledType {
    match kind {
        ScheduledJobKind::Task => ScheduledType::Task,
        ScheduledJobKind::Deploy => ScheduledType::Deploy,
        ScheduledJobKind::Plan => ScheduledType::Plan,
    }
}
