//! Messages of the broker itself to a client.
//!
//! The rule: a client that does not read its answers is not read from.

use std::sync::Arc;

use pcp::{Message, MessageId, PcpUri};

use crate::router::{Routed, Router};
use crate::session::Session;
use crate::session::outbox::{Outbox, Payload, PushError};

/// Sends an `error_message` of the broker itself.
pub(crate) fn reply_error(
    router: &Arc<Router>,
    session: &Arc<Session>,
    text: &str,
    in_reply_to: Option<MessageId>,
) -> Routed {
    reply_now(router, session, Message::error(text, in_reply_to))
}

/// Sends a message of the broker itself.
pub(crate) fn reply_now(router: &Arc<Router>, session: &Arc<Session>, message: Message) -> Routed {
    let message = message.from(PcpUri::broker());
    match session.outbox.try_push(session.version.encode(&message)) {
        Ok(()) | Err((PushError::Closed, _)) => Routed::Done,
        Err((PushError::Full, payload)) => {
            let (router, session) = (Arc::clone(router), Arc::clone(session));
            Routed::Waits(Box::pin(async move {
                push_reply(&router, &session.outbox, payload).await;
            }))
        }
    }
}

/// Like [`reply_now`], by somebody who waits anyway.
pub(crate) async fn reply(router: &Router, session: &Session, message: &Message) {
    let message = message.clone().from(PcpUri::broker());
    push_reply(router, &session.outbox, session.version.encode(&message)).await;
}

async fn push_reply(router: &Router, outbox: &Outbox, payload: Payload) {
    if outbox.push(payload, router.patience).await == Err(PushError::Full) {
        router.metrics.undelivered("reply");
    }
}
