//! `tutti job run`: run Puppet on nodes. Main types: [`Options`], [`PuppetRunArguments`].

use api_types::schedules::PuppetRunMode;
use api_types::{DeployCommand, JobCreated, Scope};

use super::puppet::{PuppetRunFlags, PuppetRunTargets};
use super::run_mode::RunModeFlags;
use super::{converge, multi_pass};
use crate::app::absent_nodes::warn_of_absent_nodes;
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
    run: PuppetRunArguments,
}

/// Arguments of a job of Puppet runs, besides its nodes.
#[derive(Debug, clap::Args)]
pub(crate) struct PuppetRunArguments {
    #[command(flatten)]
    pub(crate) flags: PuppetRunFlags,
    #[command(flatten)]
    limits: JobLimits,
    /// Run the nodes of applications in groups: a node starts when all nodes of the levels before its own have ended
    #[arg(long, conflicts_with_all = ["batch", "splay"], help_heading = "Rollout")]
    barrier: bool,
    /// Keep nodes of applications on which the run does not succeed from running Puppet by themselves afterwards
    #[arg(long, conflicts_with_all = ["splay", "multi_pass"], help_heading = "Rollout")]
    quarantine: bool,
    #[command(flatten)]
    pub(crate) mode: RunModeFlags,
    /// Reason, stored with the job
    #[arg(long)]
    description: Option<String>,
    /// Print the job's number and do not wait
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    pub(crate) shown: OutputOptions,
}

/// The nodes of a job of Puppet runs.
pub(crate) struct PuppetRunScope<'a> {
    /// Empty: each node runs in its own environment.
    pub(crate) environment: &'a str,
    pub(crate) is_enforced: bool,
    pub(crate) scope: Scope,
    /// The targets in words, safe to print.
    pub(crate) told: &'a str,
}

pub(crate) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let scope = options.place.targets.scope(client).await?;
    let told = options.place.targets.describe_targets(&scope);
    let (environment, is_enforced) = options.place.environment(client);
    if !environment.is_empty() {
        let multi_pass = options.run.mode.multi_pass;
        warn_of_absent_nodes(client, &environment, &scope, multi_pass).await;
    }
    let nodes = PuppetRunScope {
        environment: &environment,
        is_enforced,
        scope,
        told: &told,
    };
    Box::pin(options.run.start(nodes, client)).await
}

/// How a started job is watched.
pub(super) struct PuppetRunWatch<'a> {
    /// The targets in words, safe to print.
    pub(super) told: &'a str,
    /// True if only the number is to be printed.
    pub(super) no_wait: bool,
    pub(super) format: OutputFormat,
}

// === impl PuppetRunArguments ===

impl PuppetRunArguments {
    /// Starts the job, the waves or the passes, and watches it to its end.
    pub(crate) async fn start(self, nodes: PuppetRunScope<'_>, client: &ApiClient) -> VerbResult {
        let command = self
            .flags
            .command(client, nodes.environment, nodes.is_enforced, nodes.scope);
        let command = DeployCommand {
            description: self.description.unwrap_or_default(),
            concurrency: self.limits.concurrency,
            batch: self.limits.rollout.batch,
            pause_between_batches: self.limits.rollout.pause_between_batches,
            max_failures: self.limits.rollout.max_failures,
            splay: self.limits.rollout.splay,
            barrier: self.barrier,
            quarantine: self.quarantine,
            timeout: self.limits.timeout,
            ..command
        };
        let watch = PuppetRunWatch {
            told: nodes.told,
            no_wait: self.no_wait,
            format: self.shown.format,
        };
        match self.mode.mode() {
            PuppetRunMode::UntilConverged(limits) => {
                Box::pin(converge::start(command, limits, watch, client)).await
            }
            PuppetRunMode::MultiPass => Box::pin(multi_pass::start(command, watch, client)).await,
            PuppetRunMode::Once => Box::pin(start(command, watch, client)).await,
        }
    }
}

async fn start(
    command: DeployCommand,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
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
        what: &format!("{puppet_run}{mode} on {}, {environment}", watch.told),
        no_wait: watch.no_wait,
        format: watch.format,
    };
    started.follow(client).await
}
