//! The connected clients, and the subscriptions to their changes.
//!
//! [`SessionTable`] is the broker's one table: address to session, the log of changes, and the
//! subscriptions to it. Invariant: all three change together under one lock, so a subscriber sees
//! every change exactly once and in the order in which it happened.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use fabric::BrokerPort;
use pcp::types::InventoryDirection;
use pcp::{AGENT_TYPE, Certname, PcpUri};

use crate::change_log::ChangeLog;
use crate::defaults::SESSIONS_PER_CERTNAME;
use crate::session::BrokerSession;
use crate::subscriptions::{InventorySubscriber, InventorySubscription};

#[derive(Debug)]
pub(crate) struct SessionTable {
    table: Mutex<SessionIndex>,
    /// Limit of sessions; 0 means no limit.
    limit: usize,
    /// The engine in this process; `None` until it is attached.
    port: OnceLock<BrokerPort>,
}

#[derive(Debug, Default)]
struct SessionIndex {
    by_uri: HashMap<PcpUri, Arc<BrokerSession>>,
    /// The number of sessions of each certname that has any.
    counts: HashMap<Certname, usize>,
    log: ChangeLog,
    subscriptions: HashMap<PcpUri, InventorySubscription>,
    stopping: bool,
}

/// The reason a client cannot be associated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssociateError {
    #[error("Connection limit exceeded.")]
    Limit,
    #[error(
        "This certname has {SESSIONS_PER_CERTNAME} sessions already, the most that it may have."
    )]
    CertnameLimit,
    #[error("Broker is not running.")]
    Stopping,
}

/// A batch of changes for one subscriber.
#[derive(Debug)]
pub(crate) struct SubscriberUpdate {
    pub(crate) subscriber: InventorySubscriber,
    pub(crate) changes: Vec<(PcpUri, InventoryDirection)>,
}

