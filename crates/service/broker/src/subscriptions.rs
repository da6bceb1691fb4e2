//! Subscriptions to inventory changes, each with its cursor.
//!
//! An [`InventorySubscription`] is a cursor in the [change log](crate::change_log) and a filter.
//! Invariant: it returns no changes before it is active, that is before the answer to its query is
//! queued.

use std::sync::Arc;

use pcp::PcpUri;
use pcp::types::InventoryDirection;

use crate::change_log::{ChangeLog, CursorExpired};
use crate::controllers::controller::ConnectedController;
use crate::defaults::INVENTORY_BATCH;
use crate::session::BrokerSession;

/// Receiver of inventory updates.
#[derive(Clone, Debug)]
pub(crate) enum InventorySubscriber {
    Session(Arc<BrokerSession>),
    Controller(Arc<ConnectedController>),
}

#[derive(Debug)]
pub(crate) struct InventorySubscription {
    subscriber: InventorySubscriber,
    query: Vec<PcpUri>,
    cursor: u64,
    active: bool,
}

impl InventorySubscription {
    pub(crate) fn new(subscriber: InventorySubscriber, query: Vec<PcpUri>, cursor: u64) -> Self {
        Self {
            subscriber,
            query,
            cursor,
            active: false,
        }
    }

    pub(crate) fn activate(&mut self) {
        self.active = true;
    }

    pub(crate) fn subscriber(&self) -> &InventorySubscriber {
        &self.subscriber
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next batch; advances the cursor. Returns nothing while the subscriber's queue is
    /// congested; the changes follow later.
    pub(crate) fn take_batch(
        &mut self,
        log: &ChangeLog,
    ) -> Result<Vec<(PcpUri, InventoryDirection)>, CursorExpired> {
        let entries = log.entries_since(self.cursor)?;
        let mut changes = Vec::new();
        if !self.active || self.subscriber.is_congested() {
            return Ok(changes);
        }
        for (uri, change) in entries {
            if changes.len() >= INVENTORY_BATCH {
                break;
            }
            self.cursor += 1;
            if self.query.iter().any(|pattern| pattern.matches(uri)) {
                changes.push((uri.clone(), *change));
            }
        }
        Ok(changes)
    }
}

impl InventorySubscriber {
    pub(crate) fn outbox(&self) -> &crate::session::outbox::SessionOutbox {
        match self {
            Self::Session(session) => &session.outbox,
            Self::Controller(controller) => &controller.outbox,
        }
    }

    pub(crate) fn address(&self) -> &PcpUri {
        match self {
            Self::Session(session) => &session.uri,
            Self::Controller(controller) => &controller.address,
        }
    }

    pub(crate) fn version(&self) -> crate::session::ClientPcpVersion {
        match self {
            Self::Session(session) => session.version,
            Self::Controller(_) => crate::session::ClientPcpVersion::V2,
        }
    }

    fn is_congested(&self) -> bool {
        self.outbox().is_congested()
    }
}
