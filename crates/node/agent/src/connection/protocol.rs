//! The two versions of PCP behind one interface.
//!
//! [`PcpVersion`] turns a [`PcpMessage`] into the payload of one WebSocket frame and back.
//! Invariant: code above this module does not depend on the version.

use jiff::Timestamp;
use pcp::{PcpDecodeError, PcpMessage, TranslateError};

/// Version of PCP at the broker's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PcpVersion {
    /// Version 1, binary chunks; pxp-agent's default.
    #[default]
    V1,
    /// Version 2, JSON text.
    V2,
}

/// Payload of one WebSocket message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingPayload {
    /// Payload of a text message.
    Text(String),
    /// Payload of a binary message.
    Binary(Vec<u8>),
}

/// Reason for which a WebSocket message is not a PCP message.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Text message on version 1, which has only binary messages.
    #[error("a text message on a PCP version 1 connection")]
    TextOnV1,
    /// Binary message on version 2, which has only text messages.
    #[error("a binary message on a PCP version 2 connection")]
    BinaryOnV2,
    /// The message does not have the form of its version.
    #[error(transparent)]
    Decode(#[from] PcpDecodeError),
    /// A version 1 message with a field that version 2 does not have.
    #[error(transparent)]
    Translate(#[from] TranslateError),
}

// === impl PcpVersion ===

impl PcpVersion {
    /// Encodes a message; `expires` is used by version 1 only.
    pub fn encode(self, message: &PcpMessage, expires: Timestamp) -> OutgoingPayload {
        match self {
            Self::V1 => {
                OutgoingPayload::Binary(pcp::v1::encode(&pcp::v1::from_message(message, expires)))
            }
            Self::V2 => OutgoingPayload::Text(pcp::v2::encode(message)),
        }
    }

    /// Decodes a received message.
    pub fn decode(self, payload: IncomingPayload<'_>) -> Result<PcpMessage, ReceiveError> {
        match (self, payload) {
            (Self::V1, IncomingPayload::Binary(bytes)) => {
                Ok(pcp::v1::to_message(&pcp::v1::decode(bytes)?)?)
            }
            (Self::V2, IncomingPayload::Text(text)) => Ok(pcp::v2::decode(text)?.to_message()),
            (Self::V1, IncomingPayload::Text(_)) => Err(ReceiveError::TextOnV1),
            (Self::V2, IncomingPayload::Binary(_)) => Err(ReceiveError::BinaryOnV2),
        }
    }
}

/// Payload of a received WebSocket message.
#[derive(Debug, Clone, Copy)]
pub enum IncomingPayload<'a> {
    /// Payload of a text message.
    Text(&'a str),
    /// Payload of a binary message.
    Binary(&'a [u8]),
}

// === impl OutgoingPayload ===

impl OutgoingPayload {
    /// Size in bytes on the wire, without the frame's header.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// True if the payload has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
