//! An associated client: [`BrokerSession`].
//!
//! The rest of the broker uses this type; the [actor](actor) owns the socket. Invariant: messages
//! to a session go through its [`SessionOutbox`] only, and its properties do not change.

pub(crate) mod actor;
pub(crate) mod outbox;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use pcp::{Certname, PcpMessage, PcpUri};

use crate::access_log::{self, MessageOrigin};
use crate::authorization::{AuthorizationClient, CertificateExtensions};
use crate::refusal_log::{RefusalLog, RefusalLogEntry};
use outbox::{EncodedMessage, SessionOutbox};

/// Version of PCP that a client uses, determined by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientPcpVersion {
    V1,
    V2,
}

#[derive(Debug)]
pub(crate) struct BrokerSession {
    /// Distinguishes sessions of the same address.
    pub(crate) number: u64,
    pub(crate) uri: PcpUri,
    pub(crate) certname: Certname,
    pub(crate) version: ClientPcpVersion,
    pub(crate) remote: SocketAddr,
    /// Capabilities of the agent; `None` for clients that announced none.
    pub(crate) capabilities: Option<Arc<pxp::AgentCapabilities>>,
    /// Extensions of the certificate; `None` if the policy does not need them.
    pub(crate) extensions: Option<Box<CertificateExtensions>>,
    pub(crate) outbox: SessionOutbox,
    pub(crate) refusals: Mutex<RefusalLog>,
}

impl BrokerSession {
    pub(crate) fn to_origin(&self) -> MessageOrigin<'_> {
        MessageOrigin {
            remote: self.remote,
            certname: self.certname.as_str(),
        }
    }

    /// Logs a refused message with `write`, unless there were too many recently.
    pub(crate) fn log_refusal(&self, write: impl FnOnce(MessageOrigin<'_>)) {
        let entry = {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            refusals.record_refusal(Instant::now())
        };
        match entry {
            RefusalLogEntry::Write { left_out } => {
                access_log::log_suppressed_count(self.to_origin(), left_out);
                write(self.to_origin());
            }
            RefusalLogEntry::FirstSuppressed => access_log::log_suppression(self.to_origin()),
            RefusalLogEntry::Suppressed => {}
        }
    }

    /// Logs at the end of the session how many refusals were left out.
    pub(crate) fn log_suppressed(&self) {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        access_log::log_suppressed_count(self.to_origin(), refusals.suppressed_count());
    }

    pub(crate) fn to_client(&self) -> AuthorizationClient<'_> {
        AuthorizationClient {
            certname: self.certname.as_str(),
            extensions: self.extensions.as_deref(),
        }
    }
}

impl ClientPcpVersion {
    /// Encodes a message in this version.
    pub(crate) fn encode(self, message: &PcpMessage) -> EncodedMessage {
        match self {
            Self::V2 => EncodedMessage::Text(Bytes::from(pcp::v2::encode(message))),
            // Other brokers write the epoch too, since the expiry is not evaluated.
            Self::V1 => {
                let frame = pcp::v1::from_message(message, jiff::Timestamp::UNIX_EPOCH);
                EncodedMessage::Binary(Bytes::from(pcp::v1::encode(&frame)))
            }
        }
    }
}
