//! The loop behind [`BrokerConnection`](super::BrokerConnection): attempt, session, wait.
//!
//! Invariant: every iteration has waited as long as [`ReconnectPolicy`] requires, or follows an
//! attempt that succeeded.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pki::RevokedCertificates;
use rand::RngExt;
use rustls_pki_types::CertificateDer;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::announce::{self, CapabilitySource};
use super::brokers::BrokerUri;
use super::dial::{self, BrokerDialError, OpenWebSocket};
use super::live_connection::LiveOutbox;
use super::reconnect::{ConnectionEnding, ReconnectPolicy};
use super::session::{EstablishedSession, MessageReceiver, SessionConfig, SessionEnd};
use super::{ConnectionConfig, ConnectionStatus};
use crate::defaults;
use error_causes::chain;

/// State of the loop.
pub(super) struct ConnectionTask {
    pub(super) config: ConnectionConfig,
    pub(super) announce: Arc<dyn CapabilitySource>,
    pub(super) reconnect: ReconnectPolicy,
    pub(super) outbox: LiveOutbox,
    pub(super) receive: Arc<dyn MessageReceiver>,
    pub(super) cancel: CancellationToken,
    pub(super) status: watch::Sender<ConnectionStatus>,
    /// Changes when the file of revocation lists changes.
    pub(super) revocations: watch::Receiver<()>,
    /// Number of waits since the last connection: a long absence is logged less and less often.
    pub(super) waits: u32,
}

/// End of one iteration, for the policy and for the log.
struct AttemptEnd {
    ending: ConnectionEnding,
    reason: String,
    /// A connection to the preferred broker that is already open.
    next: Option<OpenWebSocket>,
}

/// Close codes of brokers: RFC 6455 §7.4.1, its private range, and the registry's 1012.
mod close_code {
    /// The broker is being stopped.
    pub(super) const GOING_AWAY: u16 = 1001;
    /// The broker restarts, or requests that all agents reconnect.
    pub(super) const RESTARTS: u16 = 1012;
    /// The broker's rules do not admit this agent, or its client type is not allowed.
    pub(super) const ASSOCIATION_DENIED: u16 = 4002;
    /// The broker received no certificate from this agent.
    pub(super) const NO_CERTIFICATE: u16 = 4003;
    /// Another connection with the same certname replaced this one (Tutti's brokers).
    pub(super) const SUPERSEDED: u16 = 4001;
}

// === impl ConnectionTask ===

impl ConnectionTask {
    pub(super) async fn run(mut self) {
        let mut ready = None;
        while !self.cancel.is_cancelled() {
            let dialed = match ready.take() {
                Some(dialed) => Ok(dialed),
                None => self.attempt().await,
            };
            let ended = match dialed {
                // Boxed, so that a session's state is freed when it is over.
                Ok(dialed) => {
                    self.waits = 0;
                    Box::pin(self.serve(dialed)).await
                }
                Err(error) => AttemptEnd::from_dial(&error),
            };
            if self.cancel.is_cancelled() {
                break;
            }
            let delay = self.reconnect.record_ending(ended.ending, &mut rand::rng());
            ready = ended.next;
            if ready.is_none() {
                self.wait(ended.reason, delay).await;
            }
        }
        self.status.send_replace(ConnectionStatus::Stopped);
    }

    async fn attempt(&self) -> Result<OpenWebSocket, BrokerDialError> {
        let broker = self.reconnect.broker();
        tracing::debug!(%broker, "connecting");
        self.status.send_replace(ConnectionStatus::Connecting {
            broker: broker.to_string(),
        });
        tokio::select! {
            dialed = self.dial(broker) => dialed,
            () = self.cancel.cancelled() => Err(BrokerDialError::Cancelled),
        }
    }

    /// Dials `broker`. Boxed, so that the state of a handshake is freed when it is done.
    async fn dial(&self, broker: &BrokerUri) -> Result<OpenWebSocket, BrokerDialError> {
        let capabilities = announce::current_header(&self.announce).await;
        let capabilities = capabilities.ok_or(BrokerDialError::Cancelled)?;
        Box::pin(dial::dial(&self.config, broker, &capabilities)).await
    }

