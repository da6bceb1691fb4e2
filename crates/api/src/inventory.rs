//! Which nodes are connected: `GET inventory`, `GET inventory/:node`, `POST inventory`.

use api_types::{InventoryItem, InventoryList, InventoryQuery, PreciseTimestamp};
use axum::Json;
use axum::extract::State;
use fabric::Presence;
use pcp::Certname;

use crate::Shared;
use crate::body::Strict;
use crate::failure::Failure;
use crate::given::{Given, Variables};
use crate::scope::{certname, certnames};

pub(crate) async fn list(
    State(api): State<Shared>,
    Given(given): Given,
) -> Result<Json<InventoryList>, Failure> {
    given.finish()?;
    // First, so that a node that comes between the two is in one of them.
    let returning = api.jobs.returning_nodes();
    let mut connected = api.fabric.connected();
    connected.sort_by(|a, b| a.0.cmp(&b.0));
    let items = connected
        .iter()
        .map(|(name, presence)| item(name, Some(presence)))
        .collect();
    let returning = returning
        .iter()
        .filter(|name| {
            connected
                .binary_search_by(|(other, _)| other.cmp(name))
                .is_err()
        })
        .map(ToString::to_string)
        .collect();
    Ok(Json(InventoryList { items, returning }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    Variables(node): Variables<String>,
) -> Result<Json<InventoryItem>, Failure> {
    let name = certname("node", &node)?;
    Ok(Json(item(&name, api.fabric.presence(&name).as_ref())))
}

pub(crate) async fn query(
    State(api): State<Shared>,
    Strict(asked): Strict<InventoryQuery>,
) -> Result<Json<InventoryList>, Failure> {
    let names = certnames("nodes", &asked.nodes)?;
    let items = names
        .iter()
        .map(|name| item(name, api.fabric.presence(name).as_ref()))
        .collect();
    Ok(Json(InventoryList {
        items,
        returning: Vec::new(),
    }))
}

fn item(name: &Certname, presence: Option<&Presence>) -> InventoryItem {
    InventoryItem {
        name: name.to_string(),
        connected: presence.is_some(),
        broker: presence.map(|presence| presence.broker.to_string()),
        timestamp: presence.map(|presence| PreciseTimestamp(presence.since)),
    }
}
