//! `tutti task run TASK -n NODES key=value …`. Main type: [`Options`].

use api_types::{JobCreated, Scope, TaskCommand, TaskDetail};
use serde_json::Value;

use super::{Environment, segments};
use crate::client::Client;
use crate::shown::Shown;
use crate::targets::Targets;
use crate::{EXIT_SUCCESS, Failure, Format, follow, params, terminal};

/// What to run where.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The task, such as package or service::restart
    task: String,
    /// Parameters: what is JSON is taken as JSON, the rest as text
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters as a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    environment: Environment,
    /// Let the task say what it would do; only for tasks that can
    #[arg(long)]
    noop: bool,
    /// How many nodes at once [default: the server's limit]
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Seconds that one node may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Why; kept with the job
    #[arg(long)]
    description: Option<String>,
    /// Print the job's number and do not wait
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: Options, client: &Client) -> Result<u8, Failure> {
    let nodes = options.targets.resolve(client).await?;
    if nodes.is_empty() {
        return Err(Failure::Usage(
            "no node is connected; see `tutti node list`".to_owned(),
        ));
    }
    let environment = options.environment.environment;
    let detail = task(client, &options.task, &environment).await?;
    let params = params::parse(&options.pairs, options.params.as_deref(), |key| {
        is_text(&detail, key)
    })?;
    let command = TaskCommand {
        environment,
        task: options.task.clone(),
        params,
        scope: Scope::nodes(&nodes),
        targets: Vec::new(),
        noop: options.noop,
        description: options.description.unwrap_or_default(),
        userdata: api_types::Object::new(),
        timeout: options.timeout,
        concurrency: options.concurrency,
    };
    let created: JobCreated = client
        .post(&["orchestrator", "v1", "command", "task"], &command)
        .await?;
    let number = created.job.name;
    if options.no_wait {
        say!("{number}");
        return Ok(EXIT_SUCCESS);
    }
    let format = options.shown.format;
    if format == Format::Human {
        announce(&options.task, nodes.len(), &number, options.noop);
    }
    follow::follow(client, &number, format).await
}

fn announce(task: &str, nodes: usize, number: &str, noop: bool) {
    let (task, mode) = (terminal::heading(task), if noop { " (noop)" } else { "" });
    let plural = if nodes == 1 { "node" } else { "nodes" };
    say!(
        "Job {}: {task}{mode} on {nodes} {plural}\n",
        terminal::heading(number)
    );
}

async fn task(client: &Client, task: &str, environment: &str) -> Result<TaskDetail, Failure> {
    let (module, name) = segments(task);
    let path = ["orchestrator", "v1", "tasks", module, name];
    client.get(&path, &[("environment", environment)]).await
}

/// Whether the task wants text here, so that `version=1.10` is not read as a number.
fn is_text(detail: &TaskDetail, key: &str) -> bool {
    let declared = detail
        .metadata
        .get("parameters")
        .and_then(|parameters| parameters.get(key));
    let declared = declared
        .and_then(|parameter| parameter.get("type"))
        .and_then(Value::as_str);
    declared.is_some_and(|declared| {
        let inner = declared
            .trim()
            .trim_start_matches("Optional[")
            .trim_start_matches("Sensitive[");
        ["String", "Enum", "Pattern"]
            .iter()
            .any(|text| inner.starts_with(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn declared_text_is_known() {
        let detail: TaskDetail = serde_json::from_value(json!({
            "id": "", "name": "t", "environment": {"name": "production"},
            "metadata": {"parameters": {
                "a": {"type": "Optional[String[1]]"}, "b": {"type": "Integer"}, "c": {}
            }}
        }))
        .unwrap();
        assert!(is_text(&detail, "a"));
        assert!(!is_text(&detail, "b") && !is_text(&detail, "c") && !is_text(&detail, "d"));
    }
}
