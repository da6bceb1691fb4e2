//! Frames that overtake messages: [`Control`], from whoever has one to write to the writer.

use bytes::Bytes;

/// Written before any message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// Our keepalive.
    Ping,
    /// The answer to the peer's.
    Pong(Bytes),
    /// The end.
    Close { code: u16, reason: String },
}
