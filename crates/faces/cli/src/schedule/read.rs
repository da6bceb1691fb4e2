//! `tutti schedule list`, `show` and `preview`.

use api_types::schedules::{LastRun, ScheduledJob, ScheduledJobList, ScheduledType};
use serde_json::Value;

use super::when::in_words;
use super::{SCHEDULED, path};
use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, harmless};
use crate::{EXIT_SUCCESS, Failure, Format, table};

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

pub(super) async fn list(options: &ListOptions, client: &Client) -> Result<u8, Failure> {
    let kind = options.kind.as_deref();
    let query: Vec<_> = kind.map(|kind| ("type", kind)).into_iter().collect();
    let list: ScheduledJobList = client.get(&SCHEDULED, &query).await?;
    if options.shown.format == Format::Json {
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
            harmless(&job.name),
            next(job),
            what(job),
            in_words(&job.schedule),
            job.last_run
                .as_ref()
                .map_or_else(String::new, |run| last(job.kind, run)),
            harmless(&job.owner.login),
            harmless(&job.description),
        ]
    });
    let heading = ["ID", "NEXT", "WHAT", "WHEN", "LAST", "OWNER", "DESCRIPTION"];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let job: ScheduledJob = client.get(&path(&options.schedule), &[]).await?;
    if options.shown.format == Format::Json {
        json(&job);
        return Ok(EXIT_SUCCESS);
    }
    let mut fields = vec![
        ("scheduled job", harmless(&job.name)),
        (
            "enabled",
            if job.enabled { "yes" } else { "no, deleted" }.to_owned(),
        ),
        ("what", what(&job)),
        ("when", in_words(&job.schedule)),
        (
            "input",
            harmless(&Value::Object(job.input.clone()).to_string()),
        ),
        ("environment", harmless(&job.environment)),
        ("owner", harmless(&job.owner.login)),
        ("next start", next(&job)),
        ("runs", job.runs.to_string()),
    ];
    fields.extend(
        job.last_run
            .as_ref()
            .map(|run| ("last start", last(job.kind, run))),
    );
    if let Some(skip) = &job.last_skip {
        let text = format!("{}: {}", skip.time, harmless(&skip.msg));
        fields.push(("last left out", text));
    }
    if !job.description.is_empty() {
        fields.insert(2, ("description", harmless(&job.description)));
    }
    table::fields(&fields);
    Ok(EXIT_SUCCESS)
}

pub(super) async fn preview(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let job: ScheduledJob = client.get(&path(&options.schedule), &[]).await?;
    if options.shown.format == Format::Json {
        json(&job.upcoming);
        return Ok(EXIT_SUCCESS);
    }
    if job.upcoming.is_empty() {
        say!("Scheduled job {} has no more starts.", harmless(&job.name));
    }
    for time in &job.upcoming {
        say!("{time}");
    }
    Ok(EXIT_SUCCESS)
}

fn next(job: &ScheduledJob) -> String {
    match &job.next_run {
        Some(next) => next.time.to_string(),
        None => terminal::dim("never"),
    }
}

/// The name of the task or plan, or Puppet and its targets.
fn what(job: &ScheduledJob) -> String {
    let name = job.input.get("name").and_then(Value::as_str);
    match (job.kind, name) {
        (ScheduledType::Task, Some(name)) => format!("task {}", harmless(name)),
        (ScheduledType::Plan, Some(name)) => format!("plan {}", harmless(name)),
        (ScheduledType::Task, None) => "task".to_owned(),
        (ScheduledType::Plan, None) => "plan".to_owned(),
        (ScheduledType::Deploy, _) => "puppet".to_owned(),
    }
}

/// The last start and its job, or the reason why there is none.
fn last(kind: ScheduledType, run: &LastRun) -> String {
    let job = match kind {
        ScheduledType::Plan => "plan job",
        ScheduledType::Task | ScheduledType::Deploy => "job",
    };
    match (&run.job.name, &run.job.submission_error) {
        (Some(number), _) => format!("{} as {job} {number}", run.time),
        (None, Some(error)) => {
            let why = terminal::bad(harmless(&error.msg));
            format!("{} no {job}: {why}", run.time)
        }
        (None, None) => run.time.to_string(),
    }
}
