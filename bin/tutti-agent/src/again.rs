//! `tutti-agent again`: reruns of Puppet that the module `common` has requested on this node. Main type: [`AgainArguments`].

use std::path::PathBuf;
use std::process::ExitCode;

use actions::reruns::{RerunError, Reruns};
use agent::config::AgentConfigError;
use agent::config::settings::AgentArguments;
use clap::{Args, Subcommand};
use thiserror::Error;

use crate::OutputFormat;
use crate::command_result::print_result;

/// Failure of `tutti-agent again`.
#[derive(Debug, Error)]
enum AgainError {
    #[error(transparent)]
    Config(AgentConfigError),
    #[error(transparent)]
    Rerun(#[from] RerunError),
}

#[derive(Debug, Args)]
pub(crate) struct AgainArguments {
    #[command(subcommand)]
    command: AgainCommand,
}

#[derive(Debug, Subcommand)]
enum AgainCommand {
    /// List the requested reruns, and the newest outcomes
    List(ListArguments),
    /// Remove requested reruns: those with the given keys, or all; a run in progress goes on
    Cancel(CancelArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Human-readable text, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
    #[command(flatten)]
    state: StateArguments,
}

#[derive(Debug, Args)]
struct CancelArguments {
    /// Keys of requests, as `list` shows them
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    state: StateArguments,
}

#[derive(Debug, Args)]
struct StateArguments {
    /// Puppet's state directory; `puppet config print statedir` by default
    #[arg(long, value_name = "DIR")]
    statedir: Option<PathBuf>,
    /// Configuration file of the agent (.conf in HOCON, or .json)
    #[arg(long, value_name = "FILE", conflicts_with = "statedir")]
    config_file: Option<String>,
}

// === impl AgainArguments ===

impl AgainArguments {
    /// Carries the command out and prints its result.
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.command {
            AgainCommand::List(arguments) => list(&arguments),
            AgainCommand::Cancel(arguments) => cancel(&arguments),
        };
        print_result(done)
    }
}

impl StateArguments {
    fn reruns(&self) -> Result<Reruns, AgainError> {
        if let Some(directory) = &self.statedir {
            return Ok(Reruns::below(directory));
        }
        let arguments = AgentArguments {
            config_file: self.config_file.clone(),
            ..AgentArguments::default()
        };
        let modules = match agent::config::load(&arguments) {
            Ok(config) => Some(config.actions.modules_config_dir),
            // A node may have this program without a connection to a server, and then no configuration.
            Err(_) if self.config_file.is_none() => None,
            Err(error) => return Err(AgainError::Config(error)),
        };
        Ok(Reruns::of_installed_puppet(modules.as_deref())?)
    }
}

fn list(arguments: &ListArguments) -> Result<String, AgainError> {
    let listing = arguments.state.reruns()?.list()?;
    Ok(match arguments.format {
        OutputFormat::Human => listing.to_string(),
        OutputFormat::Json => listing.to_json(),
    })
}

fn cancel(arguments: &CancelArguments) -> Result<String, AgainError> {
    let canceled = arguments.state.reruns()?.cancel(&arguments.keys)?;
    if canceled.is_empty() {
        return Ok("no rerun is requested\n".to_owned());
    }
    let lines = canceled
        .iter()
        .map(|it| format!("canceled {} ({})\n", it.key, it.run));
    Ok(lines.collect())
}
