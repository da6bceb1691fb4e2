//! `tutti job show ID`. Main type: [`Options`].

use api_types::{Job, JobNode};
use serde_json::{Value, json};

use super::list;
use super::puppet::describe_environment;
use super::requests::{fetch_job, nodes_in};
use crate::client::ApiClient;
use crate::defaults::JOBS_SHOWN;
use crate::follow::code::CodeVersionCounts;
use crate::follow::puppet::NodeRun;
use crate::follow::{follow, is_puppet};
use crate::present::{Fields, OutputOptions};
use crate::terminal::{error_output, escape_control, escaped_name, style_dim, style_state};
use crate::values::{duration, or_empty, plain, result_lines};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult, rollout};

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

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let Some(number) = &options.job else {
        let all = list::JobFilter::default();
        return list::show(client, JOBS_SHOWN, &all, options.shown.format).await;
    };
    if options.follow {
        return follow(client, number, options.shown.format).await;
    }
    let job = fetch_job(client, number).await?;
    let nodes = nodes(client, number, &options.state).await?;
    let document = json!({"job": job, "items": nodes});
    let format = options.shown.format;
    format.present(&document, |_| print(&job, &nodes))?;
    Ok(match job.state.as_str() {
        "failed" | "stopped" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

/// The nodes of the job, all or those in some states.
async fn nodes(client: &ApiClient, number: &str, states: &[String]) -> Result<Vec<JobNode>> {
    if states.is_empty() {
        return nodes_in(client, number, None).await;
    }
    let mut nodes = Vec::new();
    for state in states {
        nodes.extend(nodes_in(client, number, Some(state)).await?);
    }
    Ok(nodes)
}

fn print(job: &Job, nodes: &[JobNode]) {
    let option = |key: &str| job.options.get(key);
    let puppet = is_puppet(job);
    let description = Some(job.description.as_str()).filter(|text| !text.is_empty());
    let mut fields = Fields::default()
        .text("job", &job.name)
        .value("status", style_state(&job.state))
        .text("type", &job.kind)
        .optional_text("description", description);
    if puppet {
        let flags = Some(flags(job).join(" ")).filter(|flags| !flags.is_empty());
        fields = fields
            .value("environment", environment(job))
            .optional("flags", flags);
    } else {
        let task = option("task").and_then(Value::as_str);
        fields = match list::action(job) {
            Some(action) => fields.value("action", action),
            None => fields.text("task", task.unwrap_or_default()),
        };
        let params = option("params").unwrap_or(&Value::Null).to_string();
        fields = fields
            .text("parameters", &params)
            .text("environment", &job.environment.name);
    }
    let noop = option("noop") == Some(&Value::Bool(true));
    fields = fields
        .optional("noop", noop.then_some("yes"))
        .optional("rollout", rollout::describe_job_rollout(job))
        .optional("batch", rollout::describe_progress(job))
        .value("target", list::target(job))
        .text("owner", &job.owner.login)
        .value("created", or_empty(job.created_timestamp))
        .value("finished", or_empty(job.finished_timestamp))
        .value("took", or_empty(job.duration.map(duration)))
        .value("nodes", job.node_count);
    if puppet {
        let names = std::iter::once("code").chain(std::iter::repeat(""));
        for (name, line) in names.zip(describe_code_used(nodes)) {
            fields = fields.value(name, line);
        }
    }
    fields.print();
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
    describe_environment(&job.environment.name, enforced)
}

/// The flags of Puppet that were set.
fn flags(job: &Job) -> Vec<String> {
    let flags = FLAGS.iter().filter_map(|key| {
        let name = key.replace('_', "-");
        match job.options.get(*key)? {
            Value::Bool(true) => Some(format!("--{name}")),
            Value::Null | Value::Bool(false) => None,
            value => Some(format!("--{name} {}", escape_control(&plain(value)))),
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
    let name = escaped_name(&node.name);
    let batch = or_empty(node.batch.map(|batch| format!("  batch {batch}")));
    let state = style_state(&node.state);
    say!("\n{name}  {state}{}", style_dim(batch + &took));
    let message = node.details.get("message").and_then(Value::as_str);
    if puppet {
        if let Some(message) = message {
            say!("    {}", escape_control(message));
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
        say!("    {}", escape_control(message));
    }
    let stderr = node.details.get("stderr").and_then(Value::as_str);
    for line in stderr.unwrap_or_default().lines() {
        say!("    {}", error_output(escape_control(line)));
    }
}
