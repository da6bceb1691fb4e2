//! [`ConnectedController`]: one connection to a controller, as the rest of the broker sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use pcp::{PcpMessage, PcpUri};

use crate::defaults::CONTROLLER_OUTBOX_BYTES;
use crate::session::ClientPcpVersion;
use crate::session::outbox::{EncodedMessage, SessionOutbox};

/// One connection to a controller.
#[derive(Debug)]
pub(crate) struct ConnectedController {
    /// `pcp://host:port/server`.
    pub(crate) address: PcpUri,
    pub(crate) outbox: SessionOutbox,
    /// It asked for what agents announce.
    wants_capabilities: AtomicBool,
}

impl ConnectedController {
    pub(super) fn new(address: PcpUri) -> Self {
        Self {
            address,
            outbox: SessionOutbox::new(CONTROLLER_OUTBOX_BYTES),
            wants_capabilities: false.into(),
        }
    }

    /// It wants to hear what agents announce.
    pub(super) fn enable_capabilities(&self) {
        self.wants_capabilities.store(true, Ordering::Relaxed);
    }

    /// A message as this controller reads it. One that asks for capabilities is a Tutti orchestrator and
    /// knows the mark of replaced bytes.
    pub(crate) fn payload(&self, message: &PcpMessage) -> EncodedMessage {
        match self.wants_capabilities() {
            true => EncodedMessage::Text(Bytes::from(pcp::v2::encode_with_mark(message))),
            false => ClientPcpVersion::V2.encode(message),
        }
    }

    pub(super) fn wants_capabilities(&self) -> bool {
        self.wants_capabilities.load(Ordering::Relaxed)
    }
}
