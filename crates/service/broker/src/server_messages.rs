//! Messages to `pcp:///server`: association and inventory.
//!
//! Invariant: an unknown type is not answered, the same as in other PCP brokers, because clients
//! may use types that only some brokers know.

use std::sync::Arc;

use pcp::types::{
    self, ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, AssociateResponse, INVENTORY_REQUEST,
    INVENTORY_RESPONSE, InventoryRequest, InventoryResponse,
};
use pcp::{PcpMessage, PcpUri};

use crate::refusal::MessageRefusal;
use crate::replies::{reply_error, reply_now};
use crate::router::{MessageRouter, RoutingResult};
use crate::session::BrokerSession;
use crate::subscriptions::InventorySubscriber;

/// Close code for a refused association, the same as in other PCP brokers.
pub(crate) const ASSOCIATION_REFUSED: u16 = 4002;

pub(crate) fn handle(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: &PcpMessage,
) -> RoutingResult {
    match message.message_type.as_str() {
        ASSOCIATE_REQUEST => handle_association(router, session, message),
        INVENTORY_REQUEST => handle_inventory(router, session, message),
        other => {
            tracing::debug!(client = %session.uri, message_type = other, "unknown server message");
            RoutingResult::Done
        }
    }
}

/// Answers an association request of PCP 1: the session is associated since its upgrade.
fn handle_association(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: &PcpMessage,
) -> RoutingResult {
    if message.sender.as_ref() != Some(&session.uri) {
        return answer_association(
            router,
            session,
            message,
            Some("Session already associated."),
        );
    }
    answer_association(router, session, message, None)
}

pub(crate) fn refuse_association(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: &PcpMessage,
    refusal: &MessageRefusal,
) -> RoutingResult {
    answer_association(router, session, message, Some(&refusal.to_string()))
}

/// Answers an association request; with a `problem`, the session is closed after the answer.
fn answer_association(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: &PcpMessage,
    problem: Option<&str>,
) -> RoutingResult {
    let body = AssociateResponse {
        id: message.id,
        success: problem.is_none(),
        reason: problem.map(str::to_owned),
    };
    let mut answer = PcpMessage::new(ASSOCIATE_RESPONSE, Some(types::encode(&body)));
    answer.in_reply_to = Some(message.id);
    let answer = answer.to(session.uri.clone());
    let routed = reply_now(router, session, answer);
    if problem.is_some() {
        session
            .outbox
            .close_after_queue(ASSOCIATION_REFUSED, "Association unsuccessful.");
    }
    routed
}

fn handle_inventory(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: &PcpMessage,
) -> RoutingResult {
    let request: InventoryRequest = match types::decode(message.data.as_deref()) {
        Ok(request) => request,
        Err(error) => {
            let text = format!("Invalid inventory request: {error}.");
            return reply_error(router, session, &text, Some(message.id));
        }
    };
    let subscriber = (request.subscribe == Some(true))
        .then(|| InventorySubscriber::Session(Arc::clone(session)));
    let found = router
        .sessions
        .query_inventory(&session.uri, request.query, subscriber);
    let answer = inventory_response(message, found.iter().map(|s| s.uri.clone()).collect());
    let routed = reply_now(router, session, answer.to(session.uri.clone()));
    match routed {
        RoutingResult::Done => {
            router.sessions.activate(&session.uri);
            RoutingResult::Done
        }
        RoutingResult::Waits(sent) => {
            let (router, session) = (Arc::clone(router), Arc::clone(session));
            RoutingResult::Waits(Box::pin(async move {
                sent.await;
                router.sessions.activate(&session.uri);
            }))
        }
    }
}

/// Builds the answer to `request`, with addresses sorted by their text.
pub(crate) fn inventory_response(request: &PcpMessage, mut uris: Vec<PcpUri>) -> PcpMessage {
    uris.sort_unstable();
    let body = InventoryResponse { uris };
    let mut answer = PcpMessage::new(INVENTORY_RESPONSE, Some(types::encode(&body)));
    answer.in_reply_to = Some(request.id);
    answer
}
