//! `tutti node list`. Main type: [`ConfigFileKeys`].

use api_types::InventoryList;

use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table, terminal};

/// Arguments of `tutti node list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let mut list: InventoryList = client
        .get(&["orchestrator", "v1", "inventory"], &[])
        .await?;
    list.items.sort_by(|one, other| one.name.cmp(&other.name));
    if options.shown.format == OutputFormat::Json {
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
            terminal::style_name(terminal::escape_control(&item.name)),
            item.timestamp
                .map_or_else(String::new, |time| time.to_string()),
            terminal::escape_control(&item.broker.unwrap_or_default()),
        ]
    });
    table::print(&["NODE", "CONNECTED SINCE", "BROKER"], rows.collect());
    say!(
        "{}",
        terminal::style_dim(format!("{count} connected{returning}"))
    );
    Ok(EXIT_SUCCESS)
}
