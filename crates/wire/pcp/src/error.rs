//! Why bytes are no PCP message, and why a message has no form in the other version.

use crate::defaults::{
    MAX_JSON_DEPTH, MAX_MESSAGE_TYPE_BYTES, MAX_QUOTED_CHARS, MAX_V1_ENVELOPE_BYTES, MAX_V1_TARGETS,
};
use crate::{MessageIdError, UriError};

/// Why a frame or text could not be decoded. Short, and never a dump of the input: at most a
/// clipped key is quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON at all, or something follows it.
    #[error("not JSON: error at line {line}, column {column}")]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// In bytes, counted from 1.
        column: usize,
    },
    /// The bytes of this part are not UTF-8.
    #[error("the {0} is not UTF-8")]
    NotUtf8(&'static str),
    /// JSON, but not an object.
    #[error("not a JSON object")]
    NotObject,
    /// The schema is closed; the key is clipped.
    #[error("unknown key {0:?}")]
    UnknownKey(Box<str>),
    /// The same key twice.
    #[error("duplicate key {0:?}")]
    DuplicateKey(&'static str),
    /// A required key is absent.
    #[error("the key {0:?} is missing")]
    MissingKey(&'static str),
    /// A key's value has the wrong JSON type.
    #[error("{key} is not {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What it should be, with its article.
        expected: &'static str,
    },
    /// A key that holds an id does not.
    #[error("{key} is {problem}")]
    Id {
        /// The key.
        key: &'static str,
        /// Why.
        problem: MessageIdError,
    },
    /// A key that holds an address does not.
    #[error("{key} is not an address: {problem}")]
    Uri {
        /// The key.
        key: &'static str,
        /// Why.
        problem: UriError,
    },
    /// `expires` is not an ISO 8601 time with an offset.
    #[error("expires is not an ISO 8601 time with an offset")]
    Expires,
    /// The message type is empty or too long.
    #[error("message_type has {0} bytes; 1 to {MAX_MESSAGE_TYPE_BYTES} are allowed")]
    MessageTypeLength(usize),
    /// A v1 envelope beyond any use.
    #[error("the envelope has {0} bytes; at most {MAX_V1_ENVELOPE_BYTES} are allowed")]
    EnvelopeLength(usize),
    /// A list of targets beyond any use.
    #[error("more than {MAX_V1_TARGETS} targets")]
    TooManyTargets,
    /// Nested too deeply.
    #[error("nested deeper than {MAX_JSON_DEPTH} levels")]
    TooDeep,
    /// A v1 frame ends within its first chunk.
    #[error("a frame of {0} bytes is too short for an envelope")]
    TooShort(usize),
    /// The first byte is not 1.
    #[error("unknown version {0}; this path speaks version 1")]
    Version(u8),
    /// A chunk says it is longer than what is left of the frame, or less than nothing.
    #[error("the chunk at byte {offset} says it has {said} bytes, but {left} are left")]
    ChunkLength {
        /// Where the chunk begins.
        offset: usize,
        /// Its own word.
        said: i32,
        /// What is there.
        left: usize,
    },
    /// A chunk that is not envelope, data or debug.
    #[error("the chunk at byte {offset} has the unknown type {kind}")]
    ChunkType {
        /// Where the chunk begins.
        offset: usize,
        /// The low four bits of its descriptor.
        kind: u8,
    },
    /// The first chunk is no envelope.
    #[error("the first chunk is not an envelope")]
    NoEnvelope,
    /// More than one chunk of a kind of which there is at most one.
    #[error("more than one {0} chunk")]
    RepeatedChunk(&'static str),
}

/// Why a v1 frame has no v2 form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// More than one target, or a wildcard.
    #[error("multiple recipients are no longer supported")]
    MultipleRecipients,
    /// The data chunk is not JSON, or an `error_message` without its description.
    #[error("the data chunk does not fit: {0}")]
    Data(#[from] DecodeError),
}

impl DecodeError {
    pub(crate) fn unknown_key(key: &str) -> Self {
        Self::UnknownKey(clip(key).into())
    }
}

/// What of a peer's text an error may repeat. Bounded as it is shown, with escapes.
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
