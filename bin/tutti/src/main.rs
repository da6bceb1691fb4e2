//! The program `tutti`: client, server, broker and CA in one. Main type: [`Arguments`].
//!
//! The rule: this file only picks what to run; a start that cannot work ends with exit code 64 and a
//! message that says what to change.

mod broker;
mod ca;
mod config;
mod modules;
mod quickstart;
mod server;
mod services;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use owo_colors::OwoColorize as _;

/// Where the server's configuration is unless somebody says otherwise.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/tutti/tutti.toml";

/// A program that cannot start as it was told (sysexits.h: usage error).
const EXIT_CANNOT_START: u8 = 64;

/// Tasks on many nodes, with the truth about what happened.
#[derive(Debug, Parser)]
#[command(
    name = "tutti",
    version,
    after_help = "Exit codes: 0 all succeeded; 1 a node failed; 2 wrong usage, or the service could \
                  not do it; 64 a server could not start.\nStart with `tutti quickstart`."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    connection: cli::Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Client(cli::Command),
    Quickstart(quickstart::Options),
    Server(services::Options),
    Broker(services::Options),
    Ca(ca::Options),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: cli::Shell,
    },
    /// Write the man pages into a directory
    Man {
        /// Where to
        directory: PathBuf,
    },
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let Arguments {
        command,
        connection,
    } = Arguments::parse();
    match command {
        Command::Client(command) => client(command, &connection),
        Command::Quickstart(options) => starting(quickstart::run(&options)),
        Command::Server(options) => starting(services::run(&options, |config, stop| {
            server::run(config, stop)
        })),
        Command::Broker(options) => starting(services::run(&options, |config, stop| {
            broker::run(config, stop)
        })),
        Command::Ca(options) => match ca::run(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error, cli::EXIT_ERROR),
        },
        Command::Completions { shell } => {
            cli::completions(shell, Arguments::command());
            ExitCode::SUCCESS
        }
        Command::Man { directory } => match cli::man_pages(Arguments::command(), &directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error.into(), cli::EXIT_ERROR),
        },
        Command::Version => {
            anstream::println!("tutti {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn client(command: cli::Command, connection: &cli::Connection) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(Box::pin(cli::run(command, connection))),
        Err(error) => complain(&error.into(), cli::EXIT_ERROR),
    }
}

fn starting(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error, EXIT_CANNOT_START),
    }
}

fn complain(error: &anyhow::Error, code: u8) -> ExitCode {
    anstream::eprintln!("{} {error:#}", "error:".red().bold());
    ExitCode::from(code)
}
