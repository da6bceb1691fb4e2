//! Requests of agents for catalogs and files while releases of their environment are deployed, with a check of
//! each answer. Main type: [`ReleaseTraffic`].
//!
//! | module | purpose |
//! |---|---|
//! | `releases` | the code of each release, which says its number everywhere |
//! | `answer` | the releases that the parts of an answer are of |
//! | `node` | the requests of a node, and the check that no answer is stale |
//! | `report` | times and releases |
//!
//! Invariant: the first answer that mixes two releases, or is of a release that was not live, ends the traffic with
//! an error.

mod answer;
mod node;
mod releases;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::installation::Installation;
use node::TrafficNode;
pub use releases::Releases;
pub use report::{LONG_WAIT, RequestKind, TrafficReport};

/// Requests that a node sends in a round.
const REQUESTS_OF_ROUND: u64 = 10;

/// Simulated nodes of an installation, in the environment `production`.
pub struct ReleaseTraffic {
    nodes: Vec<TrafficNode>,
}

/// The progress of the nodes. Clones share it.
#[derive(Clone, Debug)]
pub struct TrafficProgress {
    /// Number of rounds that each node has ended.
    rounds: watch::Receiver<Vec<u64>>,
}

/// The end of the traffic, which comes when there were enough requests and the work beside them is over.
#[derive(Debug, Default)]
struct TrafficEnd {
    requests: AtomicU64,
    is_work_over: AtomicBool,
}

// === impl ReleaseTraffic ===

impl ReleaseTraffic {
    /// Nodes with certificates of the installation.
    pub fn new(
        installation: &Installation,
        releases: &Arc<Releases>,
        nodes: usize,
    ) -> Result<Self> {
        let nodes = (1..=nodes).map(|number| {
            let certname = format!("node{number}.test");
            TrafficNode::new(installation, Arc::clone(releases), &certname)
        });
        Ok(Self {
            nodes: nodes.collect::<Result<_>>()?,
        })
    }

    /// Lets all nodes send requests, one at a time each, until these are as many as `requests` and `work` is over.
    pub async fn during<W>(
        &mut self,
        requests: u64,
        work: impl FnOnce(TrafficProgress) -> W,
    ) -> Result<TrafficReport>
    where
        W: Future<Output = Result<()>>,
    {
        let end = Arc::new(TrafficEnd::default());
        let (sender, rounds) = watch::channel(vec![0; self.nodes.len()]);
        let sender = Arc::new(sender);
        let mut sending = JoinSet::new();
        for (number, node) in self.nodes.drain(..).enumerate() {
            let (end, sender) = (Arc::clone(&end), Arc::clone(&sender));
            sending.spawn(send_rounds(node, requests, end, move || {
                sender.send_modify(|rounds| rounds[number] += 1);
            }));
        }
        let ended = async {
            let mut report = TrafficReport::default();
            let mut nodes = Vec::new();
            while let Some(sent) = sending.join_next().await {
                let (node, of_node) = sent.context("a node panicked")??;
                nodes.push(node);
                report.merge(of_node);
            }
            anyhow::Ok((nodes, report))
        };
        let working = async {
            work(TrafficProgress { rounds }).await?;
            end.is_work_over.store(true, Ordering::Relaxed);
            anyhow::Ok(())
        };
        // The first error of either side ends both.
        let ((nodes, report), ()) = tokio::try_join!(ended, working)?;
        self.nodes = nodes;
        Ok(report)
    }
}

/// Sends the requests of a node until the end of the traffic.
async fn send_rounds(
    mut node: TrafficNode,
    requests: u64,
    end: Arc<TrafficEnd>,
    round_ended: impl Fn(),
) -> Result<(TrafficNode, TrafficReport)> {
    let mut connection = node.connect().await?;
    let mut report = TrafficReport::default();
    while !end.is_reached(requests) {
        let before = report.requests();
        node.round(&mut connection, &mut report).await?;
        let sent = u64::try_from(report.requests() - before)?;
        debug_assert_eq!(sent, REQUESTS_OF_ROUND);
        end.requests.fetch_add(sent, Ordering::Relaxed);
        round_ended();
    }
    Ok((node, report))
}

impl std::fmt::Debug for ReleaseTraffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes = self.nodes.len();
        f.debug_struct("ReleaseTraffic")
            .field("nodes", &nodes)
            .finish_non_exhaustive()
    }
}

// === impl TrafficProgress ===

impl TrafficProgress {
    /// Waits until the nodes have sent this many requests together.
    pub async fn requests(&mut self, requests: u64) -> Result<()> {
        let rounds = requests.div_ceil(REQUESTS_OF_ROUND);
        let is_enough = |of_nodes: &Vec<u64>| of_nodes.iter().sum::<u64>() >= rounds;
        let waited = self.rounds.wait_for(is_enough).await;
        waited.context("a node ended")?;
        Ok(())
    }

    /// Waits until each node has begun and ended a round.
    pub async fn whole_round(&mut self) -> Result<()> {
        let before = self.rounds.borrow_and_update().clone();
        let is_whole = |rounds: &Vec<u64>| {
            // The round that ends next may have begun before.
            let pairs = rounds.iter().zip(&before);
            pairs.into_iter().all(|(now, before)| *now >= before + 2)
        };
        let waited = self.rounds.wait_for(is_whole).await;
        waited.context("a node ended")?;
        Ok(())
    }
}

// === impl TrafficEnd ===

impl TrafficEnd {
    fn is_reached(&self, requests: u64) -> bool {
        self.is_work_over.load(Ordering::Relaxed)
            && self.requests.load(Ordering::Relaxed) >= requests
    }
}
