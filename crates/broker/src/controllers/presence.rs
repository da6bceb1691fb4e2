//! What agents announced, told to the controllers that asked for it.

use fabric::wire::{PRESENCE, Presence};
use pcp::types;
use pcp::{Message, PcpUri};

use super::controller::Controller;
use crate::defaults::PRESENCE_BATCH;
use crate::session::Version;
use crate::sessions::Sessions;

/// Says what the agents at `uris` announced, before the inventory names them.
pub(crate) fn announce<'a>(
    controller: &Controller,
    sessions: &Sessions,
    uris: impl Iterator<Item = &'a PcpUri>,
) {
    if !controller.wants_capabilities() {
        return;
    }
    let known: Vec<_> = uris
        .map(|uri| {
            let session = sessions.get(uri);
            let announced = session.and_then(|session| session.capabilities.clone());
            (
                uri.clone(),
                announced.map(|capabilities| capabilities.to_string()),
            )
        })
        .collect();
    for batch in known.chunks(PRESENCE_BATCH) {
        let body = Presence {
            capabilities: batch.iter().cloned().collect(),
        };
        let message = Message::new(PRESENCE, Some(types::encode(&body)))
            .from(PcpUri::broker())
            .to(controller.address.clone());
        if controller
            .outbox
            .try_push(Version::V2.encode(&message))
            .is_err()
        {
            // The inventory message that follows finds no room either and ends the connection.
            return;
        }
    }
}
