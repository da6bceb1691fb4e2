//! Messages on their way to nodes, and the results of sending them.

use fabric::FabricSendError;
use pcp::PcpMessage;

use crate::keys::RunKey;

/// A message for a node.
pub(super) struct OutgoingMessage {
    /// The run whose request this is; `None` for other messages.
    pub(super) request_of: Option<RunKey>,
    pub(super) message: PcpMessage,
}

/// The result of handing a request to the fabric.
pub(super) struct RequestDelivery {
    pub(super) run: RunKey,
    /// On error, nothing of it was sent.
    pub(super) result: Result<(), FabricSendError>,
}

// === impl OutgoingMessage ===

impl OutgoingMessage {
    pub(super) fn without_request(message: PcpMessage) -> Self {
        Self {
            request_of: None,
            message,
        }
    }
}
