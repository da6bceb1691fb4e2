//! Simulated agents that sleep or die.
//!
//! Invariant: an agent that sleeps says nothing, and handles in order what it received meanwhile when it wakes. Actions in
//! progress and the lease go on without the agent.

use pcp::{Certname, PcpMessage};
use pxp::TransactionId;

use super::{Sim, lock};

impl Sim {
    /// The agent's process is stopped. Its connection stays open.
    pub(crate) fn put_to_sleep(&self, certname: &Certname) {
        let asleep = |agent: &mut super::Agent| agent.unread = Some(Vec::new());
        self.inner.with(certname, asleep);
    }

    /// The agent's process goes on.
    pub(crate) fn wake(&self, certname: &Certname) {
        let unread = self.inner.with(certname, |agent| agent.unread.take());
        for message in unread.unwrap_or_default() {
            // As an agent of the test, which is connected, or has read nothing.
            let _ = self.inner.deliver(message);
        }
    }

    /// The connection of an agent that sleeps ends. An agent discards what it received before such an end.
    pub(crate) fn cut_asleep(&self, certname: &Certname) {
        self.disconnect(certname);
        self.put_to_sleep(certname);
    }

    /// The agent's process is killed.
    pub(crate) fn kill_agent(&self, certname: &Certname) {
        self.inner.with(certname, |agent| agent.unread = None);
        self.disconnect(certname);
    }

    /// The agent's machine loses its power and its disk: no action in progress, spool or lease is left.
    pub(crate) fn lose_machine(&self, certname: &Certname) {
        self.kill_agent(certname);
        self.lose_spool(certname);
        self.end_lease(certname);
    }

    /// True if messages of this type wait for an agent that sleeps.
    pub(crate) fn has_unread(&self, certname: &Certname, message_type: &str) -> bool {
        let is_wanted = |message: &PcpMessage| message.message_type == message_type;
        self.inner.with(certname, |agent| {
            agent.unread.iter().flatten().any(is_wanted)
        })
    }

    /// True if an action of the agent has ended, whether or not the engine knows it.
    pub(crate) fn has_outcome(&self, certname: &Certname) -> bool {
        let entries =
            |agent: &mut super::Agent| agent.spool.values().any(|entry| entry.outcome.is_some());
        self.inner.with(certname, entries)
    }

    /// The transactions that an agent was asked to carry out, in order.
    pub(crate) fn requests_to(&self, certname: &Certname) -> Vec<TransactionId> {
        let requests = lock(&self.inner.requests);
        let of_node = requests.iter().filter(|(node, _)| node == certname);
        of_node
            .map(|(_, transaction)| transaction.clone())
            .collect()
    }
}