impl SessionTable {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            table: Mutex::default(),
            limit,
            port: OnceLock::new(),
        }
    }

    /// Connects the table to the engine, before the first client connects.
    pub(crate) fn attach(&self, port: BrokerPort) {
        self.port.set(port).expect("attached once, at start");
    }

    pub(crate) fn port(&self) -> Option<&BrokerPort> {
        self.port.get()
    }

    /// True if only clients that replace their own session can be associated.
    pub(crate) fn is_full(&self) -> bool {
        self.limit > 0 && self.lock().by_uri.len() >= self.limit
    }

    /// The session at `uri`.
    pub(crate) fn get(&self, uri: &PcpUri) -> Option<Arc<BrokerSession>> {
        self.lock().by_uri.get(uri).cloned()
    }

    /// True if there is a session of this certname, of any client type.
    pub(crate) fn has_certname(&self, certname: &Certname) -> bool {
        self.lock().counts.contains_key(certname)
    }

    /// Adds a session. Returns the session that it replaces, which is removed already.
    pub(crate) fn associate(
        &self,
        session: &Arc<BrokerSession>,
    ) -> Result<Option<Arc<BrokerSession>>, AssociateError> {
        let mut table = self.lock();
        if table.stopping {
            return Err(AssociateError::Stopping);
        }
        if !table.by_uri.contains_key(&session.uri) {
            if self.limit > 0 && table.by_uri.len() >= self.limit {
                return Err(AssociateError::Limit);
            }
            table.count_session(&session.certname)?;
        }
        let replaced = table
            .by_uri
            .insert(session.uri.clone(), Arc::clone(session));
        if replaced.is_some() {
            table.record_change(&session.uri, InventoryDirection::Disconnected);
            table.subscriptions.remove(&session.uri);
        }
        table.record_change(&session.uri, InventoryDirection::Connected);
        if session.uri.client_type() == AGENT_TYPE
            && let Some(port) = self.port.get()
        {
            // Under the lock, so that the fabric sees changes in the table's order.
            port.add_node(session.certname.clone(), session.capabilities.clone());
        }
        Ok(replaced)
    }

    /// Removes a session that ended, unless a newer one has replaced it.
    pub(crate) fn remove_session(&self, session: &BrokerSession) {
        let mut table = self.lock();
        if table
            .by_uri
            .get(&session.uri)
            .is_none_or(|held| held.number != session.number)
        {
            return;
        }
        table.by_uri.remove(&session.uri);
        table.uncount_session(&session.certname);
        table.subscriptions.remove(&session.uri);
        table.record_change(&session.uri, InventoryDirection::Disconnected);
        if session.uri.client_type() == AGENT_TYPE
            && let Some(port) = self.port.get()
        {
            port.remove_node(&session.certname);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().by_uri.len()
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<BrokerSession>> {
        self.lock().by_uri.values().cloned().collect()
    }

    /// Refuses new sessions from now on; returns the present ones.
    pub(crate) fn stop_accepting(&self) -> Vec<Arc<BrokerSession>> {
        let mut table = self.lock();
        table.stopping = true;
        table.by_uri.values().cloned().collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().stopping
    }

    // --- inventory ---

    /// The sessions that match `query`. With `subscriber`, changes from this moment on are kept for
    /// it until [`Self::activate`]; without, an earlier subscription of `owner` ends.
    pub(crate) fn query_inventory(
        &self,
        owner: &PcpUri,
        query: Vec<PcpUri>,
        subscriber: Option<InventorySubscriber>,
    ) -> Vec<Arc<BrokerSession>> {
        let mut table = self.lock();
        let found = find_matching(&table.by_uri, &query);
        match subscriber {
            Some(subscriber) => {
                let cursor = table.log.end();
                let subscription = InventorySubscription::new(subscriber, query, cursor);
                table.subscriptions.insert(owner.clone(), subscription);
            }
            None => {
                table.subscriptions.remove(owner);
            }
        }
        found
    }

    /// Activates a subscription, after the answer to its query was queued.
    pub(crate) fn activate(&self, owner: &PcpUri) {
        if let Some(subscription) = self.lock().subscriptions.get_mut(owner) {
            subscription.activate();
        }
    }

    /// Ends a subscription.
    pub(crate) fn unsubscribe(&self, owner: &PcpUri) {
        self.lock().subscriptions.remove(owner);
    }

    /// The pending updates of every active subscriber. Subscribers with an expired cursor are
    /// removed and returned separately.
    pub(crate) fn take_updates(&self) -> (Vec<SubscriberUpdate>, Vec<InventorySubscriber>) {
        let mut guard = self.lock();
        let table = &mut *guard;
        let mut updates = Vec::new();
        let mut behind = Vec::new();
        table.subscriptions.retain(
            |_, subscription| match subscription.take_batch(&table.log) {
                Ok(changes) if changes.is_empty() => true,
                Ok(changes) => {
                    let subscriber = subscription.subscriber().clone();
                    updates.push(SubscriberUpdate {
                        subscriber,
                        changes,
                    });
                    true
                }
                Err(_) => {
                    behind.push(subscription.subscriber().clone());
                    false
                }
            },
        );
        let needed = table
            .subscriptions
            .values()
            .map(InventorySubscription::cursor)
            .min();
        table.log.forget_before(needed);
        (updates, behind)
    }

    fn lock(&self) -> MutexGuard<'_, SessionIndex> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionIndex {
    fn count_session(&mut self, certname: &Certname) -> Result<(), AssociateError> {
        let count = self.counts.entry(certname.clone()).or_default();
        if *count >= SESSIONS_PER_CERTNAME {
            return Err(AssociateError::CertnameLimit);
        }
        *count += 1;
        Ok(())
    }

    fn uncount_session(&mut self, certname: &Certname) {
        if let Entry::Occupied(mut count) = self.counts.entry(certname.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn record_change(&mut self, uri: &PcpUri, change: InventoryDirection) {
        if !self.subscriptions.is_empty() {
            self.log.push(uri.clone(), change);
        }
    }
}

fn find_matching(
    by_uri: &HashMap<PcpUri, Arc<BrokerSession>>,
    query: &[PcpUri],
) -> Vec<Arc<BrokerSession>> {
    if query.iter().any(PcpUri::is_wildcard) {
        let wanted = |uri: &PcpUri| query.iter().any(|pattern| pattern.matches(uri));
        return by_uri
            .iter()
            .filter(|(uri, _)| wanted(uri))
            .map(|(_, s)| Arc::clone(s))
            .collect();
    }
    let mut exact: Vec<&PcpUri> = query.iter().collect();
    exact.sort_unstable();
    exact.dedup();
    exact
        .into_iter()
        .filter_map(|uri| by_uri.get(uri).cloned())
        .collect()
}
