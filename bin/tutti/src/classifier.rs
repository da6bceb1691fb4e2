//! The node groups: [`open`] reads them, with the inventory as the source of facts and the
//! puppetserver of the configuration, if there is one, as the source of classes.

use std::path::PathBuf;
use std::sync::Arc;

use ::classifier::defaults::CLASSES_INTERVAL;
use ::classifier::{ClassRefresh, Classifier, FactSource, FactSourceError, NodeFacts};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use inventory::Inventory;
use pcp::Certname;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use store::Store;

use crate::config::Config;

/// The puppetserver from which classes are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PuppetserverSection {
    /// URL of the puppetserver, `https://HOST:8140`.
    pub url: String,
    /// CA certificate for the puppetserver. The server's own certificate files are used for absent
    /// ones.
    pub cacert: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// True if it is on this machine and uses Tutti's code ids.
    #[serde(default)]
    pub code_ids: bool,
}

impl PuppetserverSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.parse_url().map(|_| ())
    }

    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.cacert, &mut self.cert, &mut self.key]
            .into_iter()
            .flatten()
    }

    /// URL of the puppetserver, and the TLS files used for it.
    pub(crate) fn resolve_connection(&self, config: &Config) -> Result<(Url, pki::TlsFiles)> {
        let url = self.parse_url().map_err(anyhow::Error::msg)?;
        let files = [&self.cacert, &self.cert, &self.key].map(|file| file.as_deref());
        Ok((url, config.client_files(files[0], files[1], files[2])))
    }

    fn parse_url(&self) -> Result<Url, String> {
        match self.url.parse::<Url>() {
            Ok(url) if url.scheme() == "https" && url.has_host() => Ok(url),
            _ => Err("puppetserver.url must be like https://puppet.example:8140".to_owned()),
        }
    }
}

/// Keeps the list of classes current. `None`: no puppetserver is configured.
pub(crate) fn read_classes(
    config: &Config,
    classifier: &Classifier,
) -> Result<Option<ClassRefresh>> {
    let Some(named) = &config.puppetserver else {
        return Ok(None);
    };
    let (url, files) = named.resolve_connection(config)?;
    let source = ::classifier::PuppetserverClasses::new(url, files);
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
