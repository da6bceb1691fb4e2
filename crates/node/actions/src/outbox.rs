//! The way out of the node: what the engine may ask of the connection.
//!
//! [`Outbox`] is implemented by whoever holds the connection and used by the
//! [engine](crate::Engine). The rule: `send` returns once the message was handed to the live socket (or refused at once when
//! there is none); it waits while the socket is slow, and never queues for a later connection.

use async_trait::async_trait;
use pcp::PcpUri;
use tokio::sync::watch;

/// Hands PXP messages to whatever broker connection is live.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Sends `body` to `to`; waits for room, not for an answer.
    async fn send(&self, to: &PcpUri, body: pxp::Body) -> Result<(), NotSent>;

    /// Whether a broker connection is live. Every change to `true` is a new connection.
    fn connected(&self) -> watch::Receiver<bool>;
}

/// Why a message was not handed to a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// No broker connection is live; the sender decides whether to try again later.
    #[error("no broker is connected")]
    NotConnected,
    /// The message can never be sent: it is larger than the connection allows.
    #[error("message of {size_bytes} bytes exceeds the limit of {limit_bytes} bytes")]
    TooLarge {
        /// Size of the encoded message.
        size_bytes: usize,
        /// `max-message-size` of this agent.
        limit_bytes: usize,
    },
}
