//! The effect of attackers without rights on the latency of honest clients: [`Scenario`].
//!
//! | module | purpose |
//! |---|---|
//! | [`attack`] | the attacks, on a thread of their own |
//! | [`probe`] | the honest actions |
//! | [`latency`] | both in turn, and the factor between them |
//! | [`memory`] | memory of half-open connections |
//! | [`reconnect`] | many honest agents from one address |
//!
//! Invariant: the server is the real program in a process of its own, and each figure contains the
//! processor time of the attacker and of the server.

pub mod attack;
pub mod latency;
pub mod memory;
pub mod probe;
pub mod reconnect;
mod requests;
mod site;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use attack::{Attack, FirstBytes};
use probe::HonestProbe;
use requests::{http_request, submit_certificate_request};

pub use site::FairnessSite;

/// The size of the measurement.
#[derive(Clone, Debug)]
pub struct FairnessSize {
    /// Number of pairs of a quiet and an attacked phase.
    pub rounds: usize,
    /// Minimum number of samples of each honest action in a phase.
    pub samples: usize,
    /// Minimum duration of a phase.
    pub phase: Duration,
    /// Number of half-open connections in the small and in the large attack on an HTTPS port.
    pub idle_https: [usize; 2],
    /// Number of half-open connections in the small and in the large attack on the broker.
    pub idle_broker: [usize; 2],
    /// Number of half-open connections whose memory is measured.
    pub measured_connections: usize,
    /// Number of agents that reconnect at once.
    pub agents: usize,
}

/// An attack and the honest actions that it may slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Half-open connections on a port.
    HalfOpen(ServerPort, FirstBytes, usize),
    /// TLS handshakes without a request on an HTTPS port.
    FullHandshakes(ServerPort),
    /// Large frames of a node's certificate.
    LargeFrames,
    /// Logins with invented names.
    InventedLogins,
    /// Certificate requests with invented names.
    CertificateRequests,
}

/// A listener of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPort {
    /// The API, on port 8143 in production.
    Api,
    /// The Puppet API, on port 8140 in production.
    PuppetApi,
    /// The broker, on port 8142 in production.
    Broker,
}

// === impl FairnessSize ===

impl FairnessSize {
    /// The size for published figures: seven rounds, so the median has three on either side, and
    /// phases longer than the time in which half-open connections are renewed.
    pub fn full(agents: usize) -> Self {
        Self {
            rounds: 7,
            samples: 30,
            phase: Duration::from_secs(3),
            idle_https: [1_000, 5_000],
            idle_broker: [1_500, 5_000],
            measured_connections: 3_000,
            agents,
        }
    }

    /// The smallest size, which only tests that everything works.
    pub fn smallest() -> Self {
        Self {
            rounds: 1,
            samples: 2,
            phase: Duration::ZERO,
            idle_https: [20, 40],
            idle_broker: [20, 40],
            measured_connections: 1_000,
            agents: 20,
        }
    }

    /// All scenarios, in the order of their figures.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let [few, many] = self.idle_https;
        let [few_agents, many_agents] = self.idle_broker;
        let silent = |port, connections| Scenario::HalfOpen(port, FirstBytes::None, connections);
        let half = |port, count| Scenario::HalfOpen(port, FirstBytes::HalfClientHello, count);
        vec![
            silent(ServerPort::Api, few),
            silent(ServerPort::Api, many),
            half(ServerPort::Api, few),
            silent(ServerPort::PuppetApi, few),
            silent(ServerPort::PuppetApi, many),
            half(ServerPort::PuppetApi, few),
            silent(ServerPort::Broker, few_agents),
            silent(ServerPort::Broker, many_agents),
            half(ServerPort::Broker, few_agents),
            Scenario::FullHandshakes(ServerPort::Api),
            Scenario::FullHandshakes(ServerPort::PuppetApi),
            Scenario::LargeFrames,
            Scenario::InventedLogins,
            Scenario::CertificateRequests,
        ]
    }

    /// The ports and kinds of connections whose memory is measured.
    pub fn measured_ports(&self) -> Vec<(ServerPort, FirstBytes)> {
        let ports = [ServerPort::Api, ServerPort::PuppetApi, ServerPort::Broker];
        let kinds = [FirstBytes::None, FirstBytes::HalfClientHello];
        let pairs = ports
            .iter()
            .flat_map(|port| kinds.map(|kind| (*port, kind)));
        pairs.collect()
    }
}

