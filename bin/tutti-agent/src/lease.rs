//! `tutti-agent lease`: the lease of this node, which lets only the runs of one job start. Main type: [`LeaseArguments`].

use std::path::PathBuf;
use std::process::ExitCode;

use actions::leases::{LeaseError, NodeLeases};
use agent::config::AgentConfigError;
use agent::config::settings::AgentArguments;
use clap::{Args, Subcommand};
use thiserror::Error;

use crate::OutputFormat;
use crate::command_result::print_result;

/// Failure of `tutti-agent lease`.
#[derive(Debug, Error)]
enum LeaseCommandError {
    #[error("the spool is not known; name it with --spool-dir")]
    Config(#[from] AgentConfigError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LeaseArguments {
    #[command(subcommand)]
    command: Option<LeaseCommand>,
    /// Human-readable text, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
    #[command(flatten)]
    spool: SpoolArguments,
}

#[derive(Debug, Subcommand)]
enum LeaseCommand {
    /// End the lease for good; a run of its job that is in progress goes on
    Release(SpoolArguments),
}

#[derive(Debug, Args)]
struct SpoolArguments {
    /// The agent's spool; that of the configuration by default
    #[arg(long, value_name = "DIR")]
    spool_dir: Option<PathBuf>,
    /// Configuration file of the agent (.conf in HOCON, or .json)
    #[arg(long, value_name = "FILE", conflicts_with = "spool_dir")]
    config_file: Option<String>,
}

// === impl LeaseArguments ===

impl LeaseArguments {
    /// Carries the command out and prints its result.
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.command {
            None => show(&self.spool, self.format),
            Some(LeaseCommand::Release(spool)) => release(&spool),
        };
        print_result(done)
    }
}

impl SpoolArguments {
    fn leases(&self) -> Result<NodeLeases, LeaseCommandError> {
        if let Some(spool) = &self.spool_dir {
            return Ok(NodeLeases::below(spool));
        }
        let arguments = AgentArguments {
            config_file: self.config_file.clone(),
            ..AgentArguments::default()
        };
        let config = agent::config::load(&arguments)?;
        Ok(NodeLeases::below(&config.actions.spool_dir))
    }
}

fn show(spool: &SpoolArguments, format: OutputFormat) -> Result<String, LeaseCommandError> {
    let lease = spool.leases()?.show()?;
    Ok(match (format, lease) {
        (OutputFormat::Human, Some(lease)) => lease.to_string(),
        (OutputFormat::Human, None) => "no lease\n".to_owned(),
        (OutputFormat::Json, Some(lease)) => lease.to_json(),
        (OutputFormat::Json, None) => "null\n".to_owned(),
    })
}

fn release(spool: &SpoolArguments) -> Result<String, LeaseCommandError> {
    Ok(match spool.leases()?.release_as_administrator()? {
        Some(lease) => format!("released the lease of job {}\n", lease.job),
        None => "no lease\n".to_owned(),
    })
}
