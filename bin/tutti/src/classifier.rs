//! The node groups: [`open`] reads them, with the inventory as the source of facts and the
//! puppetserver of the configuration, if there is one, as the source of classes.

use std::sync::Arc;

use ::classifier::defaults::CLASSES_INTERVAL;
use ::classifier::{ClassRefresh, Classifier, FactSource, FactSourceError, NodeFacts};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use inventory::Inventory;
use pcp::Certname;
use serde_json::Value;
use store::Store;

use crate::config::Config;

/// Keeps the list of classes current. `None`: no puppetserver is configured.
pub(crate) fn read_classes(
    config: &Config,
    classifier: &Classifier,
) -> Result<Option<ClassRefresh>> {
    let Some(named) = &config.puppetserver else {
        return Ok(None);
    };
    let (url, files) = named.resolve_connection(config.tls_files())?;
    let source = ::classifier::PuppetserverClasses::new(url, files);
    let source = match named.front {
        true => source.behind(),
        false => source,
    };
    classifier.set_class_source(Arc::new(source));
    let refresh = ClassRefresh::start(classifier.clone(), CLASSES_INTERVAL);
    Ok(Some(refresh))
}

/// Opens the node groups.
pub(crate) async fn open(store: Store, inventory: &Inventory) -> Result<Classifier> {
    let classifier = Classifier::open(store)
        .await
        .context("cannot open the node groups")?;
    classifier.set_fact_source(Arc::new(InventoryFactSource(inventory.clone())));
    Ok(classifier)
}

/// The inventory as a source of facts.
struct InventoryFactSource(Inventory);

#[async_trait]
impl FactSource for InventoryFactSource {
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError> {
        let known = self.0.facts(certname).await;
        let known = known.map_err(|error| FactSourceError {
            certname: certname.clone(),
            source: error.into(),
        })?;
        Ok(known.map(|record| {
            let mut node = NodeFacts::without_facts(certname.clone());
            node.fact = Value::Object((*record.facts).clone());
            if !record.trusted.is_empty() {
                node.trusted = Value::Object((*record.trusted).clone());
            }
            node.requested_environment = record.environment;
            node
        }))
    }
}
