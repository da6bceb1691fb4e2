//! One associated client.
//!
//! [`BrokerSession`] is what the rest of the broker sees of it; the [actor](actor) owns the socket. The
//! rule: a session is reached only through its [`SessionOutbox`], and what it is does not change.

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

/// The form of PCP that a peer speaks; its path decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientPcpVersion {
    V1,
    V2,
}

#[derive(Debug)]
pub(crate) struct BrokerSession {
    /// Tells sessions of one address apart.
    pub(crate) number: u64,
    pub(crate) uri: PcpUri,
    pub(crate) certname: Certname,
    pub(crate) version: ClientPcpVersion,
    pub(crate) remote: SocketAddr,
    /// Announced by our agents only.
    pub(crate) capabilities: Option<Arc<pxp::AgentCapabilities>>,
    /// Read only when the policy needs them.
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

    /// Writes about a refused message by `write`, unless there were too many of them lately.
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

    /// Writes what there is still to say when the session is over.
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
    /// The message in this version's form.
    pub(crate) fn encode(self, message: &PcpMessage) -> EncodedMessage {
        match self {
            Self::V2 => EncodedMessage::Text(Bytes::from(pcp::v2::encode(message))),
            // Brokers of the field write the epoch, since nobody reads it.
            Self::V1 => {
                let frame = pcp::v1::from_message(message, jiff::Timestamp::UNIX_EPOCH);
                EncodedMessage::Binary(Bytes::from(pcp::v1::encode(&frame)))
            }
        }
    }
}
