//! `tutti job list`. Main types: [`Options`], [`JobFilter`].

use api_types::{Job, JobList};
use serde_json::Value;

use crate::client::ApiClient;
use crate::defaults::JOBS_SHOWN;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, style_dim, style_state};
use crate::values::{duration, first_line, or_empty, plain};
use crate::{EXIT_SUCCESS, OutputFormat, Result, VerbResult, plan};

/// Arguments of `tutti job list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of jobs, the newest first
    #[arg(long, default_value_t = JOBS_SHOWN)]
    limit: u64,
    #[command(flatten)]
    filter: JobFilter,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Filter of a job list; all given conditions must hold.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct JobFilter {
    /// Only jobs of this type: task, deploy (a Puppet run), command, script, upload or plan_task
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only jobs with this node, by its full certname
    #[arg(long, value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// Only jobs of this user, by login
    #[arg(long, value_name = "LOGIN")]
    pub(crate) owner: Option<String>,
    /// Only jobs in this state: running, finished, failed, stopped, …
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    show(client, options.limit, &options.filter, options.shown.format).await
}

/// The newest jobs that match.
pub(crate) async fn fetch_newest(
    client: &ApiClient,
    limit: u64,
    filter: &JobFilter,
) -> Result<JobList> {
    let limit = limit.to_string();
    let mut query = vec![
        ("order_by", "name"),
        ("order", "desc"),
        ("limit", limit.as_str()),
    ];
    let given = filter.conditions().into_iter();
    query.extend(given.filter_map(|(key, value)| Some((key, value?))));
    client.get(&["orchestrator", "v1", "jobs"], &query).await
}

/// Prints the newest jobs that match.
pub(super) async fn show(
    client: &ApiClient,
    limit: u64,
    filter: &JobFilter,
    format: OutputFormat,
) -> VerbResult {
    let list = fetch_newest(client, limit, filter).await?;
    let empty = match filter.is_empty() {
        true => "No jobs yet; `tutti task list` shows what can be run.",
        false => "No job fits; `tutti job list` without filters lists all.",
    };
    format.list(
        &list,
        &list.items,
        empty,
        &[
            ("ID", &|job| escape_control(&job.name)),
            ("STATUS", &|job| style_state(&job.state)),
            ("TYPE", &|job| escape_control(&job.kind)),
            ("WHAT", &|job| {
                let mark = if is_in_any_environment(job) { "*" } else { "" };
                format!("{}{mark}", describe_work(job))
            }),
            ("NODES", &|job| {
                let states = job.node_states.as_ref();
                let good = states.and_then(|states| states.get("finished"));
                format!("{}/{}", good.copied().unwrap_or(0), job.node_count)
            }),
            ("TOOK", &|job| or_empty(job.duration.map(duration))),
            ("STARTED", &|job| or_empty(job.created_timestamp)),
            ("OWNER", &|job| escape_control(&job.owner.login)),
            ("TARGET", &target),
        ],
    )?;
    if format == OutputFormat::Json || list.items.is_empty() {
        return Ok(EXIT_SUCCESS);
    }
    if list.items.iter().any(is_in_any_environment) {
        say!("{}", style_dim("* the environment was not enforced"));
    }
    if filter.is_empty() {
        plan::print_questions(client).await;
    }
    Ok(EXIT_SUCCESS)
}

// === impl JobFilter ===

impl JobFilter {
    /// The conditions by their names in the API.
    fn conditions(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("type", self.kind.as_deref()),
            ("node", self.node.as_deref()),
            ("owner", self.owner.as_deref()),
            ("state", self.state.as_deref()),
        ]
    }

    fn is_empty(&self) -> bool {
        self.conditions().iter().all(|(_, value)| value.is_none())
    }
}

/// True for a Puppet run on nodes of any environment.
fn is_in_any_environment(job: &Job) -> bool {
    job.options.get("enforce_environment") == Some(&Value::Bool(false))
}

/// The task, the command, or the environment of a Puppet run.
pub(crate) fn describe_work(job: &Job) -> String {
    if let Some(action) = action(job) {
        return action;
    }
    let task = job.options.get("task").and_then(Value::as_str);
    match (task, job.environment.name.as_str()) {
        (Some(task), _) => escape_control(task),
        (None, "") => "puppet".to_owned(),
        (None, environment) => format!("puppet in {}", escape_control(environment)),
    }
}

/// A command, script or upload, described by its parameters.
pub(super) fn action(job: &Job) -> Option<String> {
    let kind = job.kind.strip_prefix("plan_").unwrap_or(&job.kind);
    let key = match kind {
        "command" => "command",
        "script" => "script",
        "upload" => "destination",
        "download" => "source",
        _ => return None,
    };
    let text = job.options.get("params")?.get(key)?.as_str()?;
    Some(format!("{kind} {}", escape_control(first_line(text))))
}

/// The requested targets: names, a query, or a group.
pub(super) fn target(job: &Job) -> String {
    let scope = job.options.get("scope").unwrap_or(&Value::Null);
    if let Some(nodes) = scope["nodes"].as_array() {
        let first = nodes.first().and_then(Value::as_str).unwrap_or_default();
        return match nodes.len() {
            0 | 1 => escape_control(first),
            more => format!("{} and {} more", escape_control(first), more - 1),
        };
    }
    let mut keys = ["query", "node_group", "application"].into_iter();
    match keys.find(|key| !scope[*key].is_null()) {
        Some(key) => {
            let text = plain(&scope[key]);
            escape_control(&format!("{} {text}", key.replace('_', " ")))
        }
        None => "the whole environment".to_owned(),
    }
}
