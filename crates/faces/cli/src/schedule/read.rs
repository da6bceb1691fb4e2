//! `tutti schedule list`, `show` and `preview`.

use api_types::schedules::{PuppetRunMode, ScheduledJob, ScheduledJobList, ScheduledType};
use serde_json::{Value, json};

use super::SCHEDULED;
use super::when::{describe_schedule, format_duration};
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
        .optional("waves", describe_waves(job))
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
        (ScheduledType::Deploy, _) => match run_mode(job) {
            PuppetRunMode::Once => "puppet".to_owned(),
            PuppetRunMode::UntilConverged(_) => "puppet until converged".to_owned(),
            PuppetRunMode::MultiPass => "puppet in passes".to_owned(),
        },
    }
}

/// The way in which a scheduled job runs Puppet; once if a newer server has a way that is not known here.
fn run_mode(job: &ScheduledJob) -> PuppetRunMode {
    PuppetRunMode::take(&mut job.input.clone()).unwrap_or(PuppetRunMode::Once)
}

/// The limits of repeated runs, as far as they are set; `None` for other jobs.
fn describe_waves(job: &ScheduledJob) -> Option<String> {
    let PuppetRunMode::UntilConverged(limits) = run_mode(job) else {
        return None;
    };
    let parts = [
        limits.max_waves.map(|most| format!("at most {most}")),
        limits
            .min_gap
            .map(|gap| format!("at least {} apart", format_duration(gap))),
        limits
            .max_delay
            .map(|delay| format!("at most {} for a node", format_duration(delay))),
        limits
            .strict
            .then(|| "until no run changes anything".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// True if the last start made, or would have made, a plan job.
fn starts_plan_job(scheduled: &ScheduledJob) -> bool {
    let job = scheduled.last_run.as_ref().map(|run| &run.job);
    match job.and_then(|job| job.id.as_deref()) {
        // it may be older than the input
        Some(url) => url.contains("/plan_jobs/"),
        None => match scheduled.kind {
            ScheduledType::Plan => true,
            ScheduledType::Deploy => run_mode(scheduled) != PuppetRunMode::Once,
            ScheduledType::Task => false,
        },
    }
}

/// The last start and its job, or the reason why there is none; `None` before the first start.
fn format_last_run(scheduled: &ScheduledJob) -> Option<String> {
    let run = scheduled.last_run.as_ref()?;
    let job = match starts_plan_job(scheduled) {
        true => "plan job",
        false => "job",
    };
    Some(match (&run.job.name, &run.job.submission_error) {
        (Some(number), _) => format!("{} as {job} {number}", run.time),
        (None, Some(error)) => {
            let why = style_failure(escape_control(&error.msg));
            format!("{} no {job}: {why}", run.time)
        }
        (None, None) => run.time.to_string(),
    })
}
