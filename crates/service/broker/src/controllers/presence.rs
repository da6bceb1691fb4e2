//! Capabilities that agents announced, reported to the controllers that requested them.
//!
//! Invariant: such a controller learns of a session only together with its capabilities. A session
//! that has ended has none any more and would be taken for an agent without extensions, so it is
//! left out.

use std::collections::HashSet;

use fabric::wire::{AnnouncedCapabilities, PRESENCE};
use pcp::types;
use pcp::{PcpMessage, PcpUri};

use super::controller::ConnectedController;
use crate::defaults::PRESENCE_BATCH;
use crate::session::ClientPcpVersion;
use crate::sessions::SessionTable;

/// Sends the capabilities of the agents at `uris`, before the inventory names these. Returns the
/// addresses with a session, the only ones that may be named; `None` if the controller did not
/// request capabilities.
pub(crate) fn announce_capabilities<'a>(
    controller: &ConnectedController,
    sessions: &SessionTable,
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
        let body = AnnouncedCapabilities {
            capabilities: batch.iter().cloned().collect(),
        };
        let message = PcpMessage::new(PRESENCE, Some(types::encode(&body)))
            .from(PcpUri::broker())
            .to(controller.address.clone());
        if controller
            .outbox
            .try_push(ClientPcpVersion::V2.encode(&message))
            .is_err()
        {
            // The inventory message that follows finds no space either and ends the connection.
            break;
        }
    }
    Some(known.into_iter().map(|(uri, _)| uri).collect())
}
