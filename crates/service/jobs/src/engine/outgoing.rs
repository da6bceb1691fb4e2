//! Messages on their way to nodes, and the results of sending them.

use fabric::SendError;
use pcp::Message;

use crate::keys::RunKey;

/// A message for a node.
pub(super) struct Outgoing {
    /// The run whose request this is; `None` for other messages.
    pub(super) request_of: Option<RunKey>,
    pub(super) message: Message,
}

/// The result of handing a request to the fabric.
pub(super) struct HandedOver {
    pub(super) run: RunKey,
    /// On error, nothing of it was sent.
    pub(super) result: Result<(), SendError>,
}

// === impl Outgoing ===

impl Outgoing {
    pub(super) fn one(message: Message) -> Self {
        Self {
            request_of: None,
            message,
        }
    }
}
