//! The program `tutti`: client, server, broker and CA in one. Main type: [`Arguments`].
//!
//! Invariant: this file only dispatches to the commands; a failed start ends with exit code 64 and
//! a message that names the necessary change.

mod applications;
mod audit;
mod broker;
mod ca;
mod catalog_compilers;
mod catalogs;
mod catalogs_ahead;
mod classifier;
mod code_manager;
mod config;
mod configured_file;
mod deployment_observers;
mod directories;
mod doctor;
mod error_report;
mod follow;
mod inventory;
mod local_server;
mod older_history;
mod plans;
mod privileged_names;
mod quickstart;
mod rbac;
mod reset_admin_password;
mod run_reports;
mod schedules;
mod server;
mod server_address;
mod services;
mod shipped_modules;
mod ssh;
mod telemetry_export;
mod webhooks;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory as _, Parser};
use cli::local::{LocalCommand, LocalExit};

use self::error_report::report_error;

/// The allocator. It returns the memory of finished plans and large answers to the system from
/// threads of its own, ten seconds after it was freed. glibc keeps memory below the last block in
/// use, in each of its arenas.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Position in the list of commands: that of `connection`, before the commands that follow it.
const BESIDE_CONNECTION: usize = 14;

/// Exit code of a program that cannot start as configured (sysexits.h: usage error).
const EXIT_CANNOT_START: u8 = 64;

/// Tasks on many nodes, with the truth about what happened.
#[derive(Debug, Parser)]
#[command(
    name = "tutti",
    version,
    after_help = "Exit codes: 0 all succeeded; 1 a node failed; 2 wrong usage, or the service could \
                  not do it; 3 `tutti doctor` found problems; 64 a server could not start.\nStart with `tutti quickstart`."
)]
struct Arguments {
    #[command(subcommand)]
    command: TuttiCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TuttiCommand {
    #[command(flatten)]
    Client(Box<cli::ClientCommand>),
    /// Look up keys in the Hiera data of this machine, as `puppet lookup` does
    #[command(display_order = BESIDE_CONNECTION)]
    Lookup(local_commands::lookup::LookupOptions),
    /// Check manifests, plans and templates: syntax, and mistakes that can be found without a
    /// catalog
    #[command(display_order = BESIDE_CONNECTION)]
    Validate(local_commands::validate::ValidateOptions),
    /// Compile catalogs from the code of this machine, compare them, and show those of a server's agents
    #[command(subcommand, display_order = BESIDE_CONNECTION)]
    Catalog(local_commands::catalog::CatalogCommand),
    Quickstart(quickstart::Options),
    /// Serve: orchestrator, broker, CA and APIs in one process, until SIGTERM or Ctrl-C
    Server(services::Options),
    /// Serve a standalone broker, which connects to remote orchestrators, until SIGTERM or Ctrl-C
    Broker(services::Options),
    /// Replicate code deployed by a server to this machine (file sync client), until SIGTERM or
    /// Ctrl-C
    Follow(services::Options),
    Ca(Box<ca::Options>),
    Doctor(doctor::Options),
    AcceptOlderHistory(older_history::Options),
    ResetAdminPassword(reset_admin_password::Options),
    /// Print a completion script for a shell
    Completions {
        /// Shell that the script is for
        shell: cli::Shell,
        /// Name of one of Puppet Enterprise's tools, for a link to this program with that name
        #[arg(long, value_parser = PossibleValuesParser::new(cli::program_name::link_names()))]
        name: Option<String>,
    },
    /// Write the man pages into a directory
    Man {
        /// Directory of the man pages
        directory: PathBuf,
    },
    #[command(name = cli::completion::VERB, hide = true)]
    NamesAtCursor(cli::completion::CompletionRequest),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let (name, arguments) = cli::program_name::detect_program_name(std::env::args_os());
    let Arguments { command } = Arguments::parse_from(arguments);
    match command {
        TuttiCommand::Client(command) => client(*command, name),
        TuttiCommand::Lookup(options) => cli::exit_code(local_commands::lookup::run(&options)),
        TuttiCommand::Validate(options) => cli::exit_code(local_commands::validate::run(&options)),
        TuttiCommand::Catalog(command) => cli::exit_code(local_commands::catalog::run(&command)),
        TuttiCommand::Quickstart(options) => exit_code_of(quickstart::run(&options)),
        TuttiCommand::Server(options) => exit_code_of(services::run(&options, |config, stop| {
            server::run(config, stop)
        })),
        TuttiCommand::Broker(options) => exit_code_of(services::run(&options, |config, stop| {
            broker::run(config, stop)
        })),
        TuttiCommand::Follow(options) => exit_code_of(services::run(&options, |config, stop| {
            follow::run(config, stop)
        })),
        TuttiCommand::Doctor(options) => match doctor::run(&options) {
            Ok(code) => ExitCode::from(code),
            Err(error) => report_error(&error, cli::EXIT_ERROR),
        },
        TuttiCommand::AcceptOlderHistory(options) => match older_history::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report_error(&error, cli::EXIT_ERROR),
        },
        TuttiCommand::ResetAdminPassword(options) => match reset_admin_password::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report_error(&error, cli::EXIT_ERROR),
        },
        TuttiCommand::Ca(options) => match ca::run(*options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report_error(&error, cli::EXIT_ERROR),
        },
        TuttiCommand::Completions { shell, name } => {
            let script = cli::completions(shell, Arguments::command(), name.as_deref());
            cli::say!("{}", script.trim_end());
            ExitCode::SUCCESS
        }
        TuttiCommand::NamesAtCursor(request) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            // Errors would disturb a shell's prompt.
            if let Ok(runtime) = runtime {
                let names = cli::completion::names(request, Arguments::command());
                let names = runtime.block_on(Box::pin(names));
                names.iter().for_each(|name| cli::say!("{name}"));
            }
            ExitCode::SUCCESS
        }
        TuttiCommand::Man { directory } => match cli::man_pages(Arguments::command(), &directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report_error(&error.into(), cli::EXIT_ERROR),
        },
        TuttiCommand::Version => {
            cli::say!("tutti {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn client(command: cli::ClientCommand, name: cli::ProgramName) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(Box::pin(cli::run(command, name, run_local))),
        Err(error) => report_error(&error.into(), cli::EXIT_ERROR),
    }
}

fn exit_code_of(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error, EXIT_CANNOT_START),
    }
}

/// Runs a command for files of this machine; the server's configuration names its database.
fn run_local(command: LocalCommand) -> LocalExit {
    match command {
        LocalCommand::AuditVerify(verification) if verification.offline().is_some() => {
            Box::pin(audit::verify_store(verification))
        }
        command => local_commands::run(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
