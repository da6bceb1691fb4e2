//! Decides which connections are kept: [`AdmissionTable`], without I/O.
//!
//! Invariants: a new connection displaces at most one other; a displaced connection belongs to the
//! network that has the most, or to the new connection's own; an authenticated connection is never
//! displaced.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::limits::AdmissionLimits;
use crate::network::PeerNetwork;

/// Stage of a connection on its way to being authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionStage {
    /// Accepted; no byte has arrived.
    Silent,
    /// Bytes have arrived, the peer is not known yet.
    Handshaking,
    /// Served, without a certificate or a token.
    Anonymous,
    /// The peer has shown a verified certificate or a valid token.
    Authenticated,
}

/// The connections of one listener. `T` is the handle that cancels a connection.
#[derive(Debug)]
pub(crate) struct AdmissionTable<T> {
    limits: AdmissionLimits,
    connections: HashMap<u64, AdmittedConnection<T>>,
    networks: HashMap<PeerNetwork, NetworkConnections>,
    half_open: usize,
    /// Numbers grow, so a smaller one is older.
    next_number: u64,
}

#[derive(Debug)]
struct AdmittedConnection<T> {
    network: PeerNetwork,
    stage: ConnectionStage,
    since: Instant,
    cancel: T,
}

/// Numbers of the connections of one network by stage; authenticated ones are only counted.
#[derive(Debug, Default)]
struct NetworkConnections {
    silent: BTreeSet<u64>,
    handshaking: BTreeSet<u64>,
    anonymous: BTreeSet<u64>,
    authenticated: usize,
    /// Permits to compute a handshake, created at the first request for one.
    turns: Option<Arc<Semaphore>>,
}

/// The decision about a new connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AdmissionDecision<T> {
    Admitted { number: u64, displaced: Option<T> },
    Refused,
}

// === impl AdmissionTable ===

impl<T> AdmissionTable<T> {
    pub(crate) fn new(limits: AdmissionLimits) -> Self {
        Self {
            limits,
            connections: HashMap::new(),
            networks: HashMap::new(),
            half_open: 0,
            next_number: 0,
        }
    }

    /// Admits a silent connection of `network` if there is a free place or one can be freed.
    pub(crate) fn enter(
        &mut self,
        network: PeerNetwork,
        cancel: T,
        now: Instant,
    ) -> AdmissionDecision<T> {
        let displaced = match self.make_room(network, now) {
            Ok(victim) => victim.and_then(|victim| self.leave(victim)),
            Err(()) => return AdmissionDecision::Refused,
        };
        let number = self.next_number;
        self.next_number += 1;
        self.connections.insert(
            number,
            AdmittedConnection {
                network,
                stage: ConnectionStage::Silent,
                since: now,
                cancel,
            },
        );
        let of_network = self.networks.entry(network).or_default();
        of_network.silent.insert(number);
        self.half_open += 1;
        AdmissionDecision::Admitted { number, displaced }
    }

    /// Records that the connection has reached `stage`; it never goes back.
    pub(crate) fn advance(&mut self, number: u64, stage: ConnectionStage) {
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        if stage as u8 <= connection.stage as u8 {
            return;
        }
        let of_network = self.networks.entry(connection.network).or_default();
        of_network.remove(number, connection.stage);
        of_network.insert(number, stage);
        if connection.stage.is_half_open() && !stage.is_half_open() {
            self.half_open -= 1;
        }
        connection.stage = stage;
    }

    /// Removes a connection; returns the handle that cancels it if it was still there.
    pub(crate) fn leave(&mut self, number: u64) -> Option<T> {
        let connection = self.connections.remove(&number)?;
        if connection.stage.is_half_open() {
            self.half_open -= 1;
        }
        if let Some(of_network) = self.networks.get_mut(&connection.network) {
            of_network.remove(number, connection.stage);
            if of_network.is_empty() {
                self.networks.remove(&connection.network);
            }
        }
        Some(connection.cancel)
    }

    /// True if all places are taken by authenticated connections, so that a new connection can only
    /// be refused.
    pub(crate) fn is_full_of_authenticated(&self) -> bool {
        let authenticated = || self.networks.values().map(|of| of.authenticated);
        self.connections.len() >= self.limits.connections
            && authenticated().sum::<usize>() >= self.limits.connections
    }

