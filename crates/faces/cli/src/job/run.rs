//! `tutti job run`: run Puppet on nodes. Main type: [`Options`].

use api_types::{DeployCommand, JobCreated};

use super::puppet::{PuppetRunFlags, PuppetRunTargets};
use crate::client::ApiClient;
use crate::follow::JobStart;
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::terminal::{escape_control, style_heading};
use crate::{OutputFormat, VerbResult};

/// Arguments of `tutti job run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    place: PuppetRunTargets,
    #[command(flatten)]
    flags: PuppetRunFlags,
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
    let scope = options.place.targets.scope(client).await?;
    let told = options.place.targets.describe_targets(&scope);
    let (environment, enforce_environment) = options.place.environment(client);
    let command = DeployCommand {
        description: options.description.unwrap_or_default(),
        ..options
            .flags
            .command(client, &environment, enforce_environment, scope)
    };
    let run = PuppetRunStart {
        told: &told,
        limits: options.limits,
        no_wait: options.no_wait,
        format: options.shown.format,
    };
    Box::pin(start(command, run, client)).await
}

/// What a command that starts a job of Puppet runs needs besides the job itself.
pub(crate) struct PuppetRunStart<'a> {
    /// The targets in words, safe to print.
    pub(crate) told: &'a str,
    pub(crate) limits: JobLimits,
    /// True if only the number is to be printed.
    pub(crate) no_wait: bool,
    pub(crate) format: OutputFormat,
}

/// Starts the job with these limits, and watches it to its end.
pub(crate) async fn start(
    command: DeployCommand,
    run: PuppetRunStart<'_>,
    client: &ApiClient,
) -> VerbResult {
    let command = DeployCommand {
        concurrency: run.limits.concurrency,
        batch: run.limits.rollout.batch,
        pause_between_batches: run.limits.rollout.pause_between_batches,
        max_failures: run.limits.rollout.max_failures,
        timeout: run.limits.timeout,
        ..command
    };
    let path = ["orchestrator", "v1", "command", "deploy"];
    let created: JobCreated = client.post(&path, &command).await?;
    let mode = match (command.noop, command.no_noop) {
        (true, _) => " (noop)",
        (_, true) => " (not noop)",
        _ => "",
    };
    let environment = match command.environment.as_str() {
        "" => "each node in its own environment".to_owned(),
        name => format!("environment {}", escape_control(name)),
    };
    let puppet_run = style_heading("Puppet run");
    let started = JobStart {
        number: &created.job.name,
        kind: "deployment",
        what: &format!("{puppet_run}{mode} on {}, {environment}", run.told),
        no_wait: run.no_wait,
        format: run.format,
    };
    started.follow(client).await
}
