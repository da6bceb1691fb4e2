//! One associated client.
//!
//! [`Session`] is what the rest of the broker sees of it; the [actor](actor) owns the socket. The
//! rule: a session is reached only through its [`Outbox`], and what it is does not change.

pub(crate) mod actor;
pub(crate) mod outbox;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use pcp::{Certname, Message, PcpUri};

use crate::access_log::Origin;
use crate::authorization::{Client, Extensions};
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
}

impl Session {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            remote: self.remote,
            certname: self.certname.as_str(),
        }
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
