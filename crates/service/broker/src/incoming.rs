//! Handling of a client's frame: decode, authenticate, authorize, route.
//!
//! Invariant: every readable frame is answered with a message and does not end the connection,
//! except a refused association.

use std::sync::Arc;

use pcp::types::ASSOCIATE_REQUEST;
use pcp::{MessageId, PcpMessage, PcpUri};

use crate::access_log::{self, MessageOutcome};
use crate::authorization::AuthorizationRequest;
use crate::refusal::MessageRefusal;
use crate::replies::{reply, reply_error};
use crate::router::{MessageRouter, RoutingResult};
use crate::server_messages;
use crate::session::outbox::{EncodedMessage, OutboxPushError};
use crate::session::{BrokerSession, ClientPcpVersion};

impl MessageRouter {
    /// Handles a text frame of `session`.
    pub(crate) fn handle_text(
        this: &Arc<Self>,
        session: &Arc<BrokerSession>,
        text: &str,
    ) -> RoutingResult {
        this.metrics.bytes_received.inc_by(text.len() as u64);
        if session.version == ClientPcpVersion::V1 {
            return this.handle_unreadable(session, "this path speaks PCP 1, in binary frames");
        }
        match pcp::v2::decode(text) {
            Ok(message) => this.handle_message(session, message.to_message(), text.len()),
            Err(error) => this.handle_unreadable(session, &error.to_string()),
        }
    }

    /// Handles a binary frame of `session`.
    pub(crate) fn handle_binary(
        this: &Arc<Self>,
        session: &Arc<BrokerSession>,
        bytes: &[u8],
    ) -> RoutingResult {
        this.metrics.bytes_received.inc_by(bytes.len() as u64);
        if session.version == ClientPcpVersion::V2 {
            return this.handle_unreadable(session, "this path speaks PCP 2, in text frames");
        }
        let frame = match pcp::v1::decode(bytes) {
            Ok(frame) => frame,
            Err(error) => return this.handle_unreadable(session, &error.to_string()),
        };
        match pcp::v1::to_message(&frame) {
            Ok(message) => this.handle_message(session, message, bytes.len()),
            Err(pcp::TranslateError::MultipleRecipients) => {
                let message = PcpMessage {
                    sender: Some(frame.envelope.sender.to_uri()),
                    ..PcpMessage::new(frame.envelope.message_type.as_ref(), None)
                };
                let message = PcpMessage {
                    id: frame.envelope.id,
                    ..message
                };
                this.log_outcome(session, MessageOutcome::MulticastUnsupported, &message);
                reply_error(
                    this,
                    session,
                    &MessageRefusal::Multicast.to_string(),
                    Some(message.id),
                )
            }
            Err(error) => {
                this.metrics
                    .count_message(MessageOutcome::DeserializationError);
                session
                    .log_refusal(|origin| access_log::log_unreadable(origin, &error.to_string()));
                let text = format!("Could not decode message: {error}");
                reply_error(this, session, &text, Some(frame.envelope.id))
            }
        }
    }

    fn handle_unreadable(
        self: &Arc<Self>,
        session: &Arc<BrokerSession>,
        problem: &str,
    ) -> RoutingResult {
        self.metrics
            .count_message(MessageOutcome::DeserializationError);
        session.log_refusal(|origin| access_log::log_unreadable(origin, problem));
        reply_error(
            self,
            session,
            &format!("Could not decode message: {problem}"),
            None,
        )
    }

    fn handle_message(
        self: &Arc<Self>,
        session: &Arc<BrokerSession>,
        mut message: PcpMessage,
        bytes: usize,
    ) -> RoutingResult {
        let sender = message
            .sender
            .get_or_insert_with(|| session.uri.clone())
            .clone();
        let target = message.target.get_or_insert_with(PcpUri::broker).clone();
        let associating = message.message_type == ASSOCIATE_REQUEST && target.is_broker();
        if let Err(refusal) =
            self.check_message(session, &message, &sender, &target, bytes, associating)
        {
            if associating {
                return server_messages::refuse_association(self, session, &message, &refusal);
            }
            return reply_error(self, session, &refusal.to_string(), Some(message.id));
        }
        if target.is_broker() {
            return server_messages::handle(self, session, &message);
        }
        self.route(session, target, message)
    }

    fn check_message(
        &self,
        session: &BrokerSession,
        message: &PcpMessage,
        sender: &PcpUri,
        target: &PcpUri,
        bytes: usize,
        associating: bool,
    ) -> Result<(), MessageRefusal> {
        let (outcome, refusal) = if !is_sender(session, sender, associating) {
            (
                MessageOutcome::AuthenticationFailure,
                MessageRefusal::NotAuthenticated,
            )
        } else if target.is_wildcard() {
            (
                MessageOutcome::MulticastUnsupported,
                MessageRefusal::Multicast,
            )
        } else if !self.is_authorized(session, message, sender, target) {
            (
                MessageOutcome::AuthorizationFailure,
                MessageRefusal::NotAuthorized,
            )
        } else {
            self.log_outcome(session, MessageOutcome::AuthorizationSuccess, message);
            return Ok(self.limits.check(&message.message_type, bytes)?);
        };
        self.log_outcome(session, outcome, message);
        Err(refusal)
    }

