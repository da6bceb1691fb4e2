//! The outgoing side of the engine: its interface to the connection.
//!
//! [`PxpOutbox`] is implemented by the owner of the connection and used by the
//! [engine](crate::ActionEngine). Invariant: `send` returns once the message was handed to the live
//! socket (or is refused at once if there is none); it waits while the socket is slow, and never
//! queues for a later connection.

use async_trait::async_trait;
use pcp::PcpUri;
use tokio::sync::watch;

/// Sends PXP messages over the live broker connection, if there is one.
#[async_trait]
pub trait PxpOutbox: Send + Sync {
    /// Sends `body` to `to`; waits until the socket accepts the message, not for an answer.
    async fn send(&self, to: &PcpUri, body: pxp::PxpMessageBody) -> Result<(), NotSent>;

    /// True while a broker connection is live. Every change to `true` is a new connection.
    fn connected(&self) -> watch::Receiver<bool>;
}

/// Reason for which a message was not handed to a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// No broker connection is live; the sender decides if it tries again later.
    #[error("no broker is connected")]
    NotConnected,
    /// The message can never be sent: it is larger than the connection allows.
    #[error("message of {size_bytes} bytes exceeds the limit of {limit_bytes} bytes")]
    TooLarge {
        /// Size of the encoded message.
        size_bytes: usize,
        /// Value of `max-message-size` of this agent, in bytes.
        limit_bytes: usize,
    },
}
