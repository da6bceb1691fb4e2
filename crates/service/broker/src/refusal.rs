//! The reasons for which a message is refused.

use pcp::PcpUri;

use crate::message_limits::MessageTooLarge;

/// The reason a message is refused; its text is sent to the sender.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageRefusal {
    #[error("Message not authenticated.")]
    NotAuthenticated,
    #[error("Message not authorized.")]
    NotAuthorized,
    #[error("Multiple recipients no longer supported.")]
    Multicast,
    #[error("{0}")]
    TooLarge(#[from] MessageTooLarge),
    #[error("Not connected.")]
    NotConnected,
    #[error("{0} does not take messages fast enough.")]
    Busy(PcpUri),
}

impl MessageRefusal {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Busy(_) => "busy",
            _ => "not_connected",
        }
    }
}
