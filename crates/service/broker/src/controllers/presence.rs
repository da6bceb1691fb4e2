//! Capabilities that agents announced, reported to the controllers that asked for them.
//!
//! The rule: such a controller hears of a session only together with what that session announced. A
//! session that is gone announces nothing, and would be taken for an agent without extensions: so it
//! is left out.

use std::collections::HashSet;

use fabric::wire::{PRESENCE, Presence};
use pcp::types;
use pcp::{Message, PcpUri};

use super::controller::Controller;
use crate::defaults::PRESENCE_BATCH;
use crate::session::Version;
use crate::sessions::Sessions;

/// Says what the agents at `uris` announced, before the inventory names them. Returns those whose
/// sessions are there, the only ones that may be named; `None` if the controller did not ask.
pub(crate) fn announce<'a>(
    controller: &Controller,
    sessions: &Sessions,
    uris: impl Iterator<Item = &'a PcpUri>,
) -> Option<HashSet<PcpUri>> {
    if !controller.wants_capabilities() {
        return None;
    }
    let known: Vec<_> = uris
        .filter_map(|uri| {
            let announced = sessions.get(uri)?.capabilities.clone();
            Some((
                uri.clone(),
                announced.map(|capabilities| capabilities.to_string()),
            ))
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
            break;
        }
    }
    Some(known.into_iter().map(|(uri, _)| uri).collect())
}
