//! The connection to a PCP broker: one at a time, kept up permanently.
//!
//! [`BrokerConnection`] is the handle of the single task that connects, serves the session, waits,
//! and connects again. Pure parts, each tested alone: [`backoff`], [`brokers`], [`reconnect`],
//! [`keepalive`], [`association`], [`protocol`]. Invariants: no behaviour of a broker ends the
//! task; certificates, key and revocation lists are read anew at every attempt; the task ends only
//! with its handle.

mod announce;
pub mod association;
pub mod backoff;
pub mod brokers;
mod control;
mod dial;
pub mod keepalive;
mod live_connection;
pub(crate) mod probe;
pub mod protocol;
pub mod proxy;
pub mod reconnect;
mod session;
mod shared_keepalive;
mod sleep_watch;
mod task;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use pki::{ServerCertnames, TlsFiles};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use announce::CapabilitySource;
use backoff::BackoffLimits;
use brokers::{BrokerList, BrokerUri};
use keepalive::KeepaliveConfig;
pub use live_connection::LiveOutbox;
pub use protocol::PcpVersion;
use proxy::ProxyUri;
use reconnect::ReconnectPolicy;
pub use session::{MessageReceiver, MessageReply};

use crate::defaults;

/// All settings of the connection.
#[derive(Debug, Clone)]
pub struct ConnectionConfig {
    /// Brokers in order of preference; at least one.
    pub brokers: Vec<BrokerUri>,
    /// Shuffles the brokers at the start.
    pub shuffle_brokers: bool,
    /// HTTP proxy in front of the brokers; `None` connects directly.
    pub proxy: Option<ProxyUri>,
    /// Version of PCP, 1 or 2.
    pub pcp_version: PcpVersion,
    /// Certificate, key, CA bundle and revocation lists of the agent.
    pub tls: TlsFiles,
    /// Certnames that brokers may have, in addition to the check of the host name.
    pub broker_certnames: ServerCertnames,
    /// Timeout of TCP, proxy, TLS and upgrade together.
    pub connection_timeout: Duration,
    /// Intervals of WebSocket pings.
    pub keepalive: KeepaliveConfig,
    /// Time without received data after which the agent must have slept, and requests are too old.
    pub asleep_after: Duration,
    /// Timeout of the answer to a version 1 association.
    pub association_timeout: Duration,
    /// Lifetime of a version 1 message.
    pub message_ttl: Duration,
    /// Largest message accepted, in bytes; a larger one ends the connection.
    pub max_incoming_bytes: usize,
    /// Limits of the waits between attempts.
    pub backoff: BackoffLimits,
    /// Duration after which a connection counts as settled.
    pub settled_after: Duration,
    /// Interval between two probes of the preferred broker while another is in use.
    pub home_probe_interval: Duration,
    /// Interval between two checks of the announced capabilities.
    pub announce_interval: Duration,
    /// Time for the broker to answer a close frame.
    pub close_patience: Duration,
}

/// Current state of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// An attempt is in progress.
    Connecting {
        /// URI of the broker, as configured.
        broker: String,
    },
    /// The connection is established.
    Connected {
        /// URI of the broker, as configured.
        broker: String,
    },
    /// The agent waits before the next attempt.
    Waiting {
        /// Reason for which the last connection or attempt ended.
        reason: String,
        /// Length of the wait.
        delay: Duration,
    },
    /// The task has ended.
    Stopped,
}

/// Reason for which no connection can be attempted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionStartError {
    /// The list of brokers is empty.
    #[error("no broker is configured")]
    NoBroker,
}

/// The handle of the connection's task.
#[derive(Debug)]
pub struct BrokerConnection {
    cancel: CancellationToken,
    task: JoinHandle<()>,
    status: watch::Receiver<ConnectionStatus>,
    revocations: watch::Sender<()>,
}

// === impl ConnectionConfig ===

impl Default for ConnectionConfig {
    /// A configuration without broker and certificates; every number has its default.
    fn default() -> Self {
        let keepalive = KeepaliveConfig {
            interval: defaults::PING_INTERVAL,
            pong_timeout: defaults::PONG_TIMEOUT,
            allowed_misses: defaults::ALLOWED_KEEPALIVE_TIMEOUTS,
        };
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
            asleep_after: keepalive.longest_silence(),
            keepalive,
            association_timeout: defaults::ASSOCIATION_TIMEOUT,
            message_ttl: defaults::MESSAGE_TTL,
            max_incoming_bytes: defaults::MAX_INCOMING_BYTES,
            backoff: BackoffLimits::default(),
            settled_after: defaults::SETTLED_AFTER,
            home_probe_interval: defaults::HOME_PROBE_INTERVAL,
            announce_interval: defaults::ANNOUNCE_INTERVAL,
            close_patience: defaults::CLOSE_PATIENCE,
        }
    }
}

// === impl BrokerConnection ===

impl BrokerConnection {
    /// Starts the task. `announce` is read at every upgrade, and periodically while a connection
    /// lasts; received messages are passed to `receive`; `outbox` sends from now on.
    pub fn start(
        config: ConnectionConfig,
        announce: Arc<dyn CapabilitySource>,
        outbox: LiveOutbox,
        receive: Arc<dyn MessageReceiver>,
    ) -> Result<Self, ConnectionStartError> {
        let mut brokers =
            BrokerList::new(config.brokers.clone()).ok_or(ConnectionStartError::NoBroker)?;
        if config.shuffle_brokers {
            brokers.shuffle(&mut rand::rng());
        }
        let reconnect =
            ReconnectPolicy::new(brokers, config.backoff).with_settled_after(config.settled_after);
        let cancel = CancellationToken::new();
        let revocations = watch::Sender::new(());
        let (status, status_receiver) = watch::channel(ConnectionStatus::Connecting {
            broker: reconnect.broker().to_string(),
        });
        let task = task::ConnectionTask {
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

    /// The current status, with its changes.
    pub fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.status.clone()
    }

    /// Channel for notices that the file of revocation lists has changed: the connection is dropped
    /// if its broker is now revoked.
    pub fn revocations(&self) -> watch::Sender<()> {
        self.revocations.clone()
    }

    /// Closes the connection with a close frame and ends the task, at the latest at `deadline`.
    pub async fn shutdown(mut self, deadline: Duration) {
        self.cancel.cancel();
        if timeout(deadline, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for BrokerConnection {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}
