//! Sends connects and disconnects to subscribers, once per second.
//!
//! Invariant: a subscriber misses nothing; one that cannot keep up is closed and has to query
//! again. (A controller that requested [capabilities](presence) does not learn of a session that
//! began and ended between two rounds.)

use std::sync::Arc;
use std::time::Duration;

use pcp::types::{self, INVENTORY_UPDATE, InventoryChange, InventoryUpdate};
use pcp::{PcpMessage, PcpUri};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::controllers::presence;
use crate::router::MessageRouter;
use crate::sessions::SubscriberUpdate;
use crate::subscriptions::InventorySubscriber;

/// Close code for a subscriber whose cursor has expired.
const BEHIND: u16 = ws::code::TRY_AGAIN_LATER;

pub(crate) async fn run(router: Arc<MessageRouter>, every: Duration, stop: CancellationToken) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        flush(&router);
    }
}

fn flush(router: &MessageRouter) {
    // Each round sends a batch to every subscriber with space in its queue, so the loop ends.
    loop {
        let (updates, behind) = router.sessions.take_updates();
        for subscriber in behind {
            drop_subscriber(router, &subscriber);
        }
        if updates.is_empty() {
            return;
        }
        for update in updates {
            send(router, update);
        }
    }
}

fn send(router: &MessageRouter, mut update: SubscriberUpdate) {
    if let InventorySubscriber::Controller(controller) = &update.subscriber {
        let connected = update
            .changes
            .iter()
            .filter(|(_, change)| *change == types::InventoryDirection::Connected)
            .map(|(uri, _)| uri);
        if let Some(present) =
            presence::announce_capabilities(controller, &router.sessions, connected)
        {
            update.changes.retain(|(uri, change)| {
                *change != types::InventoryDirection::Connected || present.contains(uri)
            });
        }
        if update.changes.is_empty() {
            return;
        }
    }
    let changes = update
        .changes
        .into_iter()
        .map(|(client, change)| InventoryChange { client, change });
    let body = InventoryUpdate {
        changes: changes.collect(),
    };
    let message = PcpMessage::new(INVENTORY_UPDATE, Some(types::encode(&body)))
        .from(PcpUri::broker())
        .to(update.subscriber.address().clone());
    let payload = update.subscriber.version().encode(&message);
    if let Err((crate::session::outbox::OutboxPushError::Full, _)) =
        update.subscriber.outbox().try_push(payload)
    {
        drop_subscriber(router, &update.subscriber);
    }
}

fn drop_subscriber(router: &MessageRouter, subscriber: &InventorySubscriber) {
    tracing::warn!(
        client = %subscriber.address(),
        "does not take inventory updates fast enough; its connection is closed"
    );
    router.sessions.unsubscribe(subscriber.address());
    subscriber
        .outbox()
        .close(BEHIND, "Inventory updates were not taken in time.");
}
