//! `tutti node list`. Main type: [`Options`].

use api_types::InventoryList;

use crate::client::Client;
use crate::output::{OutputOptions, json};
use crate::{EXIT_SUCCESS, Failure, Format, table, terminal};

/// Arguments of `tutti node list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let mut list: InventoryList = client
        .get(&["orchestrator", "v1", "inventory"], &[])
        .await?;
    list.items.sort_by(|one, other| one.name.cmp(&other.name));
    if options.shown.format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    let returning = match list.returning.len() {
        0 => String::new(),
        count => {
            format!("; {count} that were connected before the server restarted are expected back")
        }
    };
    if list.items.is_empty() {
        say!("No node is connected{returning}.");
        return Ok(EXIT_SUCCESS);
    }
    let count = list.items.len();
    let rows = list.items.into_iter().map(|item| {
        vec![
            terminal::name(terminal::harmless(&item.name)),
            item.timestamp
                .map_or_else(String::new, |time| time.to_string()),
            terminal::harmless(&item.broker.unwrap_or_default()),
        ]
    });
    table::print(&["NODE", "CONNECTED SINCE", "BROKER"], rows.collect());
    say!("{}", terminal::dim(format!("{count} connected{returning}")));
    Ok(EXIT_SUCCESS)
}
