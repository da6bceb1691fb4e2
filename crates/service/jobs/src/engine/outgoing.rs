//! One message on its way to a node, and what became of it.

use fabric::SendError;
use pcp::Message;

use crate::keys::RunKey;

/// A message for a node.
pub(super) struct Outgoing {
    /// Whose request it is, if it is one.
    pub(super) request_of: Option<RunKey>,
    pub(super) message: Message,
}

/// What became of a request.
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
