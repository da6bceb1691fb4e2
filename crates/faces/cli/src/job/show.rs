//! `tutti job show ID`. Main type: [`ConfigFileKeys`].

use api_types::{Job, JobNode};
use serde_json::Value;

use super::list;
use crate::client::ApiClient;
use crate::defaults::JOBS_SHOWN;
use crate::follow::code::CodeVersionCounts;
use crate::follow::puppet::NodeRun;
use crate::follow::{all_nodes, follow, is_puppet, nodes_in};
use crate::output::{OutputOptions, json};
use crate::values::{duration, result_lines};
use crate::{
    CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, rollout, table, terminal,
};

/// Arguments of `tutti job show`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of the job; the newest jobs are listed when absent
    job: Option<String>,
    /// Watch it until it ends
    #[arg(long, short = 'f', requires = "job")]
    follow: bool,
    /// Only nodes in these states: finished, failed, errored, skipped, running, …; separated by
    /// commas
    #[arg(
        long,
        value_name = "STATES",
        value_delimiter = ',',
        requires = "job",
        conflicts_with = "follow"
    )]
    state: Vec<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let Some(number) = &options.job else {
        let all = list::JobFilter::default();
        return list::show(client, JOBS_SHOWN, &all, options.shown.format).await;
    };
    if options.follow {
        return follow(client, number, options.shown.format).await;
    }
    let job: Job = client
        .get(&["orchestrator", "v1", "jobs", number], &[])
        .await?;
    let nodes = nodes(client, number, &options.state).await?;
    match options.shown.format {
        OutputFormat::Json => json(&serde_json::json!({"job": job, "items": nodes})),
        OutputFormat::Human => print(&job, &nodes),
    }
    let failed = matches!(job.state.as_str(), "failed" | "stopped");
    Ok(if failed {
        EXIT_NODES_FAILED
    } else {
        EXIT_SUCCESS
    })
}

/// The nodes of the job, all or those in some states.
async fn nodes(
    client: &ApiClient,
    number: &str,
    states: &[String],
) -> Result<Vec<JobNode>, CommandFailure> {
    if states.is_empty() {
        return all_nodes(client, number).await;
    }
    let mut nodes = Vec::new();
    for state in states {
        nodes.extend(nodes_in(client, number, Some(state)).await?);
    }
    Ok(nodes)
}

fn print(job: &Job, nodes: &[JobNode]) {
    let option = |key: &str| job.options.get(key).cloned().unwrap_or(Value::Null);
    let text = |key: &str| {
        option(key)
            .as_str()
            .map(terminal::escape_control)
            .unwrap_or_default()
    };
    let time = |time: Option<api_types::Timestamp>| time.map_or("-".to_owned(), |t| t.to_string());
    let mut fields = vec![
        ("job", terminal::escape_control(&job.name)),
        ("status", terminal::style_state(&job.state)),
        ("type", terminal::escape_control(&job.kind)),
    ];
    if !job.description.is_empty() {
        fields.push(("description", terminal::escape_control(&job.description)));
    }
    let puppet = is_puppet(job);
    if puppet {
        fields.push(("environment", environment(job)));
        let flags = flags(job);
        fields.extend((!flags.is_empty()).then(|| ("flags", flags.join(" "))));
    } else {
        let params = terminal::escape_control(&option("params").to_string());
        match list::action(job) {
            Some(action) => fields.push(("action", action)),
            None => fields.push(("task", text("task"))),
        }
        fields.push(("parameters", params));
        fields.push((
            "environment",
            terminal::escape_control(&job.environment.name),
        ));
    }
    if option("noop") == Value::Bool(true) {
        fields.push(("noop", "yes".to_owned()));
    }
    fields.extend(rollout::describe_job_rollout(job).map(|words| ("rollout", words)));
    fields.extend(rollout::describe_progress(job).map(|words| ("batch", words)));
    fields.extend([
        ("target", list::target(job)),
        ("owner", terminal::escape_control(&job.owner.login)),
        ("created", time(job.created_timestamp)),
        ("finished", time(job.finished_timestamp)),
        ("took", job.duration.map_or("-".to_owned(), duration)),
        ("nodes", job.node_count.to_string()),
    ]);
    let code = if puppet {
        describe_code_used(nodes)
    } else {
        Vec::new()
    };
    let names = std::iter::once("code").chain(std::iter::repeat(""));
    fields.extend(names.zip(code));
    table::fields(&fields);
    for node in nodes {
        print_node(node, puppet);
    }
}

/// The code versions of the runs, as lines of one field.
fn describe_code_used(nodes: &[JobNode]) -> Vec<String> {
    let mut used = CodeVersionCounts::default();
    let results = nodes.iter().filter_map(|node| node.result.as_ref());
    results.for_each(|result| used.count_run(result));
    used.lines()
}

fn environment(job: &Job) -> String {
    let enforced = job.options.get("enforce_environment") != Some(&Value::Bool(false));
    match job.environment.name.as_str() {
        "" => "each node's own".to_owned(),
        name if enforced => terminal::escape_control(name),
        name => format!("{} (not enforced)", terminal::escape_control(name)),
    }
}

/// The flags of Puppet that were set.
fn flags(job: &Job) -> Vec<String> {
    let flags = FLAGS.iter().filter_map(|key| {
        let name = key.replace('_', "-");
        match job.options.get(*key)? {
            Value::Bool(true) => Some(format!("--{name}")),
            Value::Null | Value::Bool(false) => None,
            Value::String(text) => Some(format!("--{name} {}", terminal::escape_control(text))),
            other => Some(format!(
                "--{name} {}",
                terminal::escape_control(&other.to_string())
            )),
        }
    });
    flags.collect()
}

/// Options of a Puppet run that are shown if they are set.
const FLAGS: [&str; 13] = [
    "no_noop",
    "debug",
    "trace",
    "evaltrace",
    "use_cached_catalog",
    "usecacheonfailure",
    "tags",
    "skip_tags",
    "ordering",
    "filetimeout",
    "concurrency",
    "timeout",
    "http_read_timeout",
];

fn print_node(node: &JobNode, puppet: bool) {
    let took = match (node.duration, node.start_timestamp) {
        (Some(seconds), _) => format!("  {}", duration(seconds)),
        (None, Some(start)) => {
            let since = jiff::Timestamp::now().duration_since(start.0);
            format!("  for {}", duration(since.as_secs_f64()))
        }
        (None, None) => String::new(),
    };
    let name = terminal::style_name(terminal::escape_control(&node.name));
    let batch = node
        .batch
        .map_or_else(String::new, |batch| format!("  batch {batch}"));
    say!(
        "\n{name}  {}{}",
        terminal::style_state(&node.state),
        terminal::style_dim(batch + &took)
    );
    let message = node.details.get("message").and_then(Value::as_str);
    if puppet {
        if let Some(message) = message {
            say!("    {}", terminal::escape_control(message));
        }
        for line in NodeRun::from_node(node).details() {
            say!("    {line}");
        }
        return;
    }
    if let Some(result) = &node.result {
        for line in result_lines(result) {
            say!("    {line}");
        }
    } else if let Some(message) = message {
        say!("    {}", terminal::escape_control(message));
    }
    let stderr = node.details.get("stderr").and_then(Value::as_str);
    for line in stderr.unwrap_or_default().lines() {
        say!(
            "    {}",
            terminal::error_output(terminal::escape_control(line))
        );
    }
}
