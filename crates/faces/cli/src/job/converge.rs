//! `tutti job run --until-converged`: repeats Puppet runs until the nodes have converged. Main type:
//! [`ConvergenceFlags`].
//!
//! Invariant: the server repeats the runs, as a plan job; it does so whether it is watched or not.

use api_types::{ConvergeCommand, ConvergenceLimits, DeployCommand, PlanName};

use super::run::PuppetRunWatch;
use crate::client::ApiClient;
use crate::plan;
use crate::terminal::{escape_control, style_heading};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Options of repeated runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Convergence")]
pub(crate) struct ConvergenceFlags {
    /// Repeat the runs until no node requests another one, in waves: every node has run before one runs again
    #[arg(long, conflicts_with = "noop")]
    pub(crate) until_converged: bool,
    /// Most waves, the first one included [default: 10]
    #[arg(long, value_name = "N", requires = "until_converged")]
    max_waves: Option<u32>,
    /// Shortest pause between two waves: seconds, or 15m, 4h, 1d
    #[arg(
        long,
        value_name = "TIME",
        requires = "until_converged",
        value_parser = crate::duration::parse_seconds
    )]
    min_gap: Option<u64>,
    /// Longest pause that a node can cause: seconds, or 15m, 4h, 1d [default: 30m]
    #[arg(
        long,
        value_name = "TIME",
        requires = "until_converged",
        value_parser = crate::duration::parse_seconds
    )]
    max_delay: Option<u64>,
    /// A node has converged only after a run that changed nothing
    #[arg(long, requires = "until_converged")]
    strict: bool,
}

impl ConvergenceFlags {
    fn limits(&self) -> ConvergenceLimits {
        ConvergenceLimits {
            max_waves: self.max_waves,
            min_gap: self.min_gap,
            max_delay: self.max_delay,
            strict: self.strict,
        }
    }
}

/// Starts the runs, and watches them until the last wave has ended.
pub(super) async fn start(
    deploy: DeployCommand,
    flags: &ConvergenceFlags,
    watch: PuppetRunWatch<'_>,
    client: &ApiClient,
) -> VerbResult {
    let environment =
        super::puppet::describe_environment(&deploy.environment, deploy.enforce_environment);
    let command = ConvergeCommand {
        deploy,
        limits: flags.limits(),
    };
    let path = ["orchestrator", "v1", "command", "converge"];
    let PlanName { name } = client.post(&path, &command).await?;
    if watch.no_wait {
        say!("{}", escape_control(&name));
        return Ok(EXIT_SUCCESS);
    }
    if watch.format == OutputFormat::Human {
        let number = style_heading(escape_control(&name));
        let puppet_runs = style_heading("Puppet runs until convergence");
        say!(
            "Plan job {number}: {puppet_runs} on {}, environment {environment}\n",
            watch.told
        );
    }
    plan::follow::follow(client, &name, watch.format).await
}
