//! `tutti node ping`. Main type: [`ConfigFileKeys`].

use api_types::{PingCommand, PingItem, PingReply};

use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::targets::NodeNames;
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, terminal};

/// Arguments of `tutti node ping`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    targets: NodeNames,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let nodes = options.targets.resolve(client).await?;
    let command = PingCommand { nodes };
    let reply: PingReply = client
        .post(&["orchestrator", "v1", "command", "ping"], &command)
        .await?;
    match options.shown.format {
        OutputFormat::Json => json(&reply),
        OutputFormat::Human => reply.items.iter().for_each(print),
    }
    let all = reply.items.iter().all(|item| item.replied);
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

fn print(item: &PingItem) {
    let name = terminal::style_name(terminal::escape_control(&item.name));
    match item.duration_ms.filter(|_| item.replied) {
        Some(ms) => say!("{} {name}  {ms:.2} ms", terminal::style_success("✓")),
        None => {
            let why = item.error.as_deref().unwrap_or("no answer");
            say!(
                "{} {name}  {}",
                terminal::style_failure("✗"),
                terminal::escape_control(why)
            );
        }
    }
}
