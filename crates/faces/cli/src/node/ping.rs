//! `tutti node ping`. Main type: [`Options`].

use api_types::{PingCommand, PingItem, PingReply};

use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::targets::NodeNames;
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, terminal};

/// Arguments of `tutti node ping`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    targets: NodeNames,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let nodes = options.targets.resolve(client).await?;
    let command = PingCommand { nodes };
    let reply: PingReply = client
        .post(&["orchestrator", "v1", "command", "ping"], &command)
        .await?;
    match options.shown.format {
        Format::Json => json(&reply),
        Format::Human => reply.items.iter().for_each(print),
    }
    let all = reply.items.iter().all(|item| item.replied);
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

fn print(item: &PingItem) {
    let name = terminal::name(terminal::harmless(&item.name));
    match item.duration_ms.filter(|_| item.replied) {
        Some(ms) => say!("{} {name}  {ms:.2} ms", terminal::good("✓")),
        None => {
            let why = item.error.as_deref().unwrap_or("no answer");
            say!("{} {name}  {}", terminal::bad("✗"), terminal::harmless(why));
        }
    }
}
