//! `tutti node show NODE`. Main type: [`Options`].

use api_types::InventoryItem;

use crate::client::Client;
use crate::shown::{Shown, json};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, table, terminal};

/// Which node.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The node's certname
    node: String,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let path = ["orchestrator", "v1", "inventory", &options.node];
    let item: InventoryItem = client.get(&path, &[]).await?;
    if options.shown.format == Format::Json {
        json(&item);
    } else {
        let connected = if item.connected {
            terminal::good("yes")
        } else {
            terminal::bad("no")
        };
        let mut fields = vec![
            ("node", terminal::harmless(&item.name)),
            ("connected", connected),
        ];
        fields.extend(item.timestamp.map(|time| ("since", time.to_string())));
        fields.extend(
            item.broker
                .map(|broker| ("broker", terminal::harmless(&broker))),
        );
        table::fields(&fields);
    }
    Ok(if item.connected {
        EXIT_SUCCESS
    } else {
        EXIT_NODES_FAILED
    })
}
