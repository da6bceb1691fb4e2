//! The node groups: [`open`] reads them, with the inventory as the source of facts.

use std::sync::Arc;

use ::classifier::{Classifier, FactSource, FactSourceError, NodeFacts};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use inventory::Inventory;
use pcp::Certname;
use serde_json::Value;
use store::Store;

/// Opens the node groups.
pub(crate) async fn open(store: Store, inventory: &Inventory) -> Result<Classifier> {
    let classifier = Classifier::open(store)
        .await
        .context("cannot open the node groups")?;
    classifier.set_fact_source(Arc::new(Facts(inventory.clone())));
    Ok(classifier)
}

/// What the inventory knows.
struct Facts(Inventory);

#[async_trait]
impl FactSource for Facts {
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError> {
        let known = self.0.facts(certname).await;
        let known = known.map_err(|error| FactSourceError {
            certname: certname.clone(),
            source: error.into(),
        })?;
        Ok(known.map(|record| {
            let mut node = NodeFacts::named(certname.clone());
            node.fact = Value::Object((*record.facts).clone());
            if !record.trusted.is_empty() {
                node.trusted = Value::Object((*record.trusted).clone());
            }
            node.requested_environment = record.environment;
            node
        }))
    }
}
