//! `tutti node ping`. Main type: [`Options`].

use api_types::{PingCommand, PingItem, PingReply};

use super::parts::post_in_parts;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::targets::NodeNames;
use crate::terminal::{escape_control, escaped_name, style_failure, style_success};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult};

/// Arguments of `tutti node ping`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    targets: NodeNames,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let nodes = options.targets.resolve(client).await?;
    let path = ["orchestrator", "v1", "command", "ping"];
    let command = |nodes| PingCommand { nodes };
    let items = post_in_parts(client, &path, &nodes, command, |reply: PingReply| {
        reply.items
    });
    let reply = PingReply {
        items: items.await?,
    };
    let format = options.shown.format;
    format.present(&reply, |reply| reply.items.iter().for_each(print))?;
    let all = reply.items.iter().all(|item| item.replied);
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

fn print(item: &PingItem) {
    let name = escaped_name(&item.name);
    match item.duration_ms.filter(|_| item.replied) {
        Some(ms) => say!("{} {name}  {ms:.2} ms", style_success("✓")),
        None => {
            let why = item.error.as_deref().unwrap_or("no answer");
            let why = escape_control(why);
            say!("{} {name}  {why}", style_failure("✗"));
        }
    }
}
