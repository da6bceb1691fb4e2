//! `tutti job run --until-converged`: repeats Puppet runs until the nodes have converged. Main type:
//! [`ConvergenceFlags`].
//!
//! Invariant: the server repeats the runs, as a plan job; it does so whether it is watched or not.

use api_types::{ConvergeCommand, ConvergenceLimits, DeployCommand};

use super::puppet_plan::{PuppetPlanCommand, start_puppet_plan};
use super::run::PuppetRunWatch;
use crate::VerbResult;
use crate::client::ApiClient;

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
    let plan = PuppetPlanCommand::new("converge", "Puppet runs until convergence", &deploy);
    let command = ConvergeCommand {
        deploy,
        limits: flags.limits(),
    };
    start_puppet_plan(&plan, &command, watch, client).await
}
