//! `puppet db`: the state of the PuppetDB behind the inventory. Main type: [`Verb`].
//!
//! The invariant: archives of a PuppetDB are a matter of PuppetDB's own tool, and the message says so.

use serde_json::Value;

use crate::client::Client;
use crate::settings::Connection;
use crate::shown::json;
use crate::{EXIT_SUCCESS, Failure, Name, query};

/// Verbs of `puppet db`.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Print the state of PuppetDB, or of Tutti where no PuppetDB is configured
    #[command(after_long_help = "Example:\n  tutti db status")]
    Status(query::PuppetDbFlags),
    /// Export an archive: a matter of PuppetDB's own tool
    #[command(after_long_help = "Example:\n  tutti db export archive.tgz")]
    Export {
        /// The archive
        file: String,
    },
    /// Import an archive: a matter of PuppetDB's own tool
    #[command(after_long_help = "Example:\n  tutti db import archive.tgz")]
    Import {
        /// The archive
        file: String,
    },
}

pub(crate) async fn run(verb: &Verb, connection: &Connection, name: Name) -> Result<u8, Failure> {
    let (word, file) = match verb {
        Verb::Status(flags) => return status(flags, connection, name).await,
        Verb::Export { file } => ("export", file),
        Verb::Import { file } => ("import", file),
    };
    Err(Failure::Usage(format!(
        "Tutti keeps no PuppetDB archives; on the machine of PuppetDB: `/opt/puppetlabs/bin/puppetdb {word} {file}`"
    )))
}

async fn status(
    flags: &query::PuppetDbFlags,
    connection: &Connection,
    name: Name,
) -> Result<u8, Failure> {
    let path = ["status", "v1", "services"];
    let told: Value = match flags.server(connection, name)? {
        Some(server) => server.get(&path).await?,
        None => Client::with_token(connection)?.get(&path, &[]).await?,
    };
    json(&told);
    Ok(EXIT_SUCCESS)
}
