//! The connection to a PCP broker: one at a time, for ever.
//!
//! [`Connection`] is the handle of the one task that connects, serves the
//! session, waits, and connects again. Pure parts, each tested alone:
//! [`backoff`], [`brokers`], [`reconnect`], [`keepalive`], [`association`],
//! [`protocol`]. The rules that must hold: nothing that a broker does ends the
//! task; certificates, key and revocation lists are read anew at every
//! attempt; the task ends only with its handle.

mod announce;
pub mod association;
pub mod backoff;
pub mod brokers;
mod control;
mod dial;
pub mod keepalive;
mod live;
pub(crate) mod probe;
pub mod protocol;
pub mod proxy;
mod pulse;
pub mod reconnect;
mod session;
mod task;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use pki::{ServerCertnames, TlsFiles};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use announce::Announce;
use backoff::Limits;
use brokers::{BrokerUri, Brokers};
use keepalive::KeepaliveConfig;
pub use live::LiveOutbox;
pub use protocol::PcpVersion;
use proxy::ProxyUri;
use reconnect::Reconnect;
pub use session::{Receive, Reply};

use crate::defaults;

/// Everything that decides how the agent connects.
#[derive(Debug, Clone)]
pub struct ConnectionConfig {
    /// Brokers in order of preference; at least one.
    pub brokers: Vec<BrokerUri>,
    /// Put them in a random order first.
    pub shuffle_brokers: bool,
    /// Reach them through this proxy.
    pub proxy: Option<ProxyUri>,
    /// Which PCP to speak.
    pub pcp_version: PcpVersion,
    /// Who we are and whom we trust.
    pub tls: TlsFiles,
    /// The certnames that brokers may have, beside the host name that is checked anyway.
    pub broker_certnames: ServerCertnames,
    /// For TCP, proxy, TLS and upgrade together.
    pub connection_timeout: Duration,
    /// WebSocket pings.
    pub keepalive: KeepaliveConfig,
    /// For the answer to a version 1 association.
    pub association_timeout: Duration,
    /// Life of a version 1 message.
    pub message_ttl: Duration,
    /// Larger messages end the connection.
    pub max_incoming_bytes: usize,
    /// Waits between attempts.
    pub backoff: Limits,
    /// A connection that lasted this long was a good one.
    pub settled_after: Duration,
    /// How often to look for the preferred broker when on another.
    pub home_probe_interval: Duration,
    /// How often to look whether what the connection announced is still true.
    pub announce_interval: Duration,
    /// How long the broker may take to answer our close frame.
    pub close_patience: Duration,
}

/// What the connection is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// An attempt is under way.
    Connecting {
        /// The broker's address.
        broker: String,
    },
    /// There is a connection.
    Connected {
        /// The broker's address.
        broker: String,
    },
    /// Waiting before the next attempt.
    Waiting {
        /// Why the last connection or attempt ended.
        reason: String,
        /// How long.
        delay: Duration,
    },
    /// The end.
    Stopped,
}

/// No connection can be attempted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionStartError {
    /// The list of brokers is empty.
    #[error("no broker is configured")]
    NoBroker,
}

/// The handle of the connection's task.
#[derive(Debug)]
pub struct Connection {
    cancel: CancellationToken,
    task: JoinHandle<()>,
    status: watch::Receiver<Status>,
    revocations: watch::Sender<()>,
}

// === impl ConnectionConfig ===

impl Default for ConnectionConfig {
    /// No broker and no certificates; every number at its default.
    fn default() -> Self {
        Self {
            brokers: Vec::new(),
            shuffle_brokers: false,
            proxy: None,
            pcp_version: PcpVersion::default(),
            tls: TlsFiles {
                cert: "".into(),
                key: "".into(),
                ca: "".into(),
                crl: None,
            },
            broker_certnames: ServerCertnames::default(),
            connection_timeout: defaults::CONNECTION_TIMEOUT,
            keepalive: KeepaliveConfig {
                interval: defaults::PING_INTERVAL,
                pong_timeout: defaults::PONG_TIMEOUT,
                allowed_misses: defaults::ALLOWED_KEEPALIVE_TIMEOUTS,
            },
            association_timeout: defaults::ASSOCIATION_TIMEOUT,
            message_ttl: defaults::MESSAGE_TTL,
            max_incoming_bytes: defaults::MAX_INCOMING_BYTES,
            backoff: Limits::default(),
            settled_after: defaults::SETTLED_AFTER,
            home_probe_interval: defaults::HOME_PROBE_INTERVAL,
            announce_interval: defaults::ANNOUNCE_INTERVAL,
            close_patience: defaults::CLOSE_PATIENCE,
        }
    }
}

// === impl Connection ===

impl Connection {
    /// Starts the task. `announce` is asked at every upgrade, and again while a
    /// connection lasts; what arrives goes to `receive`; `outbox` sends from now on.
    pub fn start(
        config: ConnectionConfig,
        announce: Arc<dyn Announce>,
        outbox: LiveOutbox,
        receive: Arc<dyn Receive>,
    ) -> Result<Self, ConnectionStartError> {
        let mut brokers =
            Brokers::new(config.brokers.clone()).ok_or(ConnectionStartError::NoBroker)?;
        if config.shuffle_brokers {
            brokers.shuffle(&mut rand::rng());
        }
        let reconnect = Reconnect::new(brokers, config.backoff).settled_after(config.settled_after);
        let cancel = CancellationToken::new();
        let revocations = watch::Sender::new(());
        let (status, status_receiver) = watch::channel(Status::Connecting {
            broker: reconnect.broker().to_string(),
        });
        let task = task::Task {
            announce,
            config,
            reconnect,
            outbox,
            receive,
            cancel: cancel.clone(),
            status,
            revocations: revocations.subscribe(),
            waits: 0,
        };
        Ok(Self {
            cancel,
            task: tokio::spawn(task.run()),
            status: status_receiver,
            revocations,
        })
    }

    /// What the connection is doing, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Where to say that the file of revocation lists has changed: the
    /// connection is dropped if its broker is revoked now.
    pub fn revocations(&self) -> watch::Sender<()> {
        self.revocations.clone()
    }

    /// Says good-bye to the broker and ends; cuts it short at `deadline`.
    pub async fn shutdown(mut self, deadline: Duration) {
        self.cancel.cancel();
        if timeout(deadline, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}
