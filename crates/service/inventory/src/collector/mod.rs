//! Collects facts from agents if there is no PuppetDB: [`FactCollector`].
//!
//! An actor keeps a [`CollectionSchedule`] of the connected nodes and requests facts from those
//! that are due. Invariants: only agents that announced support receive requests; the number of
//! simultaneous requests is bounded; neither a start nor a reconnect of the whole fleet causes a
//! burst. A node's own data is never used as trusted facts; these come from
//! [`FactRequester::trusted_facts`].

mod facts_response;
mod schedule;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use partial_debug::partial_debug;
use pcp::Certname;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Inventory;
use crate::defaults::{ASK_TIMEOUT, ASKED_AT_ONCE, FACTS_INTERVAL, PRESENCE_BATCH};
use schedule::CollectionSchedule;

/// Sends a blocking request to a node and waits for its answer.
#[async_trait]
pub trait FactRequester: Send + Sync + 'static {
    /// The node's response, or the reason why there is none, for the log.
    async fn send_request(
        &self,
        certname: &Certname,
        module: &str,
        action: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, String>;

    /// Trusted facts from the node's certificate: `extensions` and so on. The node's own data is
    /// not used.
    fn trusted_facts(&self, certname: &Certname) -> Map<String, Value>;
}

/// A change of the connected nodes.
#[derive(Clone, Debug)]
pub enum NodeConnectionChange {
    /// The complete list of connected nodes; all others are disconnected.
    All(Vec<ConnectedNode>),
    /// A node has connected.
    Connected(ConnectedNode),
    /// A node's only session ended.
    Disconnected(Certname),
}

/// A connected node, with the abilities of its agent.
#[derive(Clone, Debug)]
pub struct ConnectedNode {
    /// Certname of the node.
    pub certname: Certname,
    /// `true` if the node's agent announced that it can send facts.
    pub sends_facts: bool,
}

/// Settings of the fact collection.
#[derive(Clone, Debug)]
pub struct CollectorConfig {
    /// Interval between two collections from a node.
    pub interval: Duration,
    /// Maximum number of simultaneous requests to nodes.
    pub concurrent_requests: usize,
    /// Timeout for the response of one node.
    pub timeout: Duration,
    /// Seed that spreads the nodes over time; the same seed gives the same spread.
    pub seed: u64,
}

impl Default for CollectorConfig {
    fn default() -> Self {
        Self {
            interval: FACTS_INTERVAL,
            concurrent_requests: ASKED_AT_ONCE,
            timeout: ASK_TIMEOUT,
            seed: rand::random(),
        }
    }
}

/// Handle of the running collector.
pub struct FactCollector {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl FactCollector {
    /// Starts to update `inventory` with the events of `feed`, which ends when its events are no
    /// longer received. With `asker`, facts are collected from nodes as well.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        config: CollectorConfig,
        inventory: Inventory,
        asker: Option<Arc<dyn FactRequester>>,
        feed: impl FnOnce(mpsc::Sender<NodeConnectionChange>) -> F,
    ) -> Self {
        let (sender, news) = mpsc::channel(PRESENCE_BATCH);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let actor = CollectorActor {
            schedule: CollectionSchedule::new(config.interval, config.seed),
            config,
            inventory,
            asker,
            asking: JoinSet::new(),
        };
        tasks.spawn(actor.run(news, stop.clone()));
        tasks.spawn(feed(sender));
        tasks.close();
        Self { tasks, stop }
    }

    /// Stops the collector without waiting for pending responses: these facts are collected later.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Drop for FactCollector {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

partial_debug!(FactCollector {});

struct CollectorActor {
    config: CollectorConfig,
    schedule: CollectionSchedule,
    inventory: Inventory,
    asker: Option<Arc<dyn FactRequester>>,
    /// The pending requests, with their success.
    asking: JoinSet<(Certname, bool)>,
}

impl CollectorActor {
    async fn run(
        mut self,
        mut news: mpsc::Receiver<NodeConnectionChange>,
        stop: CancellationToken,
    ) {
        let mut batch = Vec::new();
        loop {
            self.request_due();
            let next = match self.asking.len() < self.config.concurrent_requests {
                true => self.schedule.next_due(),
                false => None,
            };
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return self.asking.shutdown().await,
                count = news.recv_many(&mut batch, PRESENCE_BATCH) => {
                    // The sender is closed: the server is shutting down.
                    if count == 0 {
                        return self.asking.shutdown().await;
                    }
                    self.apply_changes(std::mem::take(&mut batch)).await;
                }
                Some(asked) = self.asking.join_next() => {
                    if let Ok((certname, well)) = asked {
                        self.schedule.record_result(&certname, well, Instant::now());
                    }
                }
                () = due => {}
            }
        }
    }

