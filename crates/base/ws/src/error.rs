//! Violations of the protocol by a peer, and the close code of each.

use std::fmt;

use crate::code;

/// A violation of the protocol by the peer. The connection cannot continue: send a close frame with
/// [`ProtocolError::close_code`] and end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Reserved bits are set, which only extensions define.
    #[error("reserved bits are set, but no extension was agreed on")]
    ReservedBits,
    /// The opcode is not defined.
    #[error("reserved opcode {0:#x}")]
    ReservedOpcode(u8),
    /// A client sent an unmasked frame.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// A server sent a masked frame.
    #[error("a server's frame is masked")]
    Masked,
    /// A length is not in its shortest form.
    #[error("the payload's length is not in its shortest form")]
    LengthForm,
    /// A length is 2^63 or more.
    #[error("the payload's length has its highest bit set")]
    LengthSign,
    /// A control frame is fragmented.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame has more than 125 bytes.
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    /// A continuation frame without a message to continue.
    #[error("a continuation frame without a message to continue")]
    NothingToContinue,
    /// A new message started within a fragmented one.
    #[error("a new message begins inside a fragmented one")]
    Interleaved,
    /// A text or close reason is not UTF-8.
    #[error("text that is not UTF-8")]
    NotUtf8,
    /// The payload of a close frame is one byte.
    #[error("a close frame with half a code")]
    CloseLength,
    /// The close code must not be sent.
    #[error("close code {0} cannot be sent")]
    CloseCode(u16),
    /// The message exceeds the limit. Detected in the frame's header, before the payload arrives.
    #[error("{kind} message size [{size_bytes}] exceeds maximum size [{max_bytes}]")]
    TooLarge {
        /// Kind of the message.
        kind: DataKind,
        /// Bytes received of the message plus those that the frame announces.
        size_bytes: u64,
        /// Largest size of a message in bytes.
        max_bytes: usize,
    },
}

/// The kind of a data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// A message of UTF-8 text.
    Text,
    /// A message of arbitrary bytes.
    Binary,
}

impl ProtocolError {
    /// The close code for this error: 1002, 1007 or 1009.
    pub fn close_code(&self) -> u16 {
        match self {
            Self::NotUtf8 => code::INVALID_DATA,
            Self::TooLarge { .. } => code::TOO_BIG,
            _ => code::PROTOCOL_ERROR,
        }
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "Text",
            Self::Binary => "Binary",
        })
    }
}
