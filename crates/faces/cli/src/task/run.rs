//! `tutti task run TASK -n NODES key=value …`. Main type: [`Options`].

use api_types::{JobCreated, Object, TaskCommand};
use serde_json::Value;

use super::environment::EnvironmentOption;
use super::requests::fetch_task_detail;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::follow::JobStart;
use crate::job::requests::fetch_job;
use crate::params::ParameterArguments;
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::targets::TargetOptions;
use crate::terminal::{escape_control, style_heading, style_warning};
use crate::{Result, VerbResult};

/// Number of left-out nodes that are named.
const NODES_NAMED: usize = 10;

/// Arguments of `tutti task run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Task, such as package or service::restart; may be omitted with --failed-of or
    /// --unreached-of: the job's own task then runs again with its parameters
    #[arg(required_unless_present_any = ["failed_of", "unreached_of"])]
    task: Option<String>,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    targets: TargetOptions,
    #[command(flatten)]
    environment: EnvironmentOption,
    /// Run the task in noop mode; only for tasks that support it
    #[arg(long)]
    noop: bool,
    #[command(flatten)]
    limits: JobLimits,
    /// Reason, stored with the job
    #[arg(long)]
    description: Option<String>,
    /// Print the job's number and do not wait
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let scope = options.targets.scope(client).await?;
    let told = options.targets.describe_targets(&scope);
    let TaskToRun {
        environment,
        task,
        params,
        noop,
    } = task_to_run(&options, client).await?;
    let command = TaskCommand {
        environment,
        task: task.clone(),
        params,
        scope,
        targets: Vec::new(),
        noop,
        description: options.description.unwrap_or_default(),
        userdata: Object::new(),
        timeout: options.limits.timeout,
        concurrency: options.limits.concurrency,
        batch: options.limits.rollout.batch,
        pause_between_batches: options.limits.rollout.pause_between_batches,
        max_failures: options.limits.rollout.max_failures,
        splay: options.limits.rollout.splay,
        plan_job: None,
    };
    let created: JobCreated = client
        .post(&["orchestrator", "v1", "command", "task"], &command)
        .await?;
    print_left_out_nodes(&created);
    let mode = if noop { " (noop)" } else { "" };
    let what = format!("{}{mode} on {told}", style_heading(&task));
    let started = JobStart {
        number: &created.job.name,
        kind: "job",
        what: &what,
        no_wait: options.no_wait,
        format: options.shown.format,
    };
    started.follow(client).await
}

/// A task with its parameters and options.
struct TaskToRun {
    environment: String,
    task: String,
    params: Object,
    noop: bool,
}

/// The task that was typed, or that of the job named by --failed-of or --unreached-of.
async fn task_to_run(options: &Options, client: &ApiClient) -> Result<TaskToRun> {
    match (&options.task, options.targets.earlier_job()) {
        (Some(pair), Some(_)) if pair.contains('=') => usage(format!(
            "`{pair}` is in the place of the task's name; name the task before its parameters"
        )),
        (Some(task), _) => {
            let environment = options.environment.effective_environment(client);
            let detail = fetch_task_detail(client, task, &environment).await?;
            let params = options.parameters.parse(&detail.metadata)?;
            let (task, noop) = (task.clone(), options.noop || client.noop);
            Ok(TaskToRun {
                environment,
                task,
                params,
                noop,
            })
        }
        (None, job) => rerun_task(options, client, job.unwrap_or_default()).await,
    }
}

/// The task of an earlier job. Its sensitive parameters are not stored.
async fn rerun_task(options: &Options, client: &ApiClient, number: &str) -> Result<TaskToRun> {
    let job = fetch_job(client, number).await?;
    let refused = |why: &str| {
        let number = escape_control(&job.name);
        usage(format!("job {number} {why}"))
    };
    let task = job.options.get("task").and_then(Value::as_str);
    let Some(task) = task.filter(|_| job.command == "task") else {
        return refused("runs no task; name the task to run on its nodes");
    };
    let secret = job.options.get("sensitive").and_then(Value::as_array);
    if secret.is_some_and(|names| !names.is_empty()) {
        return refused(
            "has secret parameters, which are not kept; name the task and give all parameters",
        );
    }
    if options.parameters.params.is_some() {
        return refused("has its own parameters; name the task to give others");
    }
    let params = job.options.get("params").and_then(Value::as_object);
    Ok(TaskToRun {
        environment: job.environment.name.clone(),
        task: task.to_owned(),
        params: params.cloned().unwrap_or_default(),
        noop: options.noop || client.noop || job.options.get("noop") == Some(&Value::Bool(true)),
    })
}

/// Prints the nodes that are not part of the job because the user may not run the task on them.
pub(crate) fn print_left_out_nodes(created: &JobCreated) {
    let count = created.not_permitted.len();
    if count == 0 {
        return;
    }
    let names = created.not_permitted.iter().take(NODES_NAMED);
    let names: Vec<_> = names.map(|name| escape_control(name)).collect();
    let more = if count > NODES_NAMED { ", …" } else { "" };
    let text = format!(
        "you may not run this task on {count} of the nodes, which were left out: {}{more}",
        names.join(", ")
    );
    anstream::eprintln!("{}", style_warning(text));
}
