//! `tutti job show ID`. Main type: [`Options`].

use api_types::{Job, JobNode};
use serde_json::Value;

use crate::client::Client;
use crate::follow::{all_nodes, follow};
use crate::shown::{Shown, json};
use crate::values::{duration, result_lines};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, table, terminal};

/// Which job.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The job's number
    job: String,
    /// Watch it until it ends
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    if options.follow {
        return follow(client, &options.job, options.shown.format).await;
    }
    let job: Job = client
        .get(&["orchestrator", "v1", "jobs", &options.job], &[])
        .await?;
    let nodes = all_nodes(client, &options.job).await?;
    match options.shown.format {
        Format::Json => json(&serde_json::json!({"job": job, "items": nodes})),
        Format::Human => print(&job, &nodes),
    }
    let failed = matches!(job.state.as_str(), "failed" | "stopped");
    Ok(if failed {
        EXIT_NODES_FAILED
    } else {
        EXIT_SUCCESS
    })
}

fn print(job: &Job, nodes: &[JobNode]) {
    let option = |key: &str| job.options.get(key).cloned().unwrap_or(Value::Null);
    let text = |key: &str| {
        option(key)
            .as_str()
            .map(terminal::harmless)
            .unwrap_or_default()
    };
    let time = |time: Option<api_types::Timestamp>| time.map_or("-".to_owned(), |t| t.to_string());
    let mut fields = vec![
        ("job", job.name.clone()),
        ("status", terminal::state(&job.state)),
        ("task", text("task")),
        (
            "parameters",
            terminal::harmless(&option("params").to_string()),
        ),
        ("environment", terminal::harmless(&job.environment.name)),
        ("owner", terminal::harmless(&job.owner.login)),
        ("created", time(job.created_timestamp)),
        ("finished", time(job.finished_timestamp)),
        ("took", job.duration.map_or("-".to_owned(), duration)),
        ("nodes", job.node_count.to_string()),
    ];
    if !job.description.is_empty() {
        fields.insert(2, ("description", terminal::harmless(&job.description)));
    }
    if option("noop") == Value::Bool(true) {
        fields.insert(4, ("noop", "yes".to_owned()));
    }
    table::fields(&fields);
    for node in nodes {
        print_node(node);
    }
}

fn print_node(node: &JobNode) {
    let took = node
        .duration
        .map_or_else(String::new, |seconds| format!("  {}", duration(seconds)));
    let name = terminal::name(terminal::harmless(&node.name));
    say!(
        "\n{name}  {}{}",
        terminal::state(&node.state),
        terminal::dim(took)
    );
    if let Some(result) = &node.result {
        for line in result_lines(result) {
            say!("    {line}");
        }
    } else if let Some(message) = node.details.get("message").and_then(Value::as_str) {
        say!("    {}", terminal::harmless(message));
    }
    let stderr = node.details.get("stderr").and_then(Value::as_str);
    for line in stderr.unwrap_or_default().lines() {
        say!("    {}", terminal::error_output(terminal::harmless(line)));
    }
}
