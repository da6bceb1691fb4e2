//! `POST selected_nodes`: resolves typed patterns and short names to certnames.
//!
//! Invariant: names are only revealed to callers with `nodes:view_data`, and a job accepts these
//! certnames like any others, so a pattern reaches no node that a list would not.

use std::collections::BTreeSet;

use ::inventory::NodeQuery;
use ::jobs::{NodeSelectors, SelectorError};
use api_types::{ApiError, NodeSelection, NodeSelectionQuery, kinds};
use axum::Json;
use axum::extract::State;
use pcp::Certname;
use serde_json::json;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::failure::ApiFailure;
use crate::query;

pub(crate) async fn resolve_selection(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<NodeSelectionQuery>,
) -> Result<Json<NodeSelection>, ApiFailure> {
    let selectors = NodeSelectors::parse(&asked.nodes).map_err(selector_error)?;
    let mut known = connected_nodes(&api);
    known.append(&mut ssh_nodes(&api));
    if !selectors.are_names_in(&known) {
        known.extend(inventory_nodes(&api).await?);
    }
    // Patterns over all nodes keep a core busy for up to a second.
    let selected = tokio::task::spawn_blocking(move || selectors.select(&known)).await;
    let selected = selected.map_err(|error| ApiFailure::internal("select nodes", &error))?;
    let nodes = selected.map_err(selector_error)?;
    Ok(Json(NodeSelection {
        nodes: nodes.iter().map(ToString::to_string).collect(),
    }))
}

/// Nodes that are connected, or expected back after a restart.
pub(crate) fn connected_nodes(api: &SharedApiContext) -> BTreeSet<Certname> {
    // Read first, so that a node that reconnects in between is in one of the two lists.
    let returning = api.jobs.returning_nodes();
    let connected = api
        .fabric
        .connected_nodes()
        .into_iter()
        .map(|(name, _)| name);
    connected.chain(returning).collect()
}

/// Nodes that are reached over SSH.
pub(crate) fn ssh_nodes(api: &SharedApiContext) -> BTreeSet<Certname> {
    let connections = api.connections.query(None, false).into_iter();
    connections.flat_map(|shown| shown.certnames).collect()
}

/// Nodes that reported facts or a Puppet run.
pub(crate) async fn inventory_nodes(api: &SharedApiContext) -> Result<Vec<Certname>, ApiFailure> {
    let every = NodeQuery::from_ast(json!(["from", "nodes", ["extract", ["certname"]]]));
    api.inventory
        .certnames(&every)
        .await
        .map_err(query::failure)
}

fn selector_error(error: SelectorError) -> ApiFailure {
    let text = error.to_string();
    match error {
        SelectorError::Unmatched { problems } => ApiError::new(kinds::UNKNOWN_NODE, text)
            .with("problems", json!(problems))
            .into(),
        _ => ApiError::invalid("nodes", text).into(),
    }
}
