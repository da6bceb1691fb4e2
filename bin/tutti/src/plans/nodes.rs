//! Nodes and node groups that a plan may read: [`PlanNodes`].
//!
//! Invariant: a plan sees only the nodes and node groups that its owner may see at that moment, as
//! in the scope of a command.

use std::fmt;

use async_trait::async_trait;
use classifier::Classifier;
use fabric::Fabric;
use inventory::{Inventory, NodeQuery};
use jobs::{FleetResolver, NodeResolver as _};
use partial_debug::partial_debug;
use pcp::Certname;
use plan_language::{NodeQueries, NodesError, PlanOwner};
use rbac::{Rbac, RequestedPermission};
use serde_json::Value;

use super::owner::identity;

/// The inventory, the node groups and the connected nodes, with the rights of the plan's owner.
pub(super) struct PlanNodes {
    pub(super) access: Rbac,
    pub(super) inventory: Inventory,
    pub(super) classifier: Classifier,
    pub(super) fleet: FleetResolver,
    pub(super) fabric: Fabric,
}

#[async_trait]
impl NodeQueries for PlanNodes {
    async fn query(&self, owner: &PlanOwner, query: &Value) -> Result<Vec<Value>, NodesError> {
        self.require_permission(owner, RequestedPermission::any("nodes", "view_data"))
            .await?;
        let query = NodeQuery::from_json(query.clone()).map_err(to_nodes_error)?;
        self.inventory.query(&query).await.map_err(to_nodes_error)
    }

    async fn group(&self, owner: &PlanOwner, group: &str) -> Result<Vec<String>, NodesError> {
        let groups = self.classifier.groups();
        let named = groups.iter().find(|it| it.name == group);
        let id = named.map_or_else(|| group.to_owned(), |it| it.id.to_string());
        // An owner without the right must not learn if such a group exists.
        self.require_permission(owner, RequestedPermission::on("node_groups", "view", &id))
            .await?;
        self.fleet.nodes_of_group(&id).await.map_err(to_nodes_error)
    }

    async fn available(&self, certnames: &[String]) -> Vec<bool> {
        let is_there = |name: &Certname| {
            self.fabric.presence(name).is_some() || self.fabric.is_agentless_node(name)
        };
        let names = certnames.iter().map(|name| name.parse());
        names
            .map(|name| name.is_ok_and(|name| is_there(&name)))
            .collect()
    }
}

impl PlanNodes {
    /// Refuses a query for which the plan's owner lacks the permission.
    async fn require_permission(
        &self,
        owner: &PlanOwner,
        permission: RequestedPermission<'_>,
    ) -> Result<(), NodesError> {
        let identity = identity(&self.access, &owner.login, &owner.id).await;
        let allowed = self
            .access
            .authorize(&identity.map_err(to_nodes_error)?, permission);
        allowed.map_err(|denied| {
            to_nodes_error(format!("{denied}; a plan has the rights of its owner"))
        })
    }
}

fn to_nodes_error(error: impl fmt::Display) -> NodesError {
    NodesError(error.to_string())
}

partial_debug!(PlanNodes {});
