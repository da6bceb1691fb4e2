//! The client's verbs: `tutti task run`, `tutti job list`, … over the HTTP API.
//!
//! Main type: [`Command`]. The rule: this crate prints and never decides; whatever it shows came from
//! the API, and its exit code says what happened: 0 all succeeded, 1 a node failed, 2 the command was
//! used wrongly or the service could not do it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the client's output is its purpose"
)]

mod client;
mod defaults;
mod failure;
mod follow;
mod generate;
mod job;
mod login;
mod node;
mod params;
mod settings;
mod shown;
mod stream;
mod table;
mod targets;
mod task;
mod terminal;
mod values;

use std::process::ExitCode;

pub use failure::Failure;
pub use generate::{Shell, completions, man_pages};
pub use settings::Connection;

/// Everything succeeded.
pub const EXIT_SUCCESS: u8 = 0;
/// The command did its work, and at least one node failed.
pub const EXIT_NODES_FAILED: u8 = 1;
/// The command was used wrongly, or the service could not do it.
pub const EXIT_ERROR: u8 = 2;

/// What the client can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Get a token for the API and keep it in the token file
    Login(login::Options),
    /// Run tasks on nodes, and see which there are
    #[command(subcommand)]
    Task(task::Verb),
    /// See, follow and stop jobs
    #[command(subcommand)]
    Job(job::Verb),
    /// See which nodes are connected
    #[command(subcommand)]
    Node(node::Verb),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Human,
    /// One JSON document
    Json,
}

/// Does what `command` says and answers the exit code.
pub async fn run(command: Command, connection: &Connection) -> ExitCode {
    let done = match command {
        Command::Login(options) => login::run(options, connection).await,
        Command::Task(verb) => task::run(verb, connection).await,
        Command::Job(verb) => job::run(verb, connection).await,
        Command::Node(verb) => node::run(verb, connection).await,
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            anstream::eprintln!("{} {failure}", terminal::bad("error:"));
            ExitCode::from(EXIT_ERROR)
        }
    }
}
