//! Connected nodes: `GET inventory`, `GET inventory/:node`, `POST inventory`.

use api_types::{InventoryItem, InventoryList, InventoryQuery, NodeAbsence, PreciseTimestamp};
use axum::Json;
use axum::extract::State;
use fabric::NodePresence;
use pcp::Certname;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};
use crate::scope::{certname, certnames};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<InventoryList>, ApiFailure> {
    given.finish()?;
    // Read first, so that a node that connects in between is in one of the two lists.
    let returning = api.jobs.returning_nodes();
    let mut connected = api.fabric.connected_nodes();
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
    State(api): State<SharedApiContext>,
    PathVariables(node): PathVariables<String>,
) -> Result<Json<InventoryItem>, ApiFailure> {
    let name = certname("node", &node)?;
    // Read first, so that a node that reconnects in between is found in one of the two places.
    let is_returning = api.jobs.returning_nodes().binary_search(&name).is_ok();
    let presence = api.fabric.presence(&name);
    let mut item = item(&name, presence.as_ref());
    match presence {
        Some(presence) => {
            let capabilities = presence.capabilities.as_deref();
            item.agent_version = capabilities.map(|capabilities| capabilities.version.clone());
        }
        None => item.absence = Some(absence(&api, &name, is_returning).await?),
    }
    Ok(Json(item))
}

async fn absence(
    api: &SharedApiContext,
    name: &Certname,
    is_returning: bool,
) -> Result<NodeAbsence, ApiFailure> {
    Ok(if is_returning {
        NodeAbsence::Returning
    } else if api.connections.is_reachable(name) {
        NodeAbsence::OverSsh
    } else if api.store.has_agent(name.as_str()).await? {
        NodeAbsence::Away
    } else {
        NodeAbsence::NeverConnected
    })
}

pub(crate) async fn query(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<InventoryQuery>,
) -> Result<Json<InventoryList>, ApiFailure> {
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

fn item(name: &Certname, presence: Option<&NodePresence>) -> InventoryItem {
    InventoryItem {
        name: name.to_string(),
        connected: presence.is_some(),
        broker: presence.map(|presence| presence.broker.to_string()),
        timestamp: presence.map(|presence| PreciseTimestamp(presence.since)),
        agent_version: None,
        absence: None,
    }
}
