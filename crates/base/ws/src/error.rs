//! How a peer can break the protocol, and with which code it is told.

use std::fmt;

use crate::code;

/// A peer broke the protocol. The connection cannot go on: send a close frame with
/// [`ProtocolError::close_code`] and end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Bits that only extensions give a meaning.
    #[error("reserved bits are set, but no extension was agreed on")]
    ReservedBits,
    /// An opcode without a meaning.
    #[error("reserved opcode {0:#x}")]
    ReservedOpcode(u8),
    /// A client must mask.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// A server must not.
    #[error("a server's frame is masked")]
    Masked,
    /// A length that would have fitted a shorter form.
    #[error("the payload's length is not in its shortest form")]
    LengthForm,
    /// A length of 2^63 or more.
    #[error("the payload's length has its highest bit set")]
    LengthSign,
    /// A control frame in pieces.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    /// A continuation of nothing.
    #[error("a continuation frame without a message to continue")]
    NothingToContinue,
    /// A new message while another is in pieces.
    #[error("a new message begins inside a fragmented one")]
    Interleaved,
    /// Text, or a close reason, that is not UTF-8.
    #[error("text that is not UTF-8")]
    NotUtf8,
    /// A close frame of one byte.
    #[error("a close frame with half a code")]
    CloseLength,
    /// A code that cannot be sent.
    #[error("close code {0} cannot be sent")]
    CloseCode(u16),
    /// Known from the frame's header, before the payload has come.
    #[error("{kind} message size [{size_bytes}] exceeds maximum size [{max_bytes}]")]
    TooLarge {
        /// Of the message.
        kind: DataKind,
        /// What has come of the message plus what the frame announces.
        size_bytes: u64,
        /// The limit.
        max_bytes: usize,
    },
}

/// The kind of a data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

impl ProtocolError {
    /// 1002, 1007 or 1009.
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
