//! Dispatch of received messages: to the engine, back as an error, or dropped.
//!
//! [`Intake`] sits between the connection and the engine. Invariants: a message without a sender is
//! never answered (there is no recipient) and never acted upon; no received data ends the
//! connection; every message leaves one line in the access log.

use std::sync::Arc;

use pcp::types::{ERROR_MESSAGE, INVENTORY_UPDATE};
use pcp::{Message, MessageId, PcpUri};
use pxp::{Body, BodyError, types};

use crate::access_log::{Access, AccessLog, Outcome};
use crate::connection::protocol::ReceiveError;
use crate::connection::{Receive, Reply};

/// Message types that agents accept; responses are for controllers.
const FOR_AGENTS: [&str; 5] = [
    types::BLOCKING_REQUEST,
    types::NON_BLOCKING_REQUEST,
    types::OUTCOME_ACK,
    types::OUTPUT_CREDIT,
    types::CANCEL,
];

/// Handler of valid PXP messages; must not block.
pub trait Requests: Send + Sync {
    /// Handles a message; `body` is of a type that an agent accepts.
    fn handle(&self, sender: PcpUri, message_id: MessageId, body: Body);
}

/// Dispatcher of received messages.
pub struct Intake {
    requests: Arc<dyn Requests>,
    access_log: AccessLog,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").finish_non_exhaustive()
    }
}

// === impl Intake ===

impl Intake {
    /// Creates an intake that passes valid messages to `requests`.
    pub fn new(requests: Arc<dyn Requests>, access_log: AccessLog) -> Self {
        Self {
            requests,
            access_log,
        }
    }

    fn pxp(&self, message: &Message, sender: PcpUri, reply: &Reply<'_>) {
        if !FOR_AGENTS.contains(&message.message_type.as_str()) {
            tracing::warn!(
                %sender,
                message_type = printable(&message.message_type),
                "ignored a message of a type that agents do not take"
            );
            return;
        }
        match Body::decode(&message.message_type, message.data.as_deref()) {
            Ok(body) => self.requests.handle(sender, message.id, body),
            Err(BodyError::NoData) => refuse(message, sender, "no data", reply),
            Err(error) => {
                tracing::debug!(%sender, id = %message.id, %error, "invalid data");
                refuse(message, sender, "invalid data", reply);
            }
        }
    }
}

impl Receive for Intake {
    fn message(&self, message: Message, reply: &Reply<'_>) {
        self.access_log.record(&Access {
            outcome: Outcome::AuthorizationSuccess,
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

    fn garbage(&self, error: &ReceiveError, reply: &Reply<'_>) {
        self.access_log.record(&Access {
            outcome: Outcome::DeserializationError,
            broker: reply.broker(),
            sender: None,
            message_type: None,
            id: None,
        });
        tracing::error!(%error, "ignored a message that is not PCP");
    }
}

/// Sends the PCP error with which pxp-agent answers a message whose data it cannot read.
fn refuse(message: &Message, sender: PcpUri, text: &str, reply: &Reply<'_>) {
    tracing::warn!(%sender, id = %message.id, "refused a message: {text}");
    let error = Message::error(text, Some(message.id))
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
