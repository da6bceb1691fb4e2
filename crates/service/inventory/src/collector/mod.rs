//! Collects facts from agents if there is no PuppetDB: [`Collector`].
//!
//! An actor keeps a [`Schedule`] of the connected nodes and requests facts from those that are
//! due. Invariants: only agents that announced support receive requests; the number of
//! simultaneous requests is bounded; neither a start nor a reconnect of the whole fleet causes a
//! burst. A node's own data is never used as trusted facts; these come from the holder of its
//! certificate data.

mod answer;
mod schedule;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pcp::Certname;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Inventory;
use crate::defaults::{ASK_TIMEOUT, ASKED_AT_ONCE, FACTS_INTERVAL, PRESENCE_BATCH};
use schedule::Schedule;

/// Sends a blocking request to a node and waits for its answer.
#[async_trait]
pub trait AskNode: Send + Sync + 'static {
    /// The node's response, or the reason why there is none, for the log.
    async fn ask(
        &self,
        certname: &Certname,
        module: &str,
        action: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, String>;

    /// Trusted facts from the node's certificate: `extensions` and so on. The node's own data is
    /// not used.
    fn trusted(&self, certname: &Certname) -> Map<String, Value>;
}

/// A change of the connected nodes.
#[derive(Clone, Debug)]
pub enum FleetNews {
    /// The complete list of connected nodes; all others are disconnected.
    All(Vec<ConnectedNode>),
    /// A node has connected.
    Came(ConnectedNode),
    /// A node's only session ended.
    Went(Certname),
}

/// A connected node, with the abilities of its agent.
#[derive(Clone, Debug)]
pub struct ConnectedNode {
    /// Certname of the node.
    pub certname: Certname,
    /// `true` if the node's agent announced that it can send facts.
    pub tells_facts: bool,
}

/// Settings of the fact collection.
#[derive(Clone, Debug)]
pub struct CollectorConfig {
    /// Interval between two collections from a node.
    pub interval: Duration,
    /// Maximum number of simultaneous requests to nodes.
    pub asked_at_once: usize,
    /// Timeout for the response of one node.
    pub timeout: Duration,
    /// Seed that spreads the nodes over time; the same seed gives the same spread.
    pub seed: u64,
}

impl Default for CollectorConfig {
    fn default() -> Self {
        Self {
            interval: FACTS_INTERVAL,
            asked_at_once: ASKED_AT_ONCE,
            timeout: ASK_TIMEOUT,
            seed: rand::random(),
        }
    }
}

/// Handle of the running collector.
pub struct Collector {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Collector {
    /// Starts to update `inventory` with the events of `feed`, which ends when its events are no
    /// longer received; with `asker`, collects facts from nodes as well.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        config: CollectorConfig,
        inventory: Inventory,
        asker: Option<Arc<dyn AskNode>>,
        feed: impl FnOnce(mpsc::Sender<FleetNews>) -> F,
    ) -> Self {
        let (sender, news) = mpsc::channel(PRESENCE_BATCH);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let actor = Actor {
            schedule: Schedule::new(config.interval, config.seed),
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

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

struct Actor {
    config: CollectorConfig,
    schedule: Schedule,
    inventory: Inventory,
    asker: Option<Arc<dyn AskNode>>,
    /// The pending requests, with their success.
    asking: JoinSet<(Certname, bool)>,
}

impl Actor {
    async fn run(mut self, mut news: mpsc::Receiver<FleetNews>, stop: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            self.ask_due();
            let next = match self.asking.len() < self.config.asked_at_once {
                true => self.schedule.next(),
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
                    self.take(std::mem::take(&mut batch)).await;
                }
                Some(asked) = self.asking.join_next() => {
                    if let Ok((certname, well)) = asked {
                        self.schedule.asked(&certname, well, Instant::now());
                    }
                }
                () = due => {}
            }
        }
    }

    async fn take(&mut self, batch: Vec<FleetNews>) {
        let mut came = Vec::new();
        for news in batch {
            match news {
                FleetNews::Came(node) => came.push(node),
                FleetNews::Went(certname) => {
                    came.retain(|node| node.certname != certname);
                    self.went(&certname);
                }
                FleetNews::All(nodes) => {
                    let there: HashSet<&Certname> =
                        nodes.iter().map(|node| &node.certname).collect();
                    for gone in self.schedule.absent(|name| there.contains(name)) {
                        self.went(&gone);
                    }
                    came = nodes;
                }
            }
        }
        let now = Instant::now();
        for node in &came {
            let asks = node.tells_facts && self.asker.is_some();
            let age = self.facts_age(&node.certname);
            self.schedule.came(&node.certname, asks, age, now);
        }
        let names: Vec<Certname> = came.into_iter().map(|node| node.certname).collect();
        if let Err(error) = self.inventory.connected(&names).await {
            tracing::warn!(%error, "cannot keep the names of connected nodes");
        }
    }

    fn went(&mut self, certname: &Certname) {
        self.schedule.went(certname);
        self.inventory.disconnected(certname);
    }

    /// Age of the node's facts.
    fn facts_age(&self, certname: &Certname) -> Option<Duration> {
        let snapshot = self.inventory.all_facts()?;
        let record = snapshot.get(certname)?.record.as_ref()?;
        let age = jiff::Timestamp::now().duration_since(record.timestamp);
        // Facts with a time in the future count as new.
        Some(Duration::try_from(age).unwrap_or_default())
    }

    fn ask_due(&mut self) {
        let Some(asker) = &self.asker else {
            return;
        };
        let now = Instant::now();
        while self.asking.len() < self.config.asked_at_once
            && let Some(certname) = self.schedule.due(now)
        {
            let (asker, inventory) = (Arc::clone(asker), self.inventory.clone());
            let timeout = self.config.timeout;
            self.asking.spawn(async move {
                let told = collect(&*asker, &inventory, &certname, timeout).await;
                if let Err(why) = &told {
                    tracing::info!(%certname, why, "no facts from a node; asking again later");
                }
                (certname, told.is_ok())
            });
        }
    }
}

async fn collect(
    asker: &dyn AskNode,
    inventory: &Inventory,
    certname: &Certname,
    timeout: Duration,
) -> Result<(), String> {
    let asked = asker.ask(certname, "facts", "collect", json!({}), timeout);
    let answer = asked.await?;
    let record = answer::record(answer, asker.trusted(certname))?;
    let kept = inventory.record_facts(certname, record).await;
    kept.map_err(|error| error.to_string())
}
