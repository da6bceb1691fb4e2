//! `tutti schedule list`, `show` and `preview`.

use api_types::schedules::{LastRun, ScheduledJob, ScheduledJobList, ScheduledType};
use serde_json::Value;

use super::when::describe_schedule;
use super::{SCHEDULED, path};
use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table};

/// Arguments of `tutti schedule list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    /// Only scheduled jobs of this type: task, deploy (Puppet runs) or plan
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti schedule show` and `preview`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Number of the scheduled job
    schedule: String,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn list(options: &ListOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let kind = options.kind.as_deref();
    let query: Vec<_> = kind.map(|kind| ("type", kind)).into_iter().collect();
    let list: ScheduledJobList = client.get(&SCHEDULED, &query).await?;
    if options.shown.format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!(
            "There are no scheduled jobs; `tutti schedule task` and `tutti schedule run` create them."
        );
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(|job| {
        vec![
            escape_control(&job.name),
            format_next_run(job),
            describe_target(job),
            describe_schedule(&job.schedule),
            job.last_run
                .as_ref()
                .map_or_else(String::new, |run| format_last_run(job.kind, run)),
            escape_control(&job.owner.login),
            escape_control(&job.description),
        ]
    });
    let heading = ["ID", "NEXT", "WHAT", "WHEN", "LAST", "OWNER", "DESCRIPTION"];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let job: ScheduledJob = client.get(&path(&options.schedule), &[]).await?;
    if options.shown.format == OutputFormat::Json {
        json(&job);
        return Ok(EXIT_SUCCESS);
    }
    let mut fields = vec![
        ("scheduled job", escape_control(&job.name)),
        (
            "enabled",
            if job.enabled { "yes" } else { "no, deleted" }.to_owned(),
        ),
        ("what", describe_target(&job)),
        ("when", describe_schedule(&job.schedule)),
        (
            "input",
            escape_control(&Value::Object(job.input.clone()).to_string()),
        ),
        ("environment", escape_control(&job.environment)),
        ("owner", escape_control(&job.owner.login)),
        ("next start", format_next_run(&job)),
        ("runs", job.runs.to_string()),
    ];
    fields.extend(
        job.last_run
            .as_ref()
            .map(|run| ("last start", format_last_run(job.kind, run))),
    );
    if let Some(skip) = &job.last_skip {
        let text = format!("{}: {}", skip.time, escape_control(&skip.msg));
        fields.push(("last left out", text));
    }
    if !job.description.is_empty() {
        fields.insert(2, ("description", escape_control(&job.description)));
    }
    table::fields(&fields);
    Ok(EXIT_SUCCESS)
}

pub(super) async fn preview(
    options: &ShowOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let job: ScheduledJob = client.get(&path(&options.schedule), &[]).await?;
    if options.shown.format == OutputFormat::Json {
        json(&job.upcoming);
        return Ok(EXIT_SUCCESS);
    }
    if job.upcoming.is_empty() {
        say!(
            "Scheduled job {} has no more starts.",
            escape_control(&job.name)
        );
    }
    for time in &job.upcoming {
        say!("{time}");
    }
    Ok(EXIT_SUCCESS)
}

fn format_next_run(job: &ScheduledJob) -> String {
    match &job.next_run {
        Some(next) => next.time.to_string(),
        None => terminal::style_dim("never"),
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

/// The last start and its job, or the reason why there is none.
fn format_last_run(kind: ScheduledType, run: &LastRun) -> String {
    let job = match kind {
        ScheduledType::Plan => "plan job",
        ScheduledType::Task | ScheduledType::Deploy => "job",
    };
    match (&run.job.name, &run.job.submission_error) {
        (Some(number), _) => format!("{} as {job} {number}", run.time),
        (None, Some(error)) => {
            let why = terminal::style_failure(escape_control(&error.msg));
            format!("{} no {job}: {why}", run.time)
        }
        (None, None) => run.time.to_string(),
    }
}
