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
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let limit = options.limit.to_string();
    let query = [
        ("order_by", "name"),
        ("order", "desc"),
        ("limit", limit.as_str()),
    ];
    let list: JobList = client.get(&["orchestrator", "v1", "jobs"], &query).await?;
    if options.shown.format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No jobs yet; `tutti task list` shows what can be run.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(row).collect();
    table::print(
        &["ID", "STATUS", "TASK", "NODES", "TOOK", "STARTED", "OWNER"],
        rows,
    );
    Ok(EXIT_SUCCESS)
}

fn row(job: &Job) -> Vec<String> {
    let states = job.node_states.clone().unwrap_or_default();
    let good = states.get("finished").copied().unwrap_or(0);
    let task = job
        .options
        .get("task")
        .and_then(Value::as_str)
        .unwrap_or(&job.kind);
    vec![
        job.name.clone(),
        terminal::state(&job.state),
        terminal::harmless(task),
        format!("{good}/{}", job.node_count),
        job.duration.map_or_else(String::new, duration),
        job.created_timestamp
            .map_or_else(String::new, |time| time.to_string()),
        terminal::harmless(&job.owner.login),
    ]
}
