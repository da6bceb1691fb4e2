//! Configuration of a broker.
//!
//! [`BrokerConfig`] is plain data with defaults from [`crate::defaults`]; the caller that starts
//! the broker reads the configuration files.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use pcp::Certname;
use pki::ServerCertnames;

use crate::authorization::AuthorizationPolicy;
use crate::controllers::allowlist::DEFAULT_ALLOWLIST;
use crate::defaults;

/// The complete configuration of one broker.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Address and port that agents connect to; usually port 8142.
    pub listen: SocketAddr,
    /// The common name of the broker's own certificate, which is its name in inventories.
    pub certname: Certname,
    /// Authorization rules for messages; [`crate::ShippedPolicy`] makes a safe policy.
    pub policy: AuthorizationPolicy,
    /// Request paths of the two versions of PCP.
    pub paths: RequestPaths,
    /// Upper limits for connections, handshakes, messages and queues.
    pub limits: BrokerLimits,
    /// Timeouts of connections, deliveries and shutdown.
    pub timeouts: BrokerTimeouts,
    /// Orchestrators that the broker connects to, if any.
    pub controllers: Option<ControllersConfig>,
}

/// Request paths, without a slash at the end.
#[derive(Clone, Debug)]
pub struct RequestPaths {
    /// Path of PCP 1 (binary frames); `None` if it is not served.
    pub v1: Option<String>,
    /// Path of PCP 2 (text frames); `None` if it is not served.
    pub v2: Option<String>,
}

/// Upper limits for connections, handshakes, messages and queues.
#[derive(Clone, Debug)]
pub struct BrokerLimits {
    /// Maximum number of clients; 0 means no limit. A client that replaces its own session is
    /// accepted even at the limit.
    pub max_connections: usize,
    /// Maximum number of connections that are not associated yet (half-open).
    pub half_open: usize,
    /// Maximum number of half-open connections from one network (an IPv4 address or an IPv6 /64).
    pub half_open_per_network: usize,
    /// Maximum number of handshakes computed at the same time. The default is one less than the
    /// number of cores (at least 1), so that associated clients are always served.
    pub handshakes: usize,
    /// Maximum size of one message, in bytes.
    pub message_bytes: usize,
    /// Bytes of large messages being received, for all clients together; 4 GiB at most.
    pub assembly_bytes: usize,
    /// Maximum number of bytes queued for one client.
    pub outbox_bytes: usize,
}

/// Timeouts of connections, deliveries and shutdown.
#[derive(Clone, Debug)]
pub struct BrokerTimeouts {
    /// Time allowed from accepting a connection to its first byte.
    pub first_byte: Duration,
    /// Time allowed from accepting a connection to its association.
    pub opening: Duration,
    /// Time that a client may stay silent.
    pub idle: Duration,
    /// Time that a sender waits for space in the queue of its target.
    pub delivery: Duration,
    /// Time allowed to receive a large message, in addition to the time that its size allows.
    pub assembly: Duration,
    /// Period within which a large message being received must grow.
    pub assembly_progress: Duration,
    /// Interval between batches of inventory changes.
    pub inventory: Duration,
    /// Time that sessions have to end when the broker stops.
    pub shutdown: Duration,
}

/// Remote orchestrators (controllers) to which the broker opens the connection.
#[derive(Clone, Debug)]
pub struct ControllersConfig {
    /// URIs of the controllers, `wss://host:port/path`; `/server` is appended.
    pub uris: Vec<String>,
    /// The certnames that controllers may have, in addition to the host name, which is always
    /// checked.
    pub certnames: ServerCertnames,
    /// Message types that a controller may send.
    pub allowlist: Vec<String>,
    /// The broker's own certificate, presented as a client; read at each attempt.
    pub tls: pki::TlsFiles,
    /// Interval between WebSocket pings to a controller.
    pub ping: Duration,
    /// First pause before reconnecting after a lost connection.
    pub backoff: Duration,
    /// Longest pause before reconnecting after a lost connection.
    pub backoff_max: Duration,
}

impl BrokerConfig {
    /// Returns the default configuration of a broker with this certname and policy.
    pub fn new(certname: Certname, policy: AuthorizationPolicy) -> Self {
        Self {
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 8142)),
            certname,
            policy,
            paths: RequestPaths::default(),
            limits: BrokerLimits::default(),
            timeouts: BrokerTimeouts::default(),
            controllers: None,
        }
    }
}

impl ControllersConfig {
    /// Returns the default configuration for these controllers.
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

impl Default for RequestPaths {
    fn default() -> Self {
        Self {
            v1: Some("/pcp".to_owned()),
            v2: Some("/pcp2".to_owned()),
        }
    }
}

impl Default for BrokerLimits {
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

impl Default for BrokerTimeouts {
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