    fn is_authorized(
        &self,
        session: &BrokerSession,
        message: &PcpMessage,
        sender: &PcpUri,
        target: &PcpUri,
    ) -> bool {
        // Log lines and policies are read by people, so invisible characters are never allowed.
        let unseen = |c: char| c.is_control() || c.is_whitespace();
        if message.message_type.contains(unseen) || target.as_str().contains(unseen) {
            return false;
        }
        let request = AuthorizationRequest {
            sender,
            target,
            message_type: &message.message_type,
        };
        self.policy.decide(session.to_client(), request).allowed
    }

    fn log_outcome(&self, session: &BrokerSession, outcome: MessageOutcome, message: &PcpMessage) {
        self.metrics.count_message(outcome);
        if outcome == MessageOutcome::AuthorizationSuccess {
            access_log::log_message(outcome, session.to_origin(), message);
        } else {
            session.log_refusal(|origin| access_log::log_message(outcome, origin, message));
        }
    }

    fn route(
        self: &Arc<Self>,
        session: &Arc<BrokerSession>,
        target: PcpUri,
        message: PcpMessage,
    ) -> RoutingResult {
        if let Some(port) = self.sessions.port()
            && *port.engine_address() == target
        {
            return self.send_to_engine(session, message);
        }
        let id = message.id;
        if let Some(found) = self.sessions.get(&target) {
            let payload = found.version.encode(&message);
            return self.deliver(session, DeliveryTarget::Session(found), payload, id);
        }
        if let Some(found) = self.controllers.get(&target) {
            let payload = found.payload(&message);
            return self.deliver(session, DeliveryTarget::Controller(found), payload, id);
        }
        self.metrics.count_undelivered("not_connected");
        reply_error(
            self,
            session,
            &MessageRefusal::NotConnected.to_string(),
            Some(id),
        )
    }

    fn send_to_engine(
        self: &Arc<Self>,
        session: &Arc<BrokerSession>,
        message: PcpMessage,
    ) -> RoutingResult {
        let port = self.sessions.port().expect("looked at by the caller");
        match port.try_send_to_engine(session.certname.clone(), message) {
            Ok(()) => RoutingResult::Done,
            Err(message) => {
                let (router, session) = (Arc::clone(self), Arc::clone(session));
                RoutingResult::Waits(Box::pin(async move {
                    let id = message.id;
                    let port = router.sessions.port().expect("never detached");
                    if !port
                        .send_to_engine(session.certname.clone(), *message)
                        .await
                    {
                        router.metrics.count_undelivered("not_connected");
                        let text = MessageRefusal::NotConnected.to_string();
                        reply(&router, &session, &PcpMessage::error(&text, Some(id))).await;
                    }
                }))
            }
        }
    }

    fn deliver(
        self: &Arc<Self>,
        session: &Arc<BrokerSession>,
        target: DeliveryTarget,
        payload: EncodedMessage,
        id: MessageId,
    ) -> RoutingResult {
        let payload = match target.outbox().try_push(payload) {
            Ok(()) => return RoutingResult::Done,
            Err((OutboxPushError::Closed, _)) => {
                self.metrics.count_undelivered("not_connected");
                return reply_error(
                    self,
                    session,
                    &MessageRefusal::NotConnected.to_string(),
                    Some(id),
                );
            }
            Err((OutboxPushError::Full, payload)) => payload,
        };
        let (router, session) = (Arc::clone(self), Arc::clone(session));
        RoutingResult::Waits(Box::pin(async move {
            let refusal = match target.outbox().push(payload, router.delivery_timeout).await {
                Ok(()) => return,
                Err(OutboxPushError::Closed) => MessageRefusal::NotConnected,
                Err(OutboxPushError::Full) => MessageRefusal::Busy(target.address().clone()),
            };
            router.metrics.count_undelivered(refusal.label());
            reply(
                &router,
                &session,
                &PcpMessage::error(&refusal.to_string(), Some(id)),
            )
            .await;
        }))
    }
}

type DeliveryTarget = crate::subscriptions::InventorySubscriber;

/// True if `sender` is the session. Both parts of the address are compared, except in an
/// association request, where a wrong client type has its own answer.
fn is_sender(session: &BrokerSession, sender: &PcpUri, associating: bool) -> bool {
    *sender == session.uri || (associating && sender.common_name() == session.certname.as_str())
}
