//! `tutti schedule task`, `tutti schedule run` and `tutti schedule plan`.

use api_types::schedules::{CreateScheduledJob, ScheduledJobReply, ScheduledType};
use api_types::{DeployCommand, Object};
use serde_json::{Value, json};

use super::{SCHEDULED, read};
use crate::client::ApiClient;
use crate::job::puppet::{PuppetRunFlags, PuppetRunTargets};
use crate::job::run_mode::RunModeFlags;
use crate::params::ParameterArguments;
use crate::plan::PlanTargets;
use crate::plan::requests::fetch_plan_detail;
use crate::rollout::JobLimits;
use crate::targets::TargetOptions;
use crate::task::EnvironmentOption;
use crate::task::requests::fetch_task_detail;
use crate::terminal::style_heading;
use crate::{EXIT_SUCCESS, VerbResult};

/// Arguments of `tutti schedule task`.
#[derive(Debug, clap::Args)]
pub struct TaskOptions {
    /// Task, such as package or service::restart
    task: String,
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
    /// Reason, stored with each job
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    when: super::when::ScheduleArguments,
}

/// Arguments of `tutti schedule run`.
#[derive(Debug, clap::Args)]
pub struct RunOptions {
    #[command(flatten)]
    place: PuppetRunTargets,
    #[command(flatten)]
    limits: JobLimits,
    #[command(flatten)]
    mode: RunModeFlags,
    /// Reason, stored with each job
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    flags: PuppetRunFlags,
    #[command(flatten)]
    when: super::when::ScheduleArguments,
}

/// Arguments of `tutti schedule plan`.
#[derive(Debug, clap::Args)]
pub struct PlanOptions {
    /// Plan, such as deploy or deploy::rollout
    plan: String,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    targets: PlanTargets,
    #[command(flatten)]
    environment: EnvironmentOption,
    /// Reason, stored with each plan job
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    when: super::when::ScheduleArguments,
}

pub(super) async fn task(options: TaskOptions, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    let schedule = options.when.schedule(jiff::Timestamp::now())?;
    let scope = options.targets.scope(client).await?;
    let detail = fetch_task_detail(client, &options.task, &environment).await?;
    let given = options.parameters.parse(&detail.metadata)?;
    let parameters = wrap_values(given);
    let mut input = json!({
        "name": options.task,
        "parameters": parameters,
        "scope": scope,
        "noop": options.noop || client.noop,
        "concurrency": options.limits.concurrency,
        "batch": options.limits.rollout.batch,
        "pause_between_batches": options.limits.rollout.pause_between_batches,
        "max_failures": options.limits.rollout.max_failures,
        "timeout": options.limits.timeout,
    });
    // older servers refuse a key that they do not know
    if let Some(splay) = options.limits.rollout.splay {
        input["splay"] = json!(splay);
    }
    let job = CreateScheduledJob {
        kind: ScheduledType::Task,
        input: object(input),
        environment,
        schedule,
        description: options.description.unwrap_or_default(),
        userdata: Object::new(),
    };
    create(&job, client).await
}

pub(super) async fn run(options: RunOptions, client: &ApiClient) -> VerbResult {
    let schedule = options.when.schedule(jiff::Timestamp::now())?;
    let scope = options.place.targets.scope(client).await?;
    let (environment, enforce_environment) = options.place.environment(client);
    let limits = options.limits;
    let command = DeployCommand {
        concurrency: limits.concurrency,
        batch: limits.rollout.batch,
        pause_between_batches: limits.rollout.pause_between_batches,
        max_failures: limits.rollout.max_failures,
        splay: limits.rollout.splay,
        timeout: limits.timeout,
        ..options
            .flags
            .command(client, &environment, enforce_environment, scope)
    };
    let mut input = object(serde_json::to_value(&command).unwrap_or_default());
    // These keys are beside the input.
    for key in ["environment", "description", "userdata"] {
        input.remove(key);
    }
    options.mode.mode().put(&mut input);
    let job = CreateScheduledJob {
        kind: ScheduledType::Deploy,
        input,
        environment,
        schedule,
        description: options.description.unwrap_or_default(),
        userdata: Object::new(),
    };
    create(&job, client).await
}

pub(super) async fn plan(options: PlanOptions, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    let schedule = options.when.schedule(jiff::Timestamp::now())?;
    let detail = fetch_plan_detail(client, &options.plan, &environment).await?;
    let given = options.parameters.parse(&detail.metadata)?;
    let nodes = options.targets.parameter(client, &detail, &given).await?;
    let mut parameters = wrap_values(given);
    parameters.extend(nodes.map(|(name, param)| (name, json!(param))));
    let job = CreateScheduledJob {
        kind: ScheduledType::Plan,
        input: object(json!({"name": options.plan, "parameters": parameters})),
        environment,
        schedule,
        description: options.description.unwrap_or_default(),
        userdata: Object::new(),
    };
    create(&job, client).await
}

async fn create(job: &CreateScheduledJob, client: &ApiClient) -> VerbResult {
    let reply: ScheduledJobReply = client.post(&SCHEDULED, job).await?;
    let number = reply.scheduled_job.name;
    let made = read::fetch(client, &number).await?;
    let next = made.next_run.map_or_else(
        || "it never starts".to_owned(),
        |next| format!("it starts first at {}", next.time),
    );
    say!("Scheduled job {}; {next}", style_heading(&number));
    Ok(EXIT_SUCCESS)
}

/// Parameters as a scheduled job has them.
fn wrap_values(parameters: Object) -> Object {
    let values = parameters.into_iter();
    let wrapped = values.map(|(name, value)| (name, json!({ "value": value })));
    wrapped.collect()
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
