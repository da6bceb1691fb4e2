//! Options that repeat Puppet runs, or make them in passes: those of `job run`, `app run` and `schedule run`. Main type:
//! [`RunModeFlags`].

use api_types::ConvergenceLimits;
use api_types::schedules::PuppetRunMode;

/// The way in which nodes run Puppet.
#[derive(Debug, clap::Args)]
pub(crate) struct RunModeFlags {
    /// Run nodes of applications that wait for each other in passes: first without the components that have to wait
    #[arg(
        long,
        conflicts_with_all = ["splay", "until_converged"],
        help_heading = "Rollout"
    )]
    pub(crate) multi_pass: bool,
    #[command(flatten)]
    convergence: ConvergenceFlags,
}

/// Options of repeated runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Convergence")]
struct ConvergenceFlags {
    /// Repeat the runs until no node requests another one, in waves: every node has run before one runs again
    #[arg(long, conflicts_with = "noop")]
    until_converged: bool,
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
    /// Longest pause that a node can cause, and longest wait for reruns: seconds, or 15m, 4h, 1d [default: 30m]
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

// === impl RunModeFlags ===

impl RunModeFlags {
    pub(crate) fn mode(&self) -> PuppetRunMode {
        let flags = &self.convergence;
        match (flags.until_converged, self.multi_pass) {
            (true, _) => PuppetRunMode::UntilConverged(ConvergenceLimits {
                max_waves: flags.max_waves,
                min_gap: flags.min_gap,
                max_delay: flags.max_delay,
                strict: flags.strict,
            }),
            (false, true) => PuppetRunMode::MultiPass,
            (false, false) => PuppetRunMode::Once,
        }
    }
}
