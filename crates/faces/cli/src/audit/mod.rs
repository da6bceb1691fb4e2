//! `tutti audit …`: the audit log and the check of its hash chain. Main type: [`Verb`].

mod export;
mod list;
mod pages;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use crate::client::Client;
use crate::settings::Connection;
use crate::{EXIT_ERROR, Failure, WithConnection, terminal};

/// Verbs of `tutti audit`.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List audit entries, the newest first: actions, users and refusals
    List(list::Options),
    /// Write every entry with its hashes, as lines of JSON
    Export(export::Options),
    /// Check that no entry was changed, removed, moved or inserted
    ///
    /// Exit code 0: the chain is intact; 1: it is not, and the first bad entry is named; 2: it
    /// could not be checked.
    Verify(verify::Options),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    match verb {
        Verb::List(options) => list::run(&options, &Client::with_token(connection)?).await,
        Verb::Export(options) => export::run(&options, &Client::with_token(connection)?).await,
        Verb::Verify(options) => Box::pin(verify::run(&options, connection)).await,
    }
}

impl WithConnection<Verb> {
    /// The server's configuration file, if the store itself is to be checked instead of the API.
    pub fn offline(&self) -> Option<&Path> {
        match &self.verb {
            Verb::Verify(options) => options.offline(),
            Verb::List(_) | Verb::Export(_) => None,
        }
    }

    /// Checks the store at `url` against the head in `head_file`, without a server.
    pub async fn verify_store(&self, url: String, head_file: &Path) -> ExitCode {
        let done = match &self.verb {
            Verb::Verify(options) => Box::pin(verify::store(options, url, head_file)).await,
            Verb::List(_) | Verb::Export(_) => Err(Failure::Usage(
                "only `audit verify` reads the store".to_owned(),
            )),
        };
        match done {
            Ok(code) => ExitCode::from(code),
            Err(failure) => {
                anstream::eprintln!("{} {}", terminal::bad("error:"), failure.to_terminal_text());
                ExitCode::from(EXIT_ERROR)
            }
        }
    }
}
