//! Accepts connections within limits: [`ConnectionGate`] and [`AdmissionPermit`].

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::defaults::SUMMARY_INTERVAL;
use crate::limits::AdmissionLimits;
use crate::network::PeerNetwork;
use crate::table::{AdmissionDecision, AdmissionTable, ConnectionStage};

/// The gate of one listener; clones share it.
#[derive(Debug, Clone)]
pub struct ConnectionGate(Arc<GateState>);

#[derive(Debug)]
struct GateState {
    limits: AdmissionLimits,
    table: Mutex<AdmissionTable<CancellationToken>>,
    left: Notify,
    summary: Mutex<DropSummary>,
}

/// The right of one connection to exist; its limits are free again when this is dropped.
#[derive(Debug)]
pub struct AdmissionPermit {
    gate: Arc<GateState>,
    number: u64,
    network: PeerNetwork,
    displaced: CancellationToken,
}

/// Reason for which a connection ended before its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFirstByte {
    /// [`AdmissionLimits::first_byte`] has passed.
    Timeout,
    /// A newer connection took its place.
    Displaced,
    /// The connection failed, for example because the peer reset it.
    Broken,
}

/// Dropped connections that no log line has reported yet.
#[derive(Debug, Default)]
struct DropSummary {
    unreported: u64,
    reported_at: Option<Instant>,
}

// === impl ConnectionGate ===

impl ConnectionGate {
    /// A gate for one listener.
    pub fn new(limits: AdmissionLimits) -> Self {
        Self(Arc::new(GateState {
            table: Mutex::new(AdmissionTable::new(limits.clone())),
            limits,
            left: Notify::new(),
            summary: Mutex::default(),
        }))
    }

    /// Accepts the next connection of `listener` that is admitted. Refused ones are accepted and
    /// dropped at once, so a flood never keeps a peer of another network waiting in the kernel's
    /// queue. New connections wait in that queue only while all places are taken by authenticated
    /// ones. If this future is dropped, an accepted connection that waits for a place is dropped
    /// with it.
    pub async fn accept(
        &self,
        listener: &TcpListener,
    ) -> io::Result<(TcpStream, SocketAddr, AdmissionPermit)> {
        loop {
            self.wait_for_room().await;
            let (stream, address) = listener.accept().await?;
            loop {
                if let Some(admission) = self.enter(address) {
                    return Ok((stream, address, admission));
                }
                // An authenticated connection has taken the last free place in the meantime.
                if !self.0.lock().is_full_of_authenticated() {
                    break;
                }
                self.wait_for_room().await;
            }
            drop(stream);
            self.0.note_drop(address.ip().into());
            // `accept` does not use up the task's budget; without this a flood would block the
            // thread.
            tokio::task::consume_budget().await;
        }
    }

    /// Number of connections whose peers are not known yet.
    pub fn half_open(&self) -> usize {
        self.0.lock().half_open()
    }

    async fn wait_for_room(&self) {
        loop {
            let left = self.0.left.notified();
            if !self.0.lock().is_full_of_authenticated() {
                return;
            }
            left.await;
        }
    }

    fn enter(&self, address: SocketAddr) -> Option<AdmissionPermit> {
        let network = PeerNetwork::from(address.ip());
        let cancel = CancellationToken::new();
        let entry = self.0.lock().enter(network, cancel.clone(), Instant::now());
        match entry {
            AdmissionDecision::Admitted { number, displaced } => {
                if let Some(displaced) = displaced {
                    displaced.cancel();
                    self.0.note_drop(network);
                }
                Some(AdmissionPermit {
                    gate: Arc::clone(&self.0),
                    number,
                    network,
                    displaced: cancel,
                })
            }
            AdmissionDecision::Refused => None,
        }
    }
}

// === impl GateState ===

impl GateState {
    fn lock(&self) -> MutexGuard<'_, AdmissionTable<CancellationToken>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_drop(&self, newcomer: PeerNetwork) {
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        let due = summary.add(Instant::now());
        drop(summary);
        if let Some(connections) = due {
            tracing::warn!(connections, last_newcomer = %newcomer,
                "connections were dropped at a limit of unauthenticated connections; \
                 at most one such line a minute");
        }
    }
}

// === impl AdmissionPermit ===

impl AdmissionPermit {
    /// Waits for the first byte or the end of the stream, and marks the connection as handshaking.
    pub async fn wait_first_byte(&self, stream: &TcpStream) -> Result<(), NoFirstByte> {
        // Readiness alone may be reported without a byte.
        let mut byte = [0];
        let peeked = timeout(self.gate.limits.first_byte, stream.peek(&mut byte));
        tokio::select! {
            biased;
            peeked = peeked => match peeked {
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return Err(NoFirstByte::Broken),
                Err(_) => return Err(NoFirstByte::Timeout),
            },
            () = self.wait_displaced() => return Err(NoFirstByte::Displaced),
        }
        self.advance(ConnectionStage::Handshaking);
        Ok(())
    }

    /// Returns when a newer connection has taken the place of this one; never for an authenticated
    /// connection.
    pub async fn wait_displaced(&self) {
        self.displaced.cancelled().await;
    }

    /// Records that the connection has reached `stage`; an earlier stage changes nothing.
    pub fn advance(&self, stage: ConnectionStage) {
        self.gate.lock().advance(self.number, stage);
        self.gate.left.notify_one();
    }

    /// A permit to compute among the handshakes of the same network. If it is taken before a permit
    /// among all handshakes, networks alternate: many handshakes of one do not delay those of
    /// another.
    pub async fn acquire_handshake_turn(&self) -> OwnedSemaphorePermit {
        let turns = self.gate.lock().handshake_turns(self.network);
        let turn = turns.acquire_owned().await;
        turn.expect("the turns of a network are never closed")
    }
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        self.gate.lock().leave(self.number);
        self.gate.left.notify_one();
    }
}

// === impl DropSummary ===

impl DropSummary {
    /// The number to report now, if a line is due.
    fn add(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        let is_quiet = self.reported_at.is_some_and(|reported_at| {
            now.saturating_duration_since(reported_at) < SUMMARY_INTERVAL
        });
        if is_quiet {
            return None;
        }
        self.reported_at = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}
