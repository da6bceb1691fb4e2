//! The send side of a connection to a controller: [`ConnectedController`].

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use pcp::{PcpMessage, PcpUri};

use crate::defaults::CONTROLLER_OUTBOX_BYTES;
use crate::session::ClientPcpVersion;
use crate::session::outbox::{EncodedMessage, SessionOutbox};

/// A connected controller and its outbox.
#[derive(Debug)]
pub(crate) struct ConnectedController {
    /// Address of the controller, `pcp://host:port/server`.
    pub(crate) address: PcpUri,
    pub(crate) outbox: SessionOutbox,
    /// True if the controller requested the capabilities of agents.
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

    /// Records that the controller requests the capabilities of agents.
    pub(super) fn enable_capabilities(&self) {
        self.wants_capabilities.store(true, Ordering::Relaxed);
    }

    /// Encodes a message for this controller. One that requests capabilities is a Tutti
    /// orchestrator and understands the mark of replaced bytes.
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
