//! `tutti app run`: runs Puppet on the nodes of an application, in their order.

use api_types::DeployCommand;

use super::plan::print_run_order;
use super::{ApplicationArguments, fetch_run_order};
use crate::client::ApiClient;
use crate::failure::usage;
use crate::job::puppet::PuppetRunFlags;
use crate::job::run::{PuppetRunStart, start};
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::terminal::{self, escape_control};
use crate::{OutputFormat, VerbResult};

/// Arguments of `tutti app run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    application: ApplicationArguments,
    #[command(flatten)]
    flags: PuppetRunFlags,
    #[command(flatten)]
    limits: JobLimits,
    /// Also run on nodes that are classified into another environment
    #[arg(long)]
    no_enforce_environment: bool,
    /// Reason, stored with the job
    #[arg(long)]
    description: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    yes: bool,
    /// Print the job's number and do not wait
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let environment = options.application.environment(client)?;
    let scope = options.application.scope();
    if !options.yes {
        let is_human = options.shown.format == OutputFormat::Human;
        if !is_human || !terminal::can_confirm() {
            return usage(
                "no terminal at which to show the order and to confirm the run; add --yes",
            );
        }
        let order = fetch_run_order(client, &environment, &scope).await?;
        print_run_order(&order, &environment);
        say!("");
        let mode = if options.flags.noop { " (noop)" } else { "" };
        if !terminal::confirm(&format!("Run Puppet{mode} in this order?"))? {
            return usage("not confirmed; nothing was started");
        }
    }
    let is_enforced = !options.no_enforce_environment;
    let command = DeployCommand {
        description: options.description.unwrap_or_default(),
        ..options
            .flags
            .command(client, &environment, is_enforced, scope)
    };
    let run = PuppetRunStart {
        told: &escape_control(&options.application.application),
        limits: options.limits,
        no_wait: options.no_wait,
        format: options.shown.format,
    };
    Box::pin(start(command, run, client)).await
}
