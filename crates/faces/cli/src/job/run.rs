//! `tutti job run`: run Puppet on nodes. Main type: [`Options`].

use api_types::{DeployCommand, JobCreated};

use super::puppet::{PuppetRunFlags, PuppetRunTargets};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::follow::JobStart;
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::terminal::{escape_control, style_heading};

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
        concurrency: options.limits.concurrency,
        batch: options.limits.rollout.batch,
        pause_between_batches: options.limits.rollout.pause_between_batches,
        max_failures: options.limits.rollout.max_failures,
        timeout: options.limits.timeout,
        description: options.description.unwrap_or_default(),
        ..options
            .flags
            .command(client, &environment, enforce_environment, scope)
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
    let run = style_heading("Puppet run");
    let started = JobStart {
        number: &created.job.name,
        kind: "deployment",
        what: &format!("{run}{mode} on {told}, {environment}"),
        no_wait: options.no_wait,
        format: options.shown.format,
    };
    started.follow(client).await
}