// === impl Scenario ===

impl Scenario {
    /// Description of the attack.
    pub fn what(&self) -> String {
        match self {
            Self::HalfOpen(port, first_bytes, connections) => {
                format!("{connections} {} on {}", first_bytes.what(), port.what())
            }
            Self::FullHandshakes(port) => format!("TLS handshakes on {}", port.what()),
            Self::LargeFrames => {
                "8 sessions of one certificate that announce 64 MiB each".to_owned()
            }
            Self::InventedLogins => "logins with invented names".to_owned(),
            Self::CertificateRequests => "certificate requests with invented names".to_owned(),
        }
    }

    fn attack(&self, site: &FairnessSite) -> Attack {
        match *self {
            Self::HalfOpen(port, first_bytes, connections) => Attack::HalfOpen {
                target: port.address(site),
                connections,
                first_bytes,
            },
            Self::FullHandshakes(port) => Attack::FullHandshakes {
                target: port.address(site),
                tls: Arc::clone(&site.anonymous_tls),
            },
            Self::LargeFrames => Attack::LargeFrames {
                broker: site.broker(),
                tls: Arc::clone(&site.lost_node_tls),
            },
            Self::InventedLogins => Attack::InventedLogins {
                api: site.api(),
                tls: Arc::clone(&site.anonymous_tls),
            },
            Self::CertificateRequests => Attack::CertificateRequests {
                ca: site.puppet_api(),
                tls: Arc::clone(&site.anonymous_tls),
            },
        }
    }

    fn probes(&self, site: &FairnessSite) -> Result<Vec<HonestProbe>> {
        Ok(match self {
            Self::HalfOpen(ServerPort::Api, ..) | Self::FullHandshakes(ServerPort::Api) => vec![
                HonestProbe::api_on_new_connection(site),
                HonestProbe::api_on_kept_connection(site),
            ],
            Self::HalfOpen(ServerPort::PuppetApi, ..)
            | Self::FullHandshakes(ServerPort::PuppetApi) => vec![
                HonestProbe::ca_on_new_connection(site),
                HonestProbe::ca_on_kept_connection(site),
            ],
            Self::HalfOpen(ServerPort::Broker, ..) | Self::FullHandshakes(ServerPort::Broker) => {
                vec![
                    HonestProbe::agent_connects(site),
                    HonestProbe::agent_ping(site),
                ]
            }
            Self::LargeFrames => vec![
                HonestProbe::large_result(site),
                HonestProbe::agent_ping(site),
            ],
            Self::InventedLogins => vec![
                HonestProbe::login(site)?,
                HonestProbe::api_by_certificate(site),
                HonestProbe::api_on_kept_connection(site),
            ],
            Self::CertificateRequests => vec![
                HonestProbe::new_node(site)?,
                HonestProbe::ca_on_kept_connection(site),
                HonestProbe::api_on_kept_connection(site),
            ],
        })
    }
}

// === impl ServerPort ===

impl ServerPort {
    /// Description of the port.
    pub fn what(self) -> &'static str {
        match self {
            Self::Api => "the API port",
            Self::PuppetApi => "the CA port",
            Self::Broker => "the broker port",
        }
    }

    /// The address of the port.
    pub fn address(self, site: &FairnessSite) -> std::net::SocketAddr {
        match self {
            Self::Api => site.api(),
            Self::PuppetApi => site.puppet_api(),
            Self::Broker => site.broker(),
        }
    }
}

// === impl FirstBytes ===

impl FirstBytes {
    /// Description of such connections.
    pub fn what(self) -> &'static str {
        match self {
            Self::None => "silent connections",
            Self::HalfClientHello => "half ClientHellos",
        }
    }
}
