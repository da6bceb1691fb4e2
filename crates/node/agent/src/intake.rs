//! Dispatch of received messages: to the engine, back as an error, or dropped.
//!
//! [`MessageIntake`] sits between the connection and the engine. Invariants: a message without a
//! sender is never answered (there is no recipient) and never acted upon; no received data ends the
//! connection; every message leaves one line in the access log.

use std::sync::Arc;

use partial_debug::partial_debug;
use pcp::types::{ERROR_MESSAGE, INVENTORY_UPDATE};
use pcp::{MessageId, PcpMessage, PcpUri};
use pxp::{PxpBodyError, PxpMessageBody, types};

use crate::access_log::{AccessLog, AccessLogLine, DecodeOutcome};
use crate::connection::protocol::ReceiveError;
use crate::connection::{MessageReceiver, MessageReply};

/// Message types that agents accept; responses are for controllers.
const FOR_AGENTS: [&str; 5] = [
    types::BLOCKING_REQUEST,
    types::NON_BLOCKING_REQUEST,
    types::OUTCOME_ACK,
    types::OUTPUT_CREDIT,
    types::CANCEL,
];

/// Handler of valid PXP messages; must not block.
pub trait RequestHandler: Send + Sync {
    /// Handles a message; `body` is of a type that an agent accepts.
    fn handle(&self, sender: PcpUri, message_id: MessageId, body: PxpMessageBody);
}

/// Dispatcher of received messages.
pub struct MessageIntake {
    requests: Arc<dyn RequestHandler>,
    access_log: AccessLog,
}

partial_debug!(MessageIntake {});

// === impl MessageIntake ===

impl MessageIntake {
    /// Creates an intake that passes valid messages to `requests`.
    pub fn new(requests: Arc<dyn RequestHandler>, access_log: AccessLog) -> Self {
        Self {
            requests,
            access_log,
        }
    }

    fn pxp(&self, message: &PcpMessage, sender: PcpUri, reply: &MessageReply<'_>) {
        if !FOR_AGENTS.contains(&message.message_type.as_str()) {
            tracing::warn!(
                %sender,
                message_type = printable(&message.message_type),
                "ignored a message of a type that agents do not take"
            );
            return;
        }
        match PxpMessageBody::decode(&message.message_type, message.data.as_deref()) {
            Ok(body) => self.requests.handle(sender, message.id, body),
            Err(PxpBodyError::NoData) => refuse(message, sender, "no data", reply),
            Err(error) => {
                tracing::debug!(%sender, id = %message.id, %error, "invalid data");
                refuse(message, sender, "invalid data", reply);
            }
        }
    }
}

impl MessageReceiver for MessageIntake {
    fn handle_message(&self, message: PcpMessage, reply: &MessageReply<'_>) {
        self.access_log.record(&AccessLogLine {
            outcome: DecodeOutcome::AuthorizationSuccess,
            broker: reply.broker(),
            sender: message.sender.as_ref().map(PcpUri::as_str),
            message_type: Some(&message.message_type),
            id: Some(message.id.as_str()),
        });
        match message.message_type.as_str() {
            ERROR_MESSAGE => tracing::warn!(
                in_reply_to = message.in_reply_to.map(tracing::field::display),
                error = printable(message.data.as_deref().map_or("", |data| data.get())),
                "the broker or a controller reports an error"
            ),
            INVENTORY_UPDATE => tracing::debug!("ignored an inventory update"),
            _ => match message.sender.clone() {
                Some(sender) => self.pxp(&message, sender, reply),
                None => tracing::warn!(id = %message.id, "ignored a message without a sender"),
            },
        }
    }

    fn handle_invalid(&self, error: &ReceiveError, reply: &MessageReply<'_>) {
        self.access_log.record(&AccessLogLine {
            outcome: DecodeOutcome::DeserializationError,
            broker: reply.broker(),
            sender: None,
            message_type: None,
            id: None,
        });
        tracing::error!(%error, "ignored a message that is not PCP");
    }
}

/// Sends the PCP error with which pxp-agent answers a message whose data it cannot read.
fn refuse(message: &PcpMessage, sender: PcpUri, text: &str, reply: &MessageReply<'_>) {
    tracing::warn!(%sender, id = %message.id, "refused a message: {text}");
    let error = PcpMessage::error(text, Some(message.id))
        .to(sender)
        .from(reply.own().clone());
    if !reply.send(&error) {
        tracing::warn!("the error could not be sent: the connection takes nothing now");
    }
}

/// Makes text from the network safe for one log line.
fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    text.chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect()
}
