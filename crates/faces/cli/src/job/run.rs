//! `tutti job run`: run Puppet on nodes. Main type: [`ConfigFileKeys`].

use api_types::{DeployCommand, JobCreated};

use super::puppet::{PuppetRunFlags, PuppetRunTargets};
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::rollout::RolloutArguments;
use crate::{EXIT_SUCCESS, OutputFormat, ProgramName, VerbResult, follow, terminal};

/// Arguments of `tutti job run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    place: PuppetRunTargets,
    #[command(flatten)]
    flags: PuppetRunFlags,
    /// Number of nodes at once [default: the server's limit]
    #[arg(long, value_name = "N", value_parser = crate::duration::parse_node_count)]
    concurrency: Option<u32>,
    #[command(flatten)]
    rollout: RolloutArguments,
    /// Time limit for one node: seconds, or 15m, 4h, 1d
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse_seconds)]
    timeout: Option<u64>,
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
        concurrency: options.concurrency,
        batch: options.rollout.batch,
        pause_between_batches: options.rollout.pause_between_batches,
        max_failures: options.rollout.max_failures,
        timeout: options.timeout,
        description: options.description.unwrap_or_default(),
        ..options
            .flags
            .command(client, &environment, enforce_environment, scope)
    };
    let path = ["orchestrator", "v1", "command", "deploy"];
    let created: JobCreated = client.post(&path, &command).await?;
    let number = created.job.name;
    if options.no_wait {
        say!("{number}");
        return Ok(EXIT_SUCCESS);
    }
    let format = options.shown.format;
    if format == OutputFormat::Human && client.name == ProgramName::Puppet {
        say!("Starting deployment ...");
    } else if format == OutputFormat::Human {
        announce(&command, &told, &number);
    }
    follow::follow(client, &number, format).await
}

fn announce(command: &DeployCommand, told: &str, number: &str) {
    let mode = match (command.noop, command.no_noop) {
        (true, _) => " (noop)",
        (_, true) => " (not noop)",
        _ => "",
    };
    let environment = match command.environment.as_str() {
        "" => "each node in its own environment".to_owned(),
        name => format!("environment {}", terminal::escape_control(name)),
    };
    say!(
        "Job {}: {}{mode} on {told}, {environment}\n",
        terminal::style_heading(number),
        terminal::style_heading("Puppet run"),
    );
}
