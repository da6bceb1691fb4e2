//! Nodes of applications that are not connected, and of which nothing is known: [`find_absent_nodes`].
//!
//! Invariants: an absent node is no error, since it may be installed later; names of other nodes are suggested only to
//! a caller that may list them.

use std::collections::BTreeSet;

use api_types::environments::{AbsentNodes, UnknownNode};
use pcp::Certname;
use rbac::RequestedPermission;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::defaults::{ABSENT_NODES_NAMED, AGENTS_PAGE, UNKNOWN_NODES_COMPARED};
use crate::failure::ApiFailure;
use crate::selected_nodes::{connected_nodes, inventory_nodes, ssh_nodes};

/// Names that the caller may list, of nodes other than those that are connected.
#[derive(Default)]
struct ListedNames(BTreeSet<Certname>);

/// Those of the nodes that are not connected, nor expected back after a restart of the server.
pub(crate) async fn find_absent_nodes<'n>(
    api: &SharedApiContext,
    caller: &ApiCaller,
    nodes: impl IntoIterator<Item = &'n str>,
) -> Result<AbsentNodes, ApiFailure> {
    let connected = connected_nodes(api);
    let is_connected = |node: &str| connected.contains(node);
    let mut unknown: BTreeSet<&str> = nodes.into_iter().collect();
    unknown.retain(|node| !is_connected(node));
    if unknown.is_empty() {
        return Ok(AbsentNodes::default());
    }
    let listed = ListedNames::of_caller(api, caller).await;
    let absent = unknown.clone();
    unknown.retain(|node| !listed.contains(node));
    remove_agents(api, &mut unknown).await?;
    let disconnected = absent.difference(&unknown).take(ABSENT_NODES_NAMED);
    Ok(AbsentNodes {
        disconnected: disconnected.map(|node| (*node).to_owned()).collect(),
        disconnected_omitted: count_omitted(absent.len() - unknown.len()),
        unknown_omitted: count_omitted(unknown.len()),
        unknown: add_near_names(unknown, listed.0.into_iter().chain(connected)).await?,
    })
}

impl ListedNames {
    /// Nodes of the inventory and those over SSH, for a caller that may view data of nodes.
    async fn of_caller(api: &SharedApiContext, caller: &ApiCaller) -> Self {
        let permission = RequestedPermission::any("nodes", "view_data");
        if api.access.authorize(&caller.0, permission).is_err() {
            return Self::default();
        }
        let mut names = ssh_nodes(api);
        match inventory_nodes(api).await {
            Ok(nodes) => names.extend(nodes),
            // without a PuppetDB, the order of the nodes is as right as with it
            Err(ApiFailure(error)) => {
                tracing::warn!(
                    error = error.body.msg,
                    "the inventory is not searched for nodes"
                );
            }
        }
        Self(names)
    }

    fn contains(&self, node: &str) -> bool {
        self.0.contains(node)
    }
}

/// Removes the nodes that have connected at some time.
async fn remove_agents(
    api: &SharedApiContext,
    nodes: &mut BTreeSet<&str>,
) -> Result<(), ApiFailure> {
    let mut after = String::new();
    while !nodes.is_empty() {
        let page = api.store.agents(&after, AGENTS_PAGE).await?;
        for agent in &page {
            nodes.remove(agent.as_str());
        }
        match page.into_iter().next_back() {
            Some(last) => after = last,
            None => break,
        }
    }
    Ok(())
}

/// The unknown nodes that are named, the first ones with similar names.
async fn add_near_names(
    unknown: BTreeSet<&str>,
    known: impl Iterator<Item = Certname>,
) -> Result<Vec<UnknownNode>, ApiFailure> {
    let named = unknown.into_iter().take(ABSENT_NODES_NAMED);
    let mut named: Vec<UnknownNode> = named
        .map(|name| UnknownNode {
            name: name.to_owned(),
            near: Vec::new(),
        })
        .collect();
    let known: BTreeSet<Certname> = known.collect();
    // Comparisons with all nodes keep a core busy for up to a second.
    let comparing = tokio::task::spawn_blocking(move || {
        for node in named.iter_mut().take(UNKNOWN_NODES_COMPARED) {
            let near = suggest::nearest(&node.name, known.iter().map(Certname::as_str));
            node.near = near.into_iter().map(str::to_owned).collect();
        }
        named
    });
    comparing
        .await
        .map_err(|error| ApiFailure::internal("compare names of nodes", &error))
}

fn count_omitted(nodes: usize) -> u64 {
    u64::try_from(nodes.saturating_sub(ABSENT_NODES_NAMED)).unwrap_or(u64::MAX)
}
