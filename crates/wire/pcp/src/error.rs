//! Errors of decoding bytes as PCP messages, and of translating a message to the other version.

use crate::defaults::{
    MAX_JSON_DEPTH, MAX_MESSAGE_TYPE_BYTES, MAX_QUOTED_CHARS, MAX_V1_ENVELOPE_BYTES, MAX_V1_TARGETS,
};
use crate::{MessageIdError, PcpUriError};

/// The error for a frame or text that could not be decoded. Short, and never contains the whole
/// input: at most a clipped key is quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PcpDecodeError {
    /// The text is not JSON, or something follows the JSON.
    #[error("not JSON: error at line {line}, column {column}")]
    NotJson {
        /// Line of the error, counted from 1.
        line: usize,
        /// Byte in the line, counted from 1.
        column: usize,
    },
    /// The bytes of this part are not UTF-8.
    #[error("the {0} is not UTF-8")]
    NotUtf8(&'static str),
    /// The text is JSON, but not an object.
    #[error("not a JSON object")]
    NotObject,
    /// The object has a key that the closed schema does not contain; the key is clipped.
    #[error("unknown key {0:?}")]
    UnknownKey(Box<str>),
    /// The object contains this key twice.
    #[error("duplicate key {0:?}")]
    DuplicateKey(&'static str),
    /// A required key is absent.
    #[error("the key {0:?} is missing")]
    MissingKey(&'static str),
    /// A key's value has the wrong JSON type.
    #[error("{key} is not {expected}")]
    WrongType {
        /// Name of the key.
        key: &'static str,
        /// The expected JSON type, with its article.
        expected: &'static str,
    },
    /// The value of a key is not a valid message id.
    #[error("{key} is {problem}")]
    Id {
        /// Name of the key.
        key: &'static str,
        /// The reason for which the id is invalid.
        problem: MessageIdError,
    },
    /// The value of a key is not a valid address.
    #[error("{key} is not an address: {problem}")]
    Uri {
        /// Name of the key.
        key: &'static str,
        /// The reason for which the address is invalid.
        problem: PcpUriError,
    },
    /// `expires` is not an ISO 8601 time with an offset.
    #[error("expires is not an ISO 8601 time with an offset")]
    Expires,
    /// The message type is empty or too long. Holds its length in bytes.
    #[error("message_type has {0} bytes; 1 to {MAX_MESSAGE_TYPE_BYTES} are allowed")]
    MessageTypeLength(usize),
    /// A v1 envelope is longer than the limit. Holds its length in bytes.
    #[error("the envelope has {0} bytes; at most {MAX_V1_ENVELOPE_BYTES} are allowed")]
    EnvelopeLength(usize),
    /// A list has more targets than the limit.
    #[error("more than {MAX_V1_TARGETS} targets")]
    TooManyTargets,
    /// The JSON is nested more deeply than the limit.
    #[error("nested deeper than {MAX_JSON_DEPTH} levels")]
    TooDeep,
    /// A v1 frame ends within its first chunk. Holds the frame's length in bytes.
    #[error("a frame of {0} bytes is too short for an envelope")]
    TooShort(usize),
    /// The first byte, the version, is not 1. Holds that byte.
    #[error("unknown version {0}; this path speaks version 1")]
    Version(u8),
    /// A chunk declares a length beyond the end of the frame, or a negative one.
    #[error("the chunk at byte {offset} says it has {said} bytes, but {left} are left")]
    ChunkLength {
        /// Offset of the chunk in the frame, in bytes.
        offset: usize,
        /// The length that the chunk declares.
        said: i32,
        /// Number of bytes left in the frame.
        left: usize,
    },
    /// A chunk is not envelope, data or debug.
    #[error("the chunk at byte {offset} has the unknown type {kind}")]
    ChunkType {
        /// Offset of the chunk in the frame, in bytes.
        offset: usize,
        /// The low four bits of the chunk's descriptor.
        kind: u8,
    },
    /// The first chunk is not an envelope.
    #[error("the first chunk is not an envelope")]
    NoEnvelope,
    /// More than one chunk of a kind of which there is at most one.
    #[error("more than one {0} chunk")]
    RepeatedChunk(&'static str),
}

/// The error for a v1 frame that cannot be represented as v2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// The frame has more than one target, or a wildcard.
    #[error("multiple recipients are no longer supported")]
    MultipleRecipients,
    /// The data chunk is not JSON, or is an `error_message` without its description.
    #[error("the data chunk does not fit: {0}")]
    Data(#[from] PcpDecodeError),
}

impl PcpDecodeError {
    pub(crate) fn unknown_key(key: &str) -> Self {
        Self::UnknownKey(clip(key).into())
    }
}

/// The part of a peer's text that an error may quote. The limit counts characters after escaping.
pub(crate) fn clip(text: &str) -> String {
    let mut shown_chars = 0;
    let mut clipped: String = text
        .chars()
        .take_while(|c| {
            shown_chars += c.escape_debug().count();
            shown_chars <= MAX_QUOTED_CHARS
        })
        .collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}
