//! `tutti job list`. Main type: [`Options`].

use api_types::{Job, JobList};
use serde_json::Value;

use crate::client::Client;
use crate::defaults::JOBS_SHOWN;
use crate::shown::{Shown, json};
use crate::values::duration;
use crate::{EXIT_SUCCESS, Failure, Format, table, terminal};

/// How many.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How many jobs, the newest first
    #[arg(long, default_value_t = JOBS_SHOWN)]
    limit: u64,
    /// Only jobs of this type: task, deploy (a Puppet run) or plan_task
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let kind = options.kind.as_deref();
    show(client, options.limit, kind, options.shown.format).await
}

/// Lists the newest jobs.
pub(super) async fn show(
    client: &Client,
    limit: u64,
    kind: Option<&str>,
    format: Format,
) -> Result<u8, Failure> {
    let limit = limit.to_string();
    let mut query = vec![
        ("order_by", "name"),
        ("order", "desc"),
        ("limit", limit.as_str()),
    ];
    query.extend(kind.map(|kind| ("type", kind)));
    let list: JobList = client.get(&["orchestrator", "v1", "jobs"], &query).await?;
    if format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No jobs yet; `tutti task list` shows what can be run.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(row).collect();
    let heading = [
        "ID", "STATUS", "TYPE", "WHAT", "NODES", "TOOK", "STARTED", "OWNER", "TARGET",
    ];
    table::print(&heading, rows);
    if list.items.iter().any(runs_anywhere) {
        say!("{}", terminal::dim("* the environment was not enforced"));
    }
    Ok(EXIT_SUCCESS)
}

fn row(job: &Job) -> Vec<String> {
    let states = job.node_states.clone().unwrap_or_default();
    let good = states.get("finished").copied().unwrap_or(0);
    let mark = if runs_anywhere(job) { "*" } else { "" };
    vec![
        terminal::harmless(&job.name),
        terminal::state(&job.state),
        terminal::harmless(&job.kind),
        format!("{}{mark}", what(job)),
        format!("{good}/{}", job.node_count),
        job.duration.map_or_else(String::new, duration),
        job.created_timestamp
            .map_or_else(String::new, |time| time.to_string()),
        terminal::harmless(&job.owner.login),
        target(job),
    ]
}

/// A Puppet run that takes nodes of every environment.
fn runs_anywhere(job: &Job) -> bool {
    job.options.get("enforce_environment") == Some(&Value::Bool(false))
}

/// The task, or the environment that Puppet runs in.
pub(super) fn what(job: &Job) -> String {
    let task = job.options.get("task").and_then(Value::as_str);
    match (task, job.environment.name.as_str()) {
        (Some(task), _) => terminal::harmless(task),
        (None, "") => "puppet".to_owned(),
        (None, environment) => format!("puppet in {}", terminal::harmless(environment)),
    }
}

/// What was asked for: names, a query, a group.
pub(super) fn target(job: &Job) -> String {
    let scope = job.options.get("scope").unwrap_or(&Value::Null);
    if let Some(nodes) = scope["nodes"].as_array() {
        let first = nodes.first().and_then(Value::as_str).unwrap_or_default();
        return match nodes.len() {
            0 | 1 => terminal::harmless(first),
            more => format!("{} and {} more", terminal::harmless(first), more - 1),
        };
    }
    let told = ["query", "node_group", "application"]
        .iter()
        .find_map(|key| {
            let text = match &scope[key] {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(format!("{} {text}", key.replace('_', " ")))
        });
    terminal::harmless(&told.unwrap_or_else(|| "the whole environment".to_owned()))
}
