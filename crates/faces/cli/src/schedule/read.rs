//! `tutti schedule list`, `show` and `preview`.

use api_types::schedules::{ScheduledJob, ScheduledJobList, ScheduledType};
use serde_json::{Value, json};

use super::SCHEDULED;
use super::when::describe_schedule;
use crate::client::{ApiClient, route};
use crate::present::Fields;
use crate::terminal::{escape_control, style_dim, style_failure};
use crate::{OutputFormat, Result, VerbResult};

pub(super) async fn list(
    kind: Option<&str>,
    format: OutputFormat,
    client: &ApiClient,
) -> VerbResult {
    let query: Vec<_> = kind.map(|kind| ("type", kind)).into_iter().collect();
    let list: ScheduledJobList = client.get(&SCHEDULED, &query).await?;
    format.list(
        &list,
        &list.items,
        "There are no scheduled jobs; `tutti schedule task` and `tutti schedule run` create them.",
        &[
            ("ID", &|job| escape_control(&job.name)),
            ("NEXT", &format_next_run),
            ("WHAT", &describe_target),
            ("WHEN", &|job| describe_schedule(&job.schedule)),
            ("LAST", &|job| format_last_run(job).unwrap_or_default()),
            ("OWNER", &|job| escape_control(&job.owner.login)),
            ("DESCRIPTION", &|job| escape_control(&job.description)),
        ],
    )
}

pub(super) async fn fetch(client: &ApiClient, number: &str) -> Result<ScheduledJob> {
    client.get(&route(SCHEDULED, [number]), &[]).await
}

pub(super) fn print(job: &ScheduledJob) {
    let enabled = if job.enabled { "yes" } else { "no, deleted" };
    let description = Some(job.description.as_str()).filter(|text| !text.is_empty());
    let skip = job.last_skip.as_ref();
    Fields::default()
        .text("scheduled job", &job.name)
        .value("enabled", enabled)
        .optional_text("description", description)
        .value("what", describe_target(job))
        .value("when", describe_schedule(&job.schedule))
        .text("input", &json!(job.input).to_string())
        .text("environment", &job.environment)
        .text("owner", &job.owner.login)
        .value("next start", format_next_run(job))
        .value("runs", job.runs)
        .optional("last start", format_last_run(job))
        .optional(
            "last left out",
            skip.map(|skip| format!("{}: {}", skip.time, escape_control(&skip.msg))),
        )
        .print();
}

pub(super) fn print_upcoming(job: &ScheduledJob) {
    if job.upcoming.is_empty() {
        let name = escape_control(&job.name);
        say!("Scheduled job {name} has no more starts.");
    }
    for time in &job.upcoming {
        say!("{time}");
    }
}

fn format_next_run(job: &ScheduledJob) -> String {
    match &job.next_run {
        Some(next) => next.time.to_string(),
        None => style_dim("never"),
    }
}

/// The name of the task or plan, or Puppet and its targets.
fn describe_target(job: &ScheduledJob) -> String {
    let name = job.input.get("name").and_then(Value::as_str);
    match (job.kind, name) {
        (ScheduledType::Task, Some(name)) => format!("task {}", escape_control(name)),
        (ScheduledType::Plan, Some(name)) => format!("plan {}", escape_control(name)),
        (ScheduledType::Task, None) => "task".to_owned(),
        (ScheduledType::Plan, None) => "plan".to_owned(),
        (ScheduledType::Deploy, _) => "puppet".to_owned(),
    }
}

/// The last start and its job, or the reason why there is none; `None` before the first start.
fn format_last_run(scheduled: &ScheduledJob) -> Option<String> {
    let job = match scheduled.kind {
        ScheduledType::Plan => "plan job",
        ScheduledType::Task | ScheduledType::Deploy => "job",
    };
    let run = scheduled.last_run.as_ref()?;
    Some(match (&run.job.name, &run.job.submission_error) {
        (Some(number), _) => format!("{} as {job} {number}", run.time),
        (None, Some(error)) => {
            let why = style_failure(escape_control(&error.msg));
            format!("{} no {job}: {why}", run.time)
        }
        (None, None) => run.time.to_string(),
    })
}
