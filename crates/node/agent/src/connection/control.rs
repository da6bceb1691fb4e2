//! Control frames, which overtake messages: [`ControlFrame`], queued for the writer.

use bytes::Bytes;

/// A frame that is written before any waiting message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ControlFrame {
    /// Keepalive ping of this agent.
    Ping,
    /// Answer to a ping of the peer.
    Pong(Bytes),
    /// End of the connection.
    Close { code: u16, reason: String },
}
