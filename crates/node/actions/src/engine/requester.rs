//! The requester of an action, and the description of its request in messages: [`ActionRequester`],
//! [`label`].

use pcp::{MessageId, PcpUri};
use pxp::TransactionId;

use crate::modules;
use crate::spool::TransactionRecord;

/// The requester, and the id of its message.
#[derive(Debug, Clone)]
pub(super) struct ActionRequester {
    pub(super) uri: PcpUri,
    pub(super) message_id: MessageId,
}

impl ActionRequester {
    /// The requester named in a record.
    pub(super) fn of(record: &TransactionRecord) -> Self {
        // An id written by pxp-agent may be any text.
        let message_id = record
            .request_id
            .parse()
            .unwrap_or_else(|_| MessageId::random());
        Self {
            uri: record.requester.clone(),
            message_id,
        }
    }
}

/// `blocking 'task run' request (transaction 42)`, in pxp-agent's words.
pub(super) fn label(module: &str, action: &str, id: &TransactionId, blocking: bool) -> String {
    let kind = if blocking { "blocking" } else { "non blocking" };
    format!("{kind} '{module} {action}' request (transaction {id})")
}

pub(super) fn refusal_text(refusal: &modules::RequestRefusal, label: &str) -> String {
    match refusal {
        modules::RequestRefusal::Input(why) => format!("invalid input for {label}: {why}"),
        other => other.to_string(),
    }
}
