//! Association of the client with the broker's inventory.
//!
//! On a version 2 connection it is complete with the upgrade. On version 1 the client requests it
//! ([`PendingAssociation::start`]) and must not send anything else before the answer. Pure:
//! messages in, [`AssociationVerdict`] out. Invariant: only an answer that names this request
//! counts.

use pcp::types::{
    ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, AssociateResponse, ERROR_MESSAGE, TTL_EXPIRED,
};
use pcp::{MessageId, PcpMessage, PcpUri};

/// An association request without an answer yet.
#[derive(Debug)]
pub struct PendingAssociation {
    request_id: MessageId,
}

/// Meaning of a message for the association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssociationVerdict {
    /// The message does not concern this association.
    Unrelated,
    /// The client is associated.
    Associated,
    /// The broker refused, for this reason.
    Refused(String),
    /// The request failed for this reason; a new connection may succeed.
    Failed(String),
}

// === impl PendingAssociation ===

impl PendingAssociation {
    /// Creates the message to send, and the state that waits for its answer.
    pub fn start(own: &PcpUri) -> (PcpMessage, Self) {
        let message = PcpMessage::new(ASSOCIATE_REQUEST, None)
            .to(PcpUri::broker())
            .from(own.clone());
        let request_id = message.id;
        (message, Self { request_id })
    }

    /// Evaluates a received message.
    pub fn evaluate(&self, message: &PcpMessage) -> AssociationVerdict {
        match message.message_type.as_str() {
            ASSOCIATE_RESPONSE => self.response(message),
            ERROR_MESSAGE if message.in_reply_to == Some(self.request_id) => {
                AssociationVerdict::Failed(
                    message
                        .data
                        .as_deref()
                        .map_or_else(String::new, |data| data.get().to_owned()),
                )
            }
            TTL_EXPIRED if self.expired(message) => {
                AssociationVerdict::Failed("the association request expired on its way".to_owned())
            }
            _ => AssociationVerdict::Unrelated,
        }
    }

    fn response(&self, message: &PcpMessage) -> AssociationVerdict {
        match pcp::types::decode::<AssociateResponse>(message.data.as_deref()) {
            Ok(response) if response.id != self.request_id => AssociationVerdict::Unrelated,
            Ok(response) if response.success => AssociationVerdict::Associated,
            Ok(response) => AssociationVerdict::Refused(
                response.reason.unwrap_or_else(|| "no reason given".into()),
            ),
            Err(error) => {
                AssociationVerdict::Failed(format!("unreadable associate_response: {error}"))
            }
        }
    }

    fn expired(&self, message: &PcpMessage) -> bool {
        pcp::types::decode::<pcp::types::TtlExpired>(message.data.as_deref())
            .is_ok_and(|expired| expired.id == self.request_id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own() -> PcpUri {
        "pcp://node.example/agent".parse().expect("an address")
    }

    fn reply(message_type: &str, data: &serde_json::Value) -> PcpMessage {
        PcpMessage::new(message_type, Some(pcp::types::encode(data)))
    }

    #[test]
    fn the_request_has_no_data_and_goes_to_the_broker() {
        let (message, _) = PendingAssociation::start(&own());
        assert_eq!(message.message_type, ASSOCIATE_REQUEST);
        assert_eq!(message.target, Some(PcpUri::broker()));
        assert_eq!(message.sender, Some(own()));
        assert!(message.data.is_none());
    }

    #[test]
    fn only_an_answer_to_our_request_decides() {
        let (request, association) = PendingAssociation::start(&own());
        let other = MessageId::random();
        let cases = [
            (
                json!({"id": request.id, "success": true}),
                AssociationVerdict::Associated,
            ),
            (
                json!({"id": other, "success": true}),
                AssociationVerdict::Unrelated,
            ),
            (
                json!({"id": other, "success": false}),
                AssociationVerdict::Unrelated,
            ),
            (
                json!({"id": request.id, "success": false, "reason": "Message not authorized."}),
                AssociationVerdict::Refused("Message not authorized.".into()),
            ),
        ];
        for (data, verdict) in cases {
            assert_eq!(
                association.evaluate(&reply(ASSOCIATE_RESPONSE, &data)),
                verdict,
                "{data}"
            );
        }
    }

    #[test]
    fn an_error_or_expiry_that_names_the_request_ends_the_attempt() {
        let (request, association) = PendingAssociation::start(&own());
        let expired = |id| reply(TTL_EXPIRED, &json!({ "id": id }));
        assert!(matches!(
            association.evaluate(&expired(request.id)),
            AssociationVerdict::Failed(_)
        ));
        assert_eq!(
            association.evaluate(&expired(MessageId::random())),
            AssociationVerdict::Unrelated
        );

        let error = PcpMessage::error("Could not decode message", Some(request.id));
        assert!(matches!(
            association.evaluate(&error),
            AssociationVerdict::Failed(_)
        ));
        let foreign = PcpMessage::error("Not connected.", None);
        assert_eq!(
            association.evaluate(&foreign),
            AssociationVerdict::Unrelated
        );
    }
}
