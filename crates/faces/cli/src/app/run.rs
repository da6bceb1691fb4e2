//! `tutti app run`: runs Puppet on the nodes of an application, in their order.

use api_types::DeployCommand;
use dialoguer::Confirm;

use super::plan::print_run_order;
use super::{ApplicationArguments, fetch_run_order};
use crate::client::ApiClient;
use crate::failure::usage;
use crate::job::puppet::PuppetRunFlags;
use crate::job::run::{PuppetRunStart, start};
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, OutputFormat, Result, VerbResult};

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
        let order = fetch_run_order(client, &environment, &scope).await?;
        if options.shown.format == OutputFormat::Human {
            print_run_order(&order, &environment);
            say!("");
        }
        confirm(order.items.len())?;
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

/// Asks at the terminal; without one, `--yes` is needed.
fn confirm(nodes: usize) -> Result<()> {
    if !terminal::is_interactive() || !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return usage("no terminal at which to confirm the run; add --yes");
    }
    let prompt = format!("Run Puppet on {nodes} nodes in this order?");
    let confirm = Confirm::new().with_prompt(prompt).default(false);
    match confirm.interact() {
        Ok(true) => Ok(()),
        Ok(false) => usage("not confirmed; nothing was started"),
        Err(error) => Err(CommandFailure::Usage(format!(
            "not confirmed: {error}; --yes confirms"
        ))),
    }
}