    async fn apply_changes(&mut self, batch: Vec<NodeConnectionChange>) {
        let mut came = Vec::new();
        for news in batch {
            match news {
                NodeConnectionChange::Connected(node) => came.push(node),
                NodeConnectionChange::Disconnected(certname) => {
                    came.retain(|node| node.certname != certname);
                    self.handle_disconnected(&certname);
                }
                NodeConnectionChange::All(nodes) => {
                    let there: HashSet<&Certname> =
                        nodes.iter().map(|node| &node.certname).collect();
                    for gone in self.schedule.nodes_absent(|name| there.contains(name)) {
                        self.handle_disconnected(&gone);
                    }
                    came = nodes;
                }
            }
        }
        let now = Instant::now();
        for node in &came {
            let asks = node.sends_facts && self.asker.is_some();
            let age = self.facts_age(&node.certname);
            self.schedule.add_node(&node.certname, asks, age, now);
        }
        let names: Vec<Certname> = came.into_iter().map(|node| node.certname).collect();
        if let Err(error) = self.inventory.record_connected(&names).await {
            tracing::warn!(%error, "cannot keep the names of connected nodes");
        }
    }

    fn handle_disconnected(&mut self, certname: &Certname) {
        self.schedule.remove_node(certname);
        self.inventory.record_disconnected(certname);
    }

    /// Age of the node's facts.
    fn facts_age(&self, certname: &Certname) -> Option<Duration> {
        let snapshot = self.inventory.snapshot()?;
        let record = snapshot.get(certname)?.record.as_ref()?;
        let age = jiff::Timestamp::now().duration_since(record.timestamp);
        // Facts with a time in the future count as new.
        Some(Duration::try_from(age).unwrap_or_default())
    }

    fn request_due(&mut self) {
        let Some(asker) = &self.asker else {
            return;
        };
        let now = Instant::now();
        while self.asking.len() < self.config.concurrent_requests
            && let Some(certname) = self.schedule.take_due(now)
        {
            let (asker, inventory) = (Arc::clone(asker), self.inventory.clone());
            let timeout = self.config.timeout;
            self.asking.spawn(async move {
                let told = collect_facts(&*asker, &inventory, &certname, timeout).await;
                if let Err(why) = &told {
                    tracing::info!(%certname, why, "no facts from a node; asking again later");
                }
                (certname, told.is_ok())
            });
        }
    }
}

/// Trusted data with extensions, which the node's certificate had in its last request for a catalog.
/// The broker knows less of the certificate. `None` if there is none.
async fn known_trusted(inventory: &Inventory, certname: &Certname) -> Option<Map<String, Value>> {
    let known = inventory.facts(certname).await.ok()??;
    let extensions = known.trusted.get("extensions")?.as_object()?;
    match extensions.is_empty() {
        true => None,
        false => Some(Map::clone(&known.trusted)),
    }
}

async fn collect_facts(
    asker: &dyn FactRequester,
    inventory: &Inventory,
    certname: &Certname,
    timeout: Duration,
) -> Result<(), String> {
    let asked = asker.send_request(certname, "facts", "collect", json!({}), timeout);
    let answer = asked.await?;
    let trusted = known_trusted(inventory, certname).await;
    let trusted = trusted.unwrap_or_else(|| asker.trusted_facts(certname));
    let record = facts_response::parse_record(answer, trusted)?;
    let kept = inventory.record_facts(certname, record).await;
    kept.map_err(|error| error.to_string())
}
