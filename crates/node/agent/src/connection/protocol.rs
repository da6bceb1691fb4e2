//! The two versions of PCP behind one face.
//!
//! [`PcpVersion`] turns a [`Message`] into the payload of one WebSocket frame
//! and back. The rule that must hold: nothing above this module knows which
//! version is spoken.

use jiff::Timestamp;
use pcp::{DecodeError, Message, TranslateError};

/// Which PCP the broker's path speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PcpVersion {
    /// Binary chunks; pxp-agent's default.
    #[default]
    V1,
    /// JSON text.
    V2,
}

/// The payload of one WebSocket message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
}

/// Why a WebSocket message is not a PCP message.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Version 1 is spoken in binary messages only.
    #[error("a text message on a PCP version 1 connection")]
    TextOnV1,
    /// Version 2 is spoken in text messages only.
    #[error("a binary message on a PCP version 2 connection")]
    BinaryOnV2,
    /// Not in the form of its version.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Version 1 with something that version 2 has no place for.
    #[error(transparent)]
    Translate(#[from] TranslateError),
}

// === impl PcpVersion ===

impl PcpVersion {
    /// Encodes a message; `expires` matters to version 1 only.
    pub fn encode(self, message: &Message, expires: Timestamp) -> Payload {
        match self {
            Self::V1 => Payload::Binary(pcp::v1::encode(&pcp::v1::from_message(message, expires))),
            Self::V2 => Payload::Text(pcp::v2::encode(message)),
        }
    }

    /// Decodes a message.
    pub fn decode(self, payload: Incoming<'_>) -> Result<Message, ReceiveError> {
        match (self, payload) {
            (Self::V1, Incoming::Binary(bytes)) => {
                Ok(pcp::v1::to_message(&pcp::v1::decode(bytes)?)?)
            }
            (Self::V2, Incoming::Text(text)) => Ok(pcp::v2::decode(text)?.to_message()),
            (Self::V1, Incoming::Text(_)) => Err(ReceiveError::TextOnV1),
            (Self::V2, Incoming::Binary(_)) => Err(ReceiveError::BinaryOnV2),
        }
    }
}

/// A received WebSocket message.
#[derive(Debug, Clone, Copy)]
pub enum Incoming<'a> {
    /// Text.
    Text(&'a str),
    /// Binary.
    Binary(&'a [u8]),
}

// === impl Payload ===

impl Payload {
    /// Bytes on the wire, less the frame's header.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
