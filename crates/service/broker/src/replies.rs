//! Messages of the broker itself to a client.
//!
//! Invariant: a client that does not read its answers is not read from.

use std::sync::Arc;

use pcp::{MessageId, PcpMessage, PcpUri};

use crate::router::{MessageRouter, RoutingResult};
use crate::session::BrokerSession;
use crate::session::outbox::{EncodedMessage, OutboxPushError, SessionOutbox};

/// Sends an `error_message` of the broker itself.
pub(crate) fn reply_error(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    text: &str,
    in_reply_to: Option<MessageId>,
) -> RoutingResult {
    reply_now(router, session, PcpMessage::error(text, in_reply_to))
}

/// Sends a message of the broker itself.
pub(crate) fn reply_now(
    router: &Arc<MessageRouter>,
    session: &Arc<BrokerSession>,
    message: PcpMessage,
) -> RoutingResult {
    let message = message.from(PcpUri::broker());
    match session.outbox.try_push(session.version.encode(&message)) {
        Ok(()) | Err((OutboxPushError::Closed, _)) => RoutingResult::Done,
        Err((OutboxPushError::Full, payload)) => {
            let (router, session) = (Arc::clone(router), Arc::clone(session));
            RoutingResult::Waits(Box::pin(async move {
                push_reply(&router, &session.outbox, payload).await;
            }))
        }
    }
}

/// Like [`reply_now`], for callers that may wait.
pub(crate) async fn reply(router: &MessageRouter, session: &BrokerSession, message: &PcpMessage) {
    let message = message.clone().from(PcpUri::broker());
    push_reply(router, &session.outbox, session.version.encode(&message)).await;
}

async fn push_reply(router: &MessageRouter, outbox: &SessionOutbox, payload: EncodedMessage) {
    if outbox.push(payload, router.delivery_timeout).await == Err(OutboxPushError::Full) {
        router.metrics.count_undelivered("reply");
    }
}
