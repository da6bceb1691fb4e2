//! Responses to requesters: results, or an error.
//!
//! Invariant: a waiting requester gets a response, even if the result is too large for a message.

use pxp::{PxpMessageBody, PxpResponse, RpcError, TransactionId};
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::requester::ActionRequester;
use super::state::{ActionEngineState, not_sent};
use crate::outbox::NotSent;

impl ActionEngineState {
    pub(super) async fn send_error(
        &self,
        asker: &ActionRequester,
        id: TransactionId,
        description: String,
    ) {
        tracing::info!(transaction_id = %id, description, "error reply");
        let error = RpcError {
            transaction_id: id.clone(),
            id: asker.message_id,
            description,
        };
        self.answer(asker, id, PxpMessageBody::Error(error)).await;
    }

    /// Sends a response. One that no message can hold becomes an error with pxp-agent's text,
    /// because the requester waits. Returns false if nothing could be sent.
    pub(super) async fn answer(
        &self,
        asker: &ActionRequester,
        id: TransactionId,
        body: PxpMessageBody,
    ) -> bool {
        let message_type = body.message_type();
        match self.outbox.send(&asker.uri, body).await {
            Ok(()) => true,
            Err(NotSent::TooLarge {
                size_bytes,
                limit_bytes,
            }) => {
                let description =
                    format!("Message size: {size_bytes} exceeded max-message-size {limit_bytes}");
                tracing::warn!(transaction_id = %id, message_type, description, "answer replaced");
                let error = RpcError {
                    transaction_id: id,
                    id: asker.message_id,
                    description,
                };
                self.send(&asker.uri, PxpMessageBody::Error(error)).await
            }
            Err(error) => not_sent(&asker.uri, message_type, &error),
        }
    }

    pub(super) async fn send_results(
        &self,
        asker: &ActionRequester,
        transaction_id: TransactionId,
        results: &Value,
    ) {
        let results = to_raw_value(results).expect("a JSON value serialises");
        let response = PxpResponse {
            transaction_id: transaction_id.clone(),
            results,
        };
        self.answer(
            asker,
            transaction_id,
            PxpMessageBody::BlockingResponse(response),
        )
        .await;
    }
}
