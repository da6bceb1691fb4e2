//! `puppet db`: the state of the PuppetDB behind the inventory. Main type: [`DbVerb`].
//!
//! Invariant: archives of a PuppetDB are left to PuppetDB's own tool, and the message refers to it.

use serde_json::Value;

use crate::client::ApiClient;
use crate::failure::usage;
use crate::settings::ConnectionFlags;
use crate::{OutputFormat, ProgramName, VerbResult, query};

/// Verbs of `puppet db`.
#[derive(Debug, clap::Subcommand)]
pub enum DbVerb {
    /// Print the state of PuppetDB, or of Tutti if no PuppetDB is configured
    #[command(after_long_help = "Example:\n  tutti db status")]
    Status(query::PuppetDbFlags),
    /// Export an archive: use PuppetDB's own tool
    #[command(after_long_help = "Example:\n  tutti db export archive.tgz")]
    Export {
        /// Archive file
        file: String,
    },
    /// Import an archive: use PuppetDB's own tool
    #[command(after_long_help = "Example:\n  tutti db import archive.tgz")]
    Import {
        /// Archive file
        file: String,
    },
}

pub(crate) async fn run(
    verb: &DbVerb,
    connection: &ConnectionFlags,
    name: ProgramName,
) -> VerbResult {
    let (word, file) = match verb {
        DbVerb::Status(flags) => return status(flags, connection, name).await,
        DbVerb::Export { file } => ("export", file),
        DbVerb::Import { file } => ("import", file),
    };
    usage(format!(
        "Tutti keeps no PuppetDB archives; on the machine of PuppetDB: `/opt/puppetlabs/bin/puppetdb {word} {file}`"
    ))
}

async fn status(
    flags: &query::PuppetDbFlags,
    connection: &ConnectionFlags,
    name: ProgramName,
) -> VerbResult {
    let path = ["status", "v1", "services"];
    let told: Value = match flags.server(connection, name)? {
        Some(server) => server.get(&path).await?,
        None => ApiClient::with_token(connection)?.get(&path, &[]).await?,
    };
    OutputFormat::Json.present(&told, |_| ())
}
