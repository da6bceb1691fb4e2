//! [`Controller`]: one connection to a controller, as the rest of the broker sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use pcp::{Message, PcpUri};

use crate::defaults::CONTROLLER_OUTBOX_BYTES;
use crate::session::Version;
use crate::session::outbox::{Outbox, Payload};

/// One connection to a controller.
#[derive(Debug)]
pub(crate) struct Controller {
    /// `pcp://host:port/server`.
    pub(crate) address: PcpUri,
    pub(crate) outbox: Outbox,
    /// It asked for what agents announce.
    wants_capabilities: AtomicBool,
}

impl Controller {
    pub(super) fn new(address: PcpUri) -> Self {
        Self {
            address,
            outbox: Outbox::new(CONTROLLER_OUTBOX_BYTES),
            wants_capabilities: false.into(),
        }
    }

    /// It wants to hear what agents announce.
    pub(super) fn want_capabilities(&self) {
        self.wants_capabilities.store(true, Ordering::Relaxed);
    }

    /// A message as this controller reads it. One that asks for capabilities is a Tutti orchestrator and
    /// knows the mark of replaced bytes.
    pub(crate) fn payload(&self, message: &Message) -> Payload {
        match self.wants_capabilities() {
            true => Payload::Text(Bytes::from(pcp::v2::encode_with_mark(message))),
            false => Version::V2.encode(message),
        }
    }

    pub(super) fn wants_capabilities(&self) -> bool {
        self.wants_capabilities.load(Ordering::Relaxed)
    }
}
