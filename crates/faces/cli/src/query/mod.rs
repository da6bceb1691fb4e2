//! `tutti query`: queries data about nodes. Main type: [`Options`].
//!
//! Invariant: the query goes to Tutti's API, which checks permissions; only a call under the name
//! of Puppet Enterprise's client, or with the URL of a `PuppetDB`, goes to PuppetDB directly.

mod puppetdb;
mod rows;

pub(crate) use puppetdb::PuppetDbFlags;

use api_types::PuppetDbQuery;
use serde_json::Value;

use crate::client::ApiClient;
use crate::settings::ConnectionFlags;
use crate::{OutputFormat, ProgramName, VerbResult, targets};

/// Arguments of `tutti query`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// PQL, or an AST as a JSON array; or @FILE that contains it (@- is stdin)
    query: String,
    /// Maximum number of rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Output format [default: human; as puppet-query: json]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<OutputFormat>,
    #[command(flatten)]
    puppetdb: puppetdb::PuppetDbFlags,
}

pub(crate) async fn run(
    options: &Options,
    connection: &ConnectionFlags,
    name: ProgramName,
) -> VerbResult {
    let query = PuppetDbQuery {
        query: Some(targets::query_value(&options.query)?),
        limit: options.limit,
        ..PuppetDbQuery::default()
    };
    let rows: Vec<Value> = match options.puppetdb.server(connection, name)? {
        Some(server) => server.ask(&query).await?,
        None => {
            let client = ApiClient::with_token(connection)?;
            client.post(&["pdb", "query", "v4"], &query).await?
        }
    };
    let format = options.format.unwrap_or(OutputFormat::Human.under(name));
    format.present(&rows, |rows| rows::print(rows))
}