    pub(crate) fn half_open(&self) -> usize {
        self.half_open
    }

    /// The semaphore of a network for the computation of handshakes.
    pub(crate) fn handshake_turns(&mut self, network: PeerNetwork) -> Arc<Semaphore> {
        let permits = self.limits.handshakes_per_network.max(1);
        let made = || Arc::new(Semaphore::new(permits));
        match self.networks.get_mut(&network) {
            Some(of_network) => Arc::clone(of_network.turns.get_or_insert_with(made)),
            // The connection was displaced and is about to end.
            None => made(),
        }
    }

    /// The connection to displace for a new one of `network`; `None` if there is a free place.
    fn make_room(&self, network: PeerNetwork, now: Instant) -> Result<Option<u64>, ()> {
        let own = self.networks.get(&network);
        let own_half_open = own.map_or(0, NetworkConnections::half_open);
        if own_half_open >= self.limits.half_open_per_network {
            return own
                .and_then(|own| self.find_own_victim(own, now))
                .map(Some)
                .ok_or(());
        }
        if self.half_open >= self.limits.half_open {
            let greediest = self
                .find_greediest(NetworkConnections::half_open)
                .ok_or(())?;
            let handshaking = greediest.handshaking.first();
            let is_greedier = greediest.half_open() > own_half_open + 1;
            let victim = greediest.silent.first();
            let victim = victim.or(handshaking.filter(|_| is_greedier));
            return victim.copied().map(Some).ok_or(());
        }
        if self.connections.len() >= self.limits.connections {
            let greediest = self
                .find_greediest(NetworkConnections::unauthenticated)
                .ok_or(())?;
            let victim = greediest.silent.first();
            let victim = victim.or(greediest.anonymous.first());
            let victim = victim.or(greediest.handshaking.first());
            return victim.copied().map(Some).ok_or(());
        }
        Ok(None)
    }

    /// The oldest silent connection, or else the oldest handshake if it takes too long.
    fn find_own_victim(&self, own: &NetworkConnections, now: Instant) -> Option<u64> {
        let slow = |number: &&u64| {
            let since = self.connections.get(number).map(|found| found.since);
            since.is_some_and(|since| {
                now.saturating_duration_since(since) >= self.limits.handshake_patience
            })
        };
        let silent = own.silent.first();
        silent.or(own.handshaking.first().filter(slow)).copied()
    }

    /// The network with the most connections by `count`, and among equals the one whose oldest
    /// silent connection is the oldest. Looks at every network, only when the table is full.
    fn find_greediest(
        &self,
        count: impl Fn(&NetworkConnections) -> usize,
    ) -> Option<&NetworkConnections> {
        let oldest = |of: &NetworkConnections| of.silent.first().copied().unwrap_or(u64::MAX);
        self.networks
            .values()
            .max_by_key(|of| (count(of), Reverse(oldest(of))))
            .filter(|of| count(of) > 0)
    }
}

// === impl NetworkConnections ===

impl NetworkConnections {
    fn half_open(&self) -> usize {
        self.silent.len() + self.handshaking.len()
    }

    fn unauthenticated(&self) -> usize {
        self.half_open() + self.anonymous.len()
    }

    fn is_empty(&self) -> bool {
        self.unauthenticated() + self.authenticated == 0
    }

    fn insert(&mut self, number: u64, stage: ConnectionStage) {
        match self.numbers(stage) {
            Some(numbers) => _ = numbers.insert(number),
            None => self.authenticated += 1,
        }
    }

    fn remove(&mut self, number: u64, stage: ConnectionStage) {
        match self.numbers(stage) {
            Some(numbers) => _ = numbers.remove(&number),
            None => self.authenticated -= 1,
        }
    }

    fn numbers(&mut self, stage: ConnectionStage) -> Option<&mut BTreeSet<u64>> {
        match stage {
            ConnectionStage::Silent => Some(&mut self.silent),
            ConnectionStage::Handshaking => Some(&mut self.handshaking),
            ConnectionStage::Anonymous => Some(&mut self.anonymous),
            ConnectionStage::Authenticated => None,
        }
    }
}

// === impl ConnectionStage ===

impl ConnectionStage {
    fn is_half_open(self) -> bool {
        matches!(self, Self::Silent | Self::Handshaking)
    }
}

#[cfg(test)]
mod tests;
