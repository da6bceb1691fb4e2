//! `tutti query`: what is known of nodes. Main type: [`Options`].
//!
//! The rule: the question goes to Tutti's API, which knows who asks; only who calls this by the name
//! of Puppet Enterprise's client, or names a `PuppetDB`, talks to that one directly.

mod puppetdb;
mod rows;

pub(crate) use puppetdb::Flags as PuppetDbFlags;

use api_types::PuppetDbQuery;
use serde_json::Value;

use crate::client::Client;
use crate::settings::Connection;
use crate::shown::json;
use crate::{EXIT_SUCCESS, Failure, Format, Name, targets};

/// What is asked, and whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// PQL, or an AST as a JSON array; or @FILE with it (@- is stdin)
    query: String,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// How to print [default: human; as puppet-query: json]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    #[command(flatten)]
    puppetdb: puppetdb::Flags,
}

pub(crate) async fn run(
    options: &Options,
    connection: &Connection,
    name: Name,
) -> Result<u8, Failure> {
    let query = PuppetDbQuery {
        query: Some(targets::query_value(&options.query)?),
        limit: options.limit,
        ..PuppetDbQuery::default()
    };
    let rows: Vec<Value> = match options.puppetdb.server(connection, name)? {
        Some(server) => server.ask(&query).await?,
        None => {
            let client = Client::with_token(connection)?;
            client.post(&["pdb", "query", "v4"], &query).await?
        }
    };
    let format = options.format.unwrap_or(match name {
        Name::Tutti => Format::Human,
        Name::Puppet => Format::Json,
    });
    match format {
        Format::Json => json(&rows),
        Format::Human => rows::print(&rows),
    }
    Ok(EXIT_SUCCESS)
}
