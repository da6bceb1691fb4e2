//! One associated client.
//!
//! [`Session`] is what the rest of the broker sees of it; the [actor](actor) owns the socket. The
//! rule: a session is reached only through its [`Outbox`], and what it is does not change.

pub(crate) mod actor;
pub(crate) mod outbox;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use pcp::{Certname, Message, PcpUri};

use crate::access_log::{self, Origin};
use crate::authorization::{Client, Extensions};
use crate::refusal_log::{Entry, RefusalLog};
use outbox::{Outbox, Payload};

/// The form of PCP that a peer speaks; its path decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

#[derive(Debug)]
pub(crate) struct Session {
    /// Tells sessions of one address apart.
    pub(crate) number: u64,
    pub(crate) uri: PcpUri,
    pub(crate) certname: Certname,
    pub(crate) version: Version,
    pub(crate) remote: SocketAddr,
    /// Announced by our agents only.
    pub(crate) capabilities: Option<Arc<pxp::Capabilities>>,
    /// Read only when the policy needs them.
    pub(crate) extensions: Option<Box<Extensions>>,
    pub(crate) outbox: Outbox,
    pub(crate) refusals: Mutex<RefusalLog>,
}

impl Session {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            remote: self.remote,
            certname: self.certname.as_str(),
        }
    }

    /// Writes about a refused message by `write`, unless there were too many of them lately.
    pub(crate) fn log_refusal(&self, write: impl FnOnce(Origin<'_>)) {
        let entry = {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            refusals.refused(Instant::now())
        };
        match entry {
            Entry::Write { left_out } => {
                access_log::left_out(self.origin(), left_out);
                write(self.origin());
            }
            Entry::FirstLeftOut => access_log::leaving_out(self.origin()),
            Entry::LeftOut => {}
        }
    }

    /// Writes what there is still to say when the session is over.
    pub(crate) fn log_left_out(&self) {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        access_log::left_out(self.origin(), refusals.left_out());
    }

    pub(crate) fn client(&self) -> Client<'_> {
        Client {
            certname: self.certname.as_str(),
            extensions: self.extensions.as_deref(),
        }
    }
}

impl Version {
    /// The message in this version's form.
    pub(crate) fn encode(self, message: &Message) -> Payload {
        match self {
            Self::V2 => Payload::Text(Bytes::from(pcp::v2::encode(message))),
            // Brokers of the field write the epoch, since nobody reads it.
            Self::V1 => {
                let frame = pcp::v1::from_message(message, jiff::Timestamp::UNIX_EPOCH);
                Payload::Binary(Bytes::from(pcp::v1::encode(&frame)))
            }
        }
    }
}
