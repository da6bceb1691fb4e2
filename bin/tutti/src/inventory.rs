//! The inventory of nodes: [`open`] opens the one that the configuration names, and [`collect`]
//! fills an embedded one from the reports of agents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::inventory::{
    CollectorConfig, ConfError, ConnectedNode, FactCollector, FactRequester, Inventory,
    NodeConnectionChange,
};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use fabric::{Fabric, NodePresence, PresenceChange};
use jobs::Jobs;
use pcp::Certname;
use serde_json::{Map, Value};
use store::Store;
use tokio::sync::mpsc;

use crate::config::Config;

/// Added to the grace period for returning nodes, so that none of them counts any more.
const AFTER_GRACE: Duration = Duration::from_secs(1);

/// Opens the inventory that the configuration names. Neither an unreachable PuppetDB nor an
/// unreadable puppetdb.conf prevents the start.
pub(crate) async fn open(config: &Config, store: Store) -> Result<Inventory> {
    match &config.puppetdb {
        Some(puppetdb) if puppetdb.conf.is_some() => {
            let (own, puppetdb) = (config.tls_files(), puppetdb.clone());
            let read = move || {
                puppetdb
                    .settings(own.clone())
                    .map_err(unusable_conf_message)
            };
            Ok(Box::pin(Inventory::puppetdb_when_readable(read)).await)
        }
        Some(puppetdb) => {
            let settings = puppetdb.settings(config.tls_files());
            Ok(Inventory::puppetdb(
                settings.context("[puppetdb] of the configuration")?,
            ))
        }
        None => Inventory::embedded(store)
            .await
            .context("cannot read the inventory"),
    }
}

fn unusable_conf_message(error: ConfError) -> String {
    let error = format!("{:#}", anyhow::Error::new(error));
    format!(
        "puppetdb.conf of the configuration: {error}; mend the file, or name the servers in puppetdb.server_urls"
    )
}

/// Keeps an embedded inventory current. `None`: a PuppetDB is used.
pub(crate) fn collect(
    config: &Config,
    inventory: &Inventory,
    fabric: &Fabric,
    jobs: &Jobs,
) -> Option<FactCollector> {
    if !inventory.is_embedded() {
        return None;
    }
    let asker: Option<Arc<dyn FactRequester>> = match config.inventory.collect_facts {
        true => Some(Arc::new(AgentFactRequester(jobs.clone()))),
        false => None,
    };
    let settings = CollectorConfig {
        interval: Duration::from_secs(config.inventory.facts_interval_s),
        ..CollectorConfig::default()
    };
    let feed = {
        let (fabric, jobs) = (fabric.clone(), jobs.clone());
        move |news| forward_presence(fabric, jobs, news)
    };
    Some(FactCollector::start(
        settings,
        inventory.clone(),
        asker,
        feed,
    ))
}

/// Passes presence on until the collector ends. Nodes that are expected back after a restart count
/// as connected, as they do for new jobs; those that are still missing at the end of that time
/// count as gone.
async fn forward_presence(fabric: Fabric, jobs: Jobs, news: mpsc::Sender<NodeConnectionChange>) {
    let mut changes = fabric.watch_presence();
    let all = || {
        let returning = jobs.returning_nodes().into_iter().map(returning_node);
        let connected = fabric.connected_nodes();
        let connected = connected
            .into_iter()
            .map(|(name, presence)| node(name, &presence));
        // For a node in both lists, the later entry counts: it has the agent's capabilities.
        NodeConnectionChange::All(returning.chain(connected).collect())
    };
    let mut returning = jobs.returning_nodes();
    if news.send(all()).await.is_err() {
        return;
    }
    let grace_over = tokio::time::sleep(jobs.returning_grace() + AFTER_GRACE);
    tokio::pin!(grace_over);
    let mut is_grace_over = false;
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            () = &mut grace_over, if !is_grace_over => {
                is_grace_over = true;
                for certname in returning.drain(..) {
                    let is_away = fabric.presence(&certname).is_none();
                    if is_away && news.send(NodeConnectionChange::Disconnected(certname)).await.is_err() {
                        return;
                    }
                }
                continue;
            }
            () = news.closed() => return,
        };
        let told = match change {
            Ok(Some(PresenceChange::Connected(name, presence))) => {
                NodeConnectionChange::Connected(node(name, &presence))
            }
            Ok(Some(PresenceChange::Disconnected(name))) => {
                NodeConnectionChange::Disconnected(name)
            }
            Err(_missed) => all(),
            Ok(None) => return,
        };
        if news.send(told).await.is_err() {
            return;
        }
    }
}

fn returning_node(certname: Certname) -> ConnectedNode {
    ConnectedNode {
        certname,
        sends_facts: false,
    }
}

fn node(certname: Certname, presence: &NodePresence) -> ConnectedNode {
    let announced = presence.capabilities.as_ref();
    ConnectedNode {
        certname,
        sends_facts: announced.is_some_and(|capabilities| capabilities.facts),
    }
}

/// Collects facts through the job engine, which receives the broker's messages.
struct AgentFactRequester(Jobs);

#[async_trait]
impl FactRequester for AgentFactRequester {
    async fn send_request(
        &self,
        certname: &Certname,
        module: &str,
        action: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, String> {
        let asked = self
            .0
            .send_blocking_request(certname, module, action, &params, timeout);
        asked.await.map_err(|error| error.to_string())
    }

    /// The broker has verified the certname; it keeps no other field of the certificate.
    fn trusted_facts(&self, certname: &Certname) -> Map<String, Value> {
        ::inventory::trusted_facts(certname, BTreeMap::new())
    }
}
