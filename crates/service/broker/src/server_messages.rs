//! Messages to `pcp:///server`: association and inventory.
//!
//! The rule: an unknown type is not answered, as brokers of the field do, because clients may use
//! types that only some brokers know.

use std::sync::Arc;

use pcp::types::{
    self, ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, AssociateResponse, INVENTORY_REQUEST,
    INVENTORY_RESPONSE, InventoryRequest, InventoryResponse,
};
use pcp::{Message, PcpUri};

use crate::refusal::Refusal;
use crate::replies::{reply_error, reply_now};
use crate::router::{Routed, Router};
use crate::session::Session;
use crate::subscriptions::Subscriber;

/// Close code for an association that was refused, as in the field.
pub(crate) const ASSOCIATION_REFUSED: u16 = 4002;

pub(crate) fn handle(router: &Arc<Router>, session: &Arc<Session>, message: &Message) -> Routed {
    match message.message_type.as_str() {
        ASSOCIATE_REQUEST => associate(router, session, message),
        INVENTORY_REQUEST => inventory(router, session, message),
        other => {
            tracing::debug!(client = %session.uri, message_type = other, "unknown server message");
            Routed::Done
        }
    }
}

/// The session is associated since its upgrade; a v1 client only wants to hear it.
fn associate(router: &Arc<Router>, session: &Arc<Session>, message: &Message) -> Routed {
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
    router: &Arc<Router>,
    session: &Arc<Session>,
    message: &Message,
    refusal: &Refusal,
) -> Routed {
    answer_association(router, session, message, Some(&refusal.to_string()))
}

/// With a `problem`, the session is closed behind the answer.
fn answer_association(
    router: &Arc<Router>,
    session: &Arc<Session>,
    message: &Message,
    problem: Option<&str>,
) -> Routed {
    let body = AssociateResponse {
        id: message.id,
        success: problem.is_none(),
        reason: problem.map(str::to_owned),
    };
    let mut answer = Message::new(ASSOCIATE_RESPONSE, Some(types::encode(&body)));
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

fn inventory(router: &Arc<Router>, session: &Arc<Session>, message: &Message) -> Routed {
    let request: InventoryRequest = match types::decode(message.data.as_deref()) {
        Ok(request) => request,
        Err(error) => {
            let text = format!("Invalid inventory request: {error}.");
            return reply_error(router, session, &text, Some(message.id));
        }
    };
    let subscriber =
        (request.subscribe == Some(true)).then(|| Subscriber::Session(Arc::clone(session)));
    let found = router
        .sessions
        .inventory(&session.uri, request.query, subscriber);
    let answer = inventory_response(message, found.iter().map(|s| s.uri.clone()).collect());
    let routed = reply_now(router, session, answer.to(session.uri.clone()));
    match routed {
        Routed::Done => {
            router.sessions.activate(&session.uri);
            Routed::Done
        }
        Routed::Waits(sent) => {
            let (router, session) = (Arc::clone(router), Arc::clone(session));
            Routed::Waits(Box::pin(async move {
                sent.await;
                router.sessions.activate(&session.uri);
            }))
        }
    }
}

/// The answer to `request`: addresses sorted by their text.
pub(crate) fn inventory_response(request: &Message, mut uris: Vec<PcpUri>) -> Message {
    uris.sort_unstable();
    let body = InventoryResponse { uris };
    let mut answer = Message::new(INVENTORY_RESPONSE, Some(types::encode(&body)));
    answer.in_reply_to = Some(request.id);
    answer
}
