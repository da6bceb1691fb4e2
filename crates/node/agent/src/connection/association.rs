//! Association of the client with the broker's inventory.
//!
//! On a version 2 connection it is complete with the upgrade. On version 1 the client requests it
//! ([`Association::request`]) and must not send anything else before the answer. Pure: messages in,
//! [`Verdict`] out. Invariant: only an answer that names this request counts.

use pcp::types::{
    ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, AssociateResponse, ERROR_MESSAGE, TTL_EXPIRED,
};
use pcp::{Message, MessageId, PcpUri};

/// An association request without an answer yet.
#[derive(Debug)]
pub struct Association {
    request_id: MessageId,
}

/// Meaning of a message for the association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The message does not concern this association.
    NotMine,
    /// The client is associated.
    Associated,
    /// The broker refused, for this reason.
    Refused(String),
    /// The request failed for this reason; a new connection may succeed.
    Failed(String),
}

// === impl Association ===

impl Association {
    /// Creates the message to send, and the state that waits for its answer.
    pub fn request(own: &PcpUri) -> (Message, Self) {
        let message = Message::new(ASSOCIATE_REQUEST, None)
            .to(PcpUri::broker())
            .from(own.clone());
        let request_id = message.id;
        (message, Self { request_id })
    }

    /// Evaluates a received message.
    pub fn consider(&self, message: &Message) -> Verdict {
        match message.message_type.as_str() {
            ASSOCIATE_RESPONSE => self.response(message),
            ERROR_MESSAGE if message.in_reply_to == Some(self.request_id) => Verdict::Failed(
                message
                    .data
                    .as_deref()
                    .map_or_else(String::new, |data| data.get().to_owned()),
            ),
            TTL_EXPIRED if self.expired(message) => {
                Verdict::Failed("the association request expired on its way".to_owned())
            }
            _ => Verdict::NotMine,
        }
    }

    fn response(&self, message: &Message) -> Verdict {
        match pcp::types::decode::<AssociateResponse>(message.data.as_deref()) {
            Ok(response) if response.id != self.request_id => Verdict::NotMine,
            Ok(response) if response.success => Verdict::Associated,
            Ok(response) => {
                Verdict::Refused(response.reason.unwrap_or_else(|| "no reason given".into()))
            }
            Err(error) => Verdict::Failed(format!("unreadable associate_response: {error}")),
        }
    }

    fn expired(&self, message: &Message) -> bool {
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

    fn reply(message_type: &str, data: &serde_json::Value) -> Message {
        Message::new(message_type, Some(pcp::types::encode(data)))
    }

    #[test]
    fn the_request_has_no_data_and_goes_to_the_broker() {
        let (message, _) = Association::request(&own());
        assert_eq!(message.message_type, ASSOCIATE_REQUEST);
        assert_eq!(message.target, Some(PcpUri::broker()));
        assert_eq!(message.sender, Some(own()));
        assert!(message.data.is_none());
    }

    #[test]
    fn only_an_answer_to_our_request_decides() {
        let (request, association) = Association::request(&own());
        let other = MessageId::random();
        let cases = [
            (
                json!({"id": request.id, "success": true}),
                Verdict::Associated,
            ),
            (json!({"id": other, "success": true}), Verdict::NotMine),
            (json!({"id": other, "success": false}), Verdict::NotMine),
            (
                json!({"id": request.id, "success": false, "reason": "Message not authorized."}),
                Verdict::Refused("Message not authorized.".into()),
            ),
        ];
        for (data, verdict) in cases {
            assert_eq!(
                association.consider(&reply(ASSOCIATE_RESPONSE, &data)),
                verdict,
                "{data}"
            );
        }
    }

    #[test]
    fn an_error_or_expiry_that_names_the_request_ends_the_attempt() {
        let (request, association) = Association::request(&own());
        let expired = |id| reply(TTL_EXPIRED, &json!({ "id": id }));
        assert!(matches!(
            association.consider(&expired(request.id)),
            Verdict::Failed(_)
        ));
        assert_eq!(
            association.consider(&expired(MessageId::random())),
            Verdict::NotMine
        );

        let error = Message::error("Could not decode message", Some(request.id));
        assert!(matches!(association.consider(&error), Verdict::Failed(_)));
        let foreign = Message::error("Not connected.", None);
        assert_eq!(association.consider(&foreign), Verdict::NotMine);
    }
}
