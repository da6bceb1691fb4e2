//! Simulated agents over real mutual-TLS sockets, tens of thousands in one process.
//!
//! Main type: [`Fleet`].
//!
//! Invariant: a simulated agent keeps the state that a real one keeps on disk (its spool), so that
//! a connection may be cut at any moment and the [`Ledger`] still has the executions of every
//! action.

mod agent;
mod faults;
mod identities;
mod ledger;
mod link;

pub use faults::Faults;
pub use identities::{Identities, KeyKind};
pub use ledger::Ledger;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pcp::Certname;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::installation::Installation;

use agent::SimulatedAgent;

/// Sockets per loopback address: the kernel's ephemeral range (32768-60999) less a margin.
const SOCKETS_PER_ADDRESS: usize = 20_000;

/// Default number of concurrent handshakes, chosen so that the simulator's own CPU is not the
/// queue.
const HANDSHAKES_AT_ONCE: usize = 64;

/// Default output of an action.
const OUTPUT: &str = "simulated\n";

/// The PCP version of the agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// PCP v1: chunks in binary frames, as stock agents use by default.
    V1,
    /// PCP v2: JSON in text frames.
    #[default]
    V2,
}

/// Settings of a simulation.
#[derive(Clone, Debug)]
pub struct FleetConfig {
    /// Address of the broker.
    pub broker: SocketAddr,
    /// The name in the broker's certificate.
    pub server_name: String,
    /// The PCP version of the agents.
    pub protocol: Protocol,
    /// The faults and their probabilities.
    pub faults: Faults,
    /// True if the agents announce Tutti's extensions; otherwise they behave like a stock
    /// pxp-agent.
    pub extensions: bool,
    /// True if an agent reconnects by itself after a lost connection.
    pub reconnect: bool,
    /// Maximum number of connections that the agents open at the same time.
    pub handshakes_at_once: usize,
    /// The output of every action.
    pub output: Arc<str>,
    /// The seed of all random decisions.
    pub seed: u64,
}

/// Agents that are connected, or try to connect.
#[derive(Debug)]
pub struct Fleet {
    shared: Arc<Shared>,
    agents: Vec<Certname>,
    /// One per agent; a notification cuts its connection.
    cuts: Vec<Arc<Notify>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub config: FleetConfig,
    pub ledger: Ledger,
    pub handshakes: Semaphore,
    pub connected: AtomicUsize,
    pub changed: watch::Sender<usize>,
}

// === impl FleetConfig ===

impl FleetConfig {
    /// Settings of faultless PCP v2 agents with Tutti's extensions, on an installation's own
    /// broker.
    pub fn new(installation: &Installation) -> Self {
        Self {
            broker: SocketAddr::from(([127, 0, 0, 1], installation.broker_port())),
            server_name: "localhost".to_owned(),
            protocol: Protocol::V2,
            faults: Faults::default(),
            extensions: true,
            reconnect: true,
            handshakes_at_once: HANDSHAKES_AT_ONCE,
            output: OUTPUT.into(),
            seed: 1,
        }
    }
}

// === impl Fleet ===

impl Fleet {
    /// Starts one task per identity; [`Self::all_connected`] waits until they are associated.
    pub fn start(config: FleetConfig, identities: &Identities) -> Self {
        let shared = Arc::new(Shared {
            handshakes: Semaphore::new(config.handshakes_at_once),
            config,
            ledger: Ledger::default(),
            connected: AtomicUsize::new(0),
            changed: watch::Sender::new(0),
        });
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let mut cuts = Vec::with_capacity(identities.len());
        for (index, identity) in identities.iter().enumerate() {
            let cut = Arc::new(Notify::new());
            let agent = SimulatedAgent::new(
                index,
                identity.clone(),
                local_address(index),
                Arc::clone(&shared),
                Arc::clone(&cut),
            );
            tasks.spawn(stop.clone().run_until_cancelled_owned(agent.run()));
            cuts.push(cut);
        }
        tasks.close();
        let agents = identities
            .iter()
            .map(|identity| identity.certname.clone())
            .collect();
        Self {
            shared,
            agents,
            cuts,
            tasks,
            stop,
        }
    }

    /// The certnames, in order.
    pub fn certnames(&self) -> &[Certname] {
        &self.agents
    }

    /// Number of agents that are associated.
    pub fn connected(&self) -> usize {
        self.shared.connected.load(Ordering::Relaxed)
    }

    /// Waits until every agent is associated.
    pub async fn all_connected(&self) {
        self.connected_at_least(self.agents.len()).await;
    }

    /// Waits until `count` agents are associated.
    pub async fn connected_at_least(&self, count: usize) {
        let mut changed = self.shared.changed.subscribe();
        // `shared` holds the sender, so this ends only by the condition.
        let _ = changed.wait_for(|connected| *connected >= count).await;
    }

    /// Waits until no agent is associated.
    pub async fn all_disconnected(&self) {
        let mut changed = self.shared.changed.subscribe();
        let _ = changed.wait_for(|connected| *connected == 0).await;
    }

    /// Cuts the connection of one agent, as a kill would; its spool remains.
    pub fn cut(&self, index: usize) {
        self.cuts[index].notify_one();
    }

    /// The executions of all actions.
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// Stops every agent and waits for its end.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Shared {
    pub(crate) fn came(&self) {
        let now = self.connected.fetch_add(1, Ordering::Relaxed) + 1;
        self.changed.send_replace(now);
    }

    pub(crate) fn went(&self) {
        let now = self.connected.fetch_sub(1, Ordering::Relaxed) - 1;
        self.changed.send_replace(now);
    }
}

/// The source address of an agent: agents are spread over 127.0.0.2, 127.0.0.3, …, since one
/// address has some 28,000 ports.
fn local_address(index: usize) -> IpAddr {
    let block = u8::try_from(2 + index / SOCKETS_PER_ADDRESS).unwrap_or(u8::MAX);
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, block))
}
