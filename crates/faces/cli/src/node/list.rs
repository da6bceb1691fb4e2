//! `tutti node list`. Main function: [`run`].

use api_types::InventoryList;

use crate::client::ApiClient;
use crate::terminal::{escape_control, escaped_name, style_dim};
use crate::values::or_empty;
use crate::{OutputFormat, VerbResult, present};

pub(crate) async fn run(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let path = ["orchestrator", "v1", "inventory"];
    let mut list: InventoryList = client.get(&path, &[]).await?;
    list.items.sort_by(|one, other| one.name.cmp(&other.name));
    format.present(&list, print)
}

fn print(list: &InventoryList) {
    let returning = match list.returning.len() {
        0 => String::new(),
        count => {
            format!("; {count} that were connected before the server restarted are expected back")
        }
    };
    if list.items.is_empty() {
        say!("No node is connected{returning}.");
        return;
    }
    present::table(
        &list.items,
        &[
            ("NODE", &|item| escaped_name(&item.name)),
            ("CONNECTED SINCE", &|item| or_empty(item.timestamp)),
            ("BROKER", &|item| {
                escape_control(item.broker.as_deref().unwrap_or_default())
            }),
        ],
    );
    let count = list.items.len();
    say!("{}", style_dim(format!("{count} connected{returning}")));
}
