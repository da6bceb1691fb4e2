//! The client's verbs: `tutti task run`, `tutti job list`, … over the HTTP API.
//!
//! Main type: [`Command`]. The rule: this crate prints and never decides; whatever it shows came from
//! the API, and its exit code says what happened: 0 all succeeded, 1 a node failed, 2 the command was
//! used wrongly or the service could not do it.

#[macro_use]
mod say;

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
pub use say::print_line;
pub use settings::Connection;
pub use terminal::harmless;

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
    Login(Login),
    /// Run tasks on nodes, and see which there are
    Task(Over<task::Verb>),
    /// See, follow and stop jobs
    Job(Over<job::Verb>),
    /// See which nodes are connected
    Node(Over<node::Verb>),
}

/// Verbs that go to the API.
#[derive(Debug, clap::Args)]
pub struct Over<V: clap::Subcommand> {
    #[command(subcommand)]
    verb: V,
    #[command(flatten)]
    connection: Connection,
}

/// `login` goes to the API too.
#[derive(Debug, clap::Args)]
pub struct Login {
    #[command(flatten)]
    options: login::Options,
    #[command(flatten)]
    connection: Connection,
}

/// How results are printed: for people, or as one JSON document.
// The values have no help of their own: it would make every verb's help three times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "a doc comment here becomes help text")]
pub enum Format {
    #[default]
    Human,
    Json,
}

/// Does what `command` says and answers the exit code.
pub async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Login(Login {
            options,
            connection,
        }) => Box::pin(login::run(options, &connection)).await,
        Command::Task(Over { verb, connection }) => Box::pin(task::run(verb, &connection)).await,
        Command::Job(Over { verb, connection }) => Box::pin(job::run(verb, &connection)).await,
        Command::Node(Over { verb, connection }) => Box::pin(node::run(verb, &connection)).await,
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            anstream::eprintln!("{} {}", terminal::bad("error:"), failure.shown());
            ExitCode::from(EXIT_ERROR)
        }
    }
}
