//! `tutti node …`. Main type: [`NodeVerb`].

mod list;
mod ping;
mod show;

use crate::CommandFailure;
use crate::client::ApiClient;
use crate::settings::ConnectionFlags;

/// Verbs of `tutti node`.
#[derive(Debug, clap::Subcommand)]
pub enum NodeVerb {
    /// List the connected nodes
    #[command(after_long_help = "Example:\n  tutti node list")]
    List(list::Options),
    /// Show a node: its connection or the reason why it has none, its agent, groups, facts and last
    /// jobs
    #[command(after_long_help = "Examples:
  tutti node show web1.example.com
  tutti node show web1 --facts")]
    Show(show::Options),
    /// Ping agents through the broker, and measure the time
    #[command(
        after_long_help = "Examples:\n  tutti node ping --nodes web1.example.com\n  tutti node ping --all"
    )]
    Ping(ping::Options),
}

pub(crate) async fn run(
    verb: NodeVerb,
    connection: &ConnectionFlags,
) -> Result<u8, CommandFailure> {
    let client = ApiClient::with_token(connection)?;
    match verb {
        NodeVerb::List(options) => list::run(&options, &client).await,
        NodeVerb::Show(options) => show::run(&options, &client).await,
        NodeVerb::Ping(options) => ping::run(&options, &client).await,
    }
}
