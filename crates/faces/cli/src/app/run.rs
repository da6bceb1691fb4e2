//! `tutti app run`: runs Puppet on the nodes of an application, in their order.

use super::ApplicationArguments;
use super::absent_nodes::warn_of_absent_nodes;
use super::plan::print_run_order;
use super::requests::fetch_run_order;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::job::run::{PuppetRunArguments, PuppetRunScope};
use crate::terminal::{self, escape_control};
use crate::{OutputFormat, VerbResult};

/// Arguments of `tutti app run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    application: ApplicationArguments,
    #[command(flatten)]
    run: PuppetRunArguments,
    /// Also run on nodes that are classified into another environment
    #[arg(long)]
    no_enforce_environment: bool,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    yes: bool,
}

pub(crate) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let environment = options.application.environment(client)?;
    let scope = options.application.scope();
    let multi_pass = options.run.mode.multi_pass;
    if options.yes {
        warn_of_absent_nodes(client, &environment, &scope, multi_pass).await;
    } else {
        let is_human = options.run.shown.format == OutputFormat::Human;
        if !is_human || !terminal::can_confirm() {
            return usage(
                "no terminal at which to show the order and to confirm the run; add --yes",
            );
        }
        let order = fetch_run_order(client, &environment, &scope, multi_pass).await?;
        print_run_order(&order, &environment);
        say!("");
        let mode = if options.run.flags.noop {
            " (noop)"
        } else {
            ""
        };
        if !terminal::confirm(&format!("Run Puppet{mode} in this order?"))? {
            return usage("not confirmed; nothing was started");
        }
    }
    let nodes = PuppetRunScope {
        environment: &environment,
        is_enforced: !options.no_enforce_environment,
        scope,
        told: &escape_control(&options.application.application),
    };
    Box::pin(options.run.start(nodes, client)).await
}