    async fn serve(&self, dialed: OpenWebSocket) -> AttemptEnd {
        let broker = dialed.broker.clone();
        tracing::info!(%broker, own = %dialed.own, pcp = ?self.config.pcp_version, "connected");
        self.status.send_replace(ConnectionStatus::Connected {
            broker: broker.to_string(),
        });
        let started = Instant::now();
        let certificates = dialed.stream.get_ref().1.peer_certificates();
        let leaf = certificates.and_then(|chain| chain.first()).cloned();
        let stop = CancellationToken::new();
        let session = EstablishedSession {
            stream: dialed.stream,
            received: dialed.received,
            config: SessionConfig {
                version: self.config.pcp_version,
                own: dialed.own,
                broker: broker.to_string(),
                keepalive: self.config.keepalive,
                asleep_after: self.config.asleep_after,
                association_timeout: self.config.association_timeout,
                message_ttl: self.config.message_ttl,
                max_incoming_bytes: self.config.max_incoming_bytes,
                close_patience: self.config.close_patience,
            },
            outbox: self.outbox.clone(),
            receive: Arc::clone(&self.receive),
        };
        let interval = self.config.announce_interval;
        let mut running = pin!(session.run(stop.clone()));
        let (end, next) = tokio::select! {
            end = &mut running => (end, None),
            home = self.wait_preferred_reachable() => {
                stop.cancel();
                (running.await, Some(home))
            }
            () = announce::wait_outdated(&self.announce, &dialed.announced, interval) => {
                tracing::info!("what this agent announced has changed; connecting anew to say so");
                stop.cancel();
                (running.await, None)
            }
            () = self.cancel.cancelled() => {
                stop.cancel();
                (running.await, None)
            }
            // Nothing more is read from it, and no close frame is sent.
            () = self.is_revoked(leaf) => (SessionEnd::Revoked, None),
        };
        AttemptEnd::from_session(&end, started.elapsed(), next)
    }

    /// Returns when the broker's certificate has been revoked by the current lists.
    async fn is_revoked(&self, leaf: Option<CertificateDer<'static>>) {
        let mut revocations = self.revocations.clone();
        let files = &self.config.tls;
        // The sender of changes is dropped only when the connection is to end.
        while revocations.changed().await.is_ok() {
            let (Some(leaf), Some(crl)) = (&leaf, &files.crl) else {
                continue;
            };
            match RevokedCertificates::read(&files.ca, crl) {
                Ok(lists) if lists.is_revoked(leaf) => return,
                Ok(_) => {}
                Err(error) => tracing::warn!(
                    error = %chain(&error),
                    "cannot check whether the broker's certificate is revoked"
                ),
            }
        }
        std::future::pending().await
    }

    /// Returns with a connection to the preferred broker, once it has been reachable for a while;
    /// never if it is the one in use.
    async fn wait_preferred_reachable(&self) -> OpenWebSocket {
        let Some(home) = self.reconnect.preferred_broker() else {
            return std::future::pending().await;
        };
        let mut reachable = 0;
        loop {
            let factor = rand::rng().random_range(0.5..=1.5);
            sleep(self.config.home_probe_interval.mul_f64(factor)).await;
            if !dial::is_reachable(&self.config, home).await {
                reachable = 0;
                continue;
            }
            reachable += 1;
            if reachable < defaults::HOME_PROBES_NEEDED {
                continue;
            }
            match self.dial(home).await {
                Ok(dialed) => {
                    tracing::info!(broker = %home, "the preferred broker is back; going there");
                    return dialed;
                }
                Err(error) => {
                    tracing::debug!(broker = %home, error = %chain(&error), "not going back yet");
                    reachable = 0;
                }
            }
        }
    }

    async fn wait(&mut self, reason: String, delay: Duration) {
        self.waits = self.waits.saturating_add(1);
        if self.waits.is_power_of_two() {
            tracing::warn!(
                reason,
                attempts = self.waits,
                next_broker = %self.reconnect.broker(),
                "not connected; next attempt in {:.1} s",
                delay.as_secs_f64()
            );
        }
        self.status
            .send_replace(ConnectionStatus::Waiting { reason, delay });
        tokio::select! {
            () = sleep(delay) => {}
            () = self.cancel.cancelled() => {}
        }
    }
}

// === impl AttemptEnd ===

impl AttemptEnd {
    fn from_dial(error: &BrokerDialError) -> Self {
        Self {
            ending: match error {
                _ if error.is_refusal() => ConnectionEnding::Denied,
                _ if error.is_port_closed() => ConnectionEnding::PortClosed,
                _ => ConnectionEnding::NotConnected,
            },
            reason: chain(error),
            next: None,
        }
    }

    fn from_session(end: &SessionEnd, lived: Duration, next: Option<OpenWebSocket>) -> Self {
        let mut reason = chain(end);
        let ending = match end {
            _ if next.is_some() => ConnectionEnding::ReturnedToPreferred,
            SessionEnd::Refused(_) => ConnectionEnding::Denied,
            SessionEnd::Closed { code, .. } => match *code {
                close_code::ASSOCIATION_DENIED | close_code::NO_CERTIFICATE => {
                    ConnectionEnding::Denied
                }
                close_code::SUPERSEDED => {
                    reason.push_str("; another agent uses this certname");
                    ConnectionEnding::Superseded
                }
                close_code::GOING_AWAY | close_code::RESTARTS => {
                    ConnectionEnding::BrokerStopping { lived }
                }
                _ => ConnectionEnding::Lost { lived },
            },
            SessionEnd::NotAssociated(_) => ConnectionEnding::NotConnected,
            _ => ConnectionEnding::Lost { lived },
        };
        Self {
            ending,
            reason,
            next,
        }
    }
}
