//! What plans may ask of nodes: [`Known`].

use std::fmt;

use async_trait::async_trait;
use classifier::Classifier;
use fabric::Fabric;
use inventory::{Inventory, Query};
use jobs::{Fleet, Resolve as _};
use pcp::Certname;
use plan_language::{Nodes, NodesError};
use serde_json::Value;

/// The inventory, the classifier and whoever is connected.
pub(super) struct Known {
    pub(super) inventory: Inventory,
    pub(super) classifier: Classifier,
    pub(super) fleet: Fleet,
    pub(super) fabric: Fabric,
}

#[async_trait]
impl Nodes for Known {
    async fn query(&self, query: &Value) -> Result<Vec<Value>, NodesError> {
        let query = Query::from_json(query.clone()).map_err(told)?;
        self.inventory.query(&query).await.map_err(told)
    }

    async fn group(&self, group: &str) -> Result<Vec<String>, NodesError> {
        let groups = self.classifier.groups();
        let named = groups.iter().find(|it| it.name == group);
        let id = named.map_or_else(|| group.to_owned(), |it| it.id.to_string());
        self.fleet.node_group(&id).await.map_err(told)
    }

    async fn available(&self, certnames: &[String]) -> Vec<bool> {
        let is_there = |name: &Certname| {
            self.fabric.presence(name).is_some() || self.fabric.stands_in_for(name)
        };
        let names = certnames.iter().map(|name| name.parse());
        names
            .map(|name| name.is_ok_and(|name| is_there(&name)))
            .collect()
    }
}

fn told(error: impl fmt::Display) -> NodesError {
    NodesError(error.to_string())
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}
