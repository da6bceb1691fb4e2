//! What a broker is told.
//!
//! [`BrokerConfig`] is plain data with defaults from [`crate::defaults`]; reading files is the
//! business of whoever starts the broker.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use pcp::Certname;
use pki::ServerCertnames;

use crate::authorization::Policy;
use crate::controllers::allowlist::DEFAULT_ALLOWLIST;
use crate::defaults;

/// Everything about one broker.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Where agents connect; 8142 in the field.
    pub listen: SocketAddr,
    /// The common name of the broker's own certificate: how it is called in inventories.
    pub certname: Certname,
    /// Who may send what; [`crate::ShippedPolicy`] makes a safe one.
    pub policy: Policy,
    /// Where the two versions of PCP are served.
    pub paths: Paths,
    /// Sizes and counts.
    pub limits: Limits,
    /// Times.
    pub timeouts: Timeouts,
    /// Orchestrators that the broker dials.
    pub controllers: Option<ControllersConfig>,
}

/// Request paths, without a slash at the end.
#[derive(Clone, Debug)]
pub struct Paths {
    /// PCP 1, binary frames. `None`: not served.
    pub v1: Option<String>,
    /// PCP 2, text frames. `None`: not served.
    pub v2: Option<String>,
}

/// Sizes and counts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Clients at most; 0 means any number. A client that replaces its own session is let in.
    pub max_connections: usize,
    /// Connections that are not associated yet.
    pub half_open: usize,
    /// Half-open connections from one network (an IPv4 address or an IPv6 /64) at once.
    pub half_open_per_network: usize,
    /// Handshakes that compute at the same time; one core less than there are, so that the
    /// associated clients are always served.
    pub handshakes: usize,
    /// One message.
    pub message_bytes: usize,
    /// Large messages being received, over all clients together; 4 GiB at most.
    pub assembly_bytes: usize,
    /// What waits for one client.
    pub outbox_bytes: usize,
}

/// Times.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From accept to the first byte.
    pub first_byte: Duration,
    /// From accept to association.
    pub opening: Duration,
    /// Silence of a client.
    pub idle: Duration,
    /// How long a sender waits for room at its target.
    pub delivery: Duration,
    /// For a large message to come in, beside what its size allows.
    pub assembly: Duration,
    /// In which a large message has to grow.
    pub assembly_progress: Duration,
    /// Between batches of inventory changes.
    pub inventory: Duration,
    /// For sessions to end when the broker stops.
    pub shutdown: Duration,
}

/// Orchestrators elsewhere, to which the broker connects by itself.
#[derive(Clone, Debug)]
pub struct ControllersConfig {
    /// `wss://host:port/path`; `/server` is appended.
    pub uris: Vec<String>,
    /// The certnames that controllers may have, beside the host name that is checked anyway.
    pub certnames: ServerCertnames,
    /// Message types that a controller may send.
    pub allowlist: Vec<String>,
    /// The broker's own certificate, presented as a client; read at each attempt.
    pub tls: pki::TlsFiles,
    /// Between pings.
    pub ping: Duration,
    /// First pause after a lost connection.
    pub backoff: Duration,
    /// Longest pause.
    pub backoff_max: Duration,
}

impl BrokerConfig {
    /// The defaults, for a broker of this name and policy.
    pub fn new(certname: Certname, policy: Policy) -> Self {
        Self {
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 8142)),
            certname,
            policy,
            paths: Paths::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            controllers: None,
        }
    }
}

impl ControllersConfig {
    /// The defaults, for these controllers.
    pub fn new(uris: Vec<String>, tls: pki::TlsFiles) -> Self {
        Self {
            uris,
            certnames: ServerCertnames::default(),
            allowlist: DEFAULT_ALLOWLIST
                .iter()
                .map(|&message_type| message_type.to_owned())
                .collect(),
            tls,
            ping: defaults::CONTROLLER_PING,
            backoff: defaults::CONTROLLER_BACKOFF,
            backoff_max: defaults::CONTROLLER_BACKOFF_MAX,
        }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            v1: Some("/pcp".to_owned()),
            v2: Some("/pcp2".to_owned()),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            max_connections: 0,
            half_open: defaults::HALF_OPEN,
            half_open_per_network: defaults::HALF_OPEN_PER_NETWORK,
            handshakes: cores.saturating_sub(1).max(1),
            message_bytes: defaults::MESSAGE_BYTES,
            assembly_bytes: defaults::ASSEMBLY_BYTES,
            outbox_bytes: defaults::OUTBOX_BYTES,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: admission::defaults::FIRST_BYTE,
            opening: defaults::OPENING_TIMEOUT,
            idle: defaults::IDLE_TIMEOUT,
            delivery: defaults::DELIVERY_PATIENCE,
            assembly: defaults::ASSEMBLY_GRACE,
            assembly_progress: defaults::ASSEMBLY_PROGRESS_WINDOW,
            inventory: defaults::INVENTORY_INTERVAL,
            shutdown: defaults::SHUTDOWN_TIMEOUT,
        }
    }
}
