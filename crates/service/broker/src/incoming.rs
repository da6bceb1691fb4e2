//! From a client's frame to its target: decode, authenticate, authorize, route.
//!
//! The rule: whatever a client sends, the answer is a message; nothing that can be read as a frame
//! ends its connection, except a refused association.

use std::sync::Arc;

use pcp::types::ASSOCIATE_REQUEST;
use pcp::{Message, MessageId, PcpUri};

use crate::access_log::{self, Outcome};
use crate::authorization::Request;
use crate::refusal::Refusal;
use crate::replies::{reply, reply_error};
use crate::router::{Routed, Router};
use crate::server_messages;
use crate::session::outbox::{Payload, PushError};
use crate::session::{Session, Version};

impl Router {
    /// A text frame of `session`.
    pub(crate) fn text(this: &Arc<Self>, session: &Arc<Session>, text: &str) -> Routed {
        this.metrics.bytes_received.inc_by(text.len() as u64);
        if session.version == Version::V1 {
            return this.unreadable(session, "this path speaks PCP 1, in binary frames");
        }
        match pcp::v2::decode(text) {
            Ok(message) => this.message(session, message.to_message(), text.len()),
            Err(error) => this.unreadable(session, &error.to_string()),
        }
    }

    /// A binary frame of `session`.
    pub(crate) fn binary(this: &Arc<Self>, session: &Arc<Session>, bytes: &[u8]) -> Routed {
        this.metrics.bytes_received.inc_by(bytes.len() as u64);
        if session.version == Version::V2 {
            return this.unreadable(session, "this path speaks PCP 2, in text frames");
        }
        let frame = match pcp::v1::decode(bytes) {
            Ok(frame) => frame,
            Err(error) => return this.unreadable(session, &error.to_string()),
        };
        match pcp::v1::to_message(&frame) {
            Ok(message) => this.message(session, message, bytes.len()),
            Err(pcp::TranslateError::MultipleRecipients) => {
                let message = Message {
                    sender: Some(frame.envelope.sender.to_uri()),
                    ..Message::new(frame.envelope.message_type.as_ref(), None)
                };
                let message = Message {
                    id: frame.envelope.id,
                    ..message
                };
                this.logged(session, Outcome::MulticastUnsupported, &message);
                reply_error(
                    this,
                    session,
                    &Refusal::Multicast.to_string(),
                    Some(message.id),
                )
            }
            Err(error) => {
                this.metrics.message(Outcome::DeserializationError);
                session.log_refusal(|origin| access_log::unreadable(origin, &error.to_string()));
                let text = format!("Could not decode message: {error}");
                reply_error(this, session, &text, Some(frame.envelope.id))
            }
        }
    }

    fn unreadable(self: &Arc<Self>, session: &Arc<Session>, problem: &str) -> Routed {
        self.metrics.message(Outcome::DeserializationError);
        session.log_refusal(|origin| access_log::unreadable(origin, problem));
        reply_error(
            self,
            session,
            &format!("Could not decode message: {problem}"),
            None,
        )
    }

    fn message(
        self: &Arc<Self>,
        session: &Arc<Session>,
        mut message: Message,
        bytes: usize,
    ) -> Routed {
        let sender = message
            .sender
            .get_or_insert_with(|| session.uri.clone())
            .clone();
        let target = message.target.get_or_insert_with(PcpUri::broker).clone();
        let associating = message.message_type == ASSOCIATE_REQUEST && target.is_broker();
        if let Err(refusal) = self.check(session, &message, &sender, &target, bytes, associating) {
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

    fn check(
        &self,
        session: &Session,
        message: &Message,
        sender: &PcpUri,
        target: &PcpUri,
        bytes: usize,
        associating: bool,
    ) -> Result<(), Refusal> {
        let (outcome, refusal) = if !is_sender(session, sender, associating) {
            (Outcome::AuthenticationFailure, Refusal::NotAuthenticated)
        } else if target.is_wildcard() {
            (Outcome::MulticastUnsupported, Refusal::Multicast)
        } else if !self.is_authorized(session, message, sender, target) {
            (Outcome::AuthorizationFailure, Refusal::NotAuthorized)
        } else {
            self.logged(session, Outcome::AuthorizationSuccess, message);
            return Ok(self.limits.check(&message.message_type, bytes)?);
        };
        self.logged(session, outcome, message);
        Err(refusal)
    }

    fn is_authorized(
        &self,
        session: &Session,
        message: &Message,
        sender: &PcpUri,
        target: &PcpUri,
    ) -> bool {
        // Log lines and policies are text for people: what cannot be seen cannot be allowed.
        let unseen = |c: char| c.is_control() || c.is_whitespace();
        if message.message_type.contains(unseen) || target.as_str().contains(unseen) {
            return false;
        }
        let request = Request {
            sender,
            target,
            message_type: &message.message_type,
        };
        self.policy.decide(session.client(), request).allowed
    }

    fn logged(&self, session: &Session, outcome: Outcome, message: &Message) {
        self.metrics.message(outcome);
        if outcome == Outcome::AuthorizationSuccess {
            access_log::message(outcome, session.origin(), message);
        } else {
            session.log_refusal(|origin| access_log::message(outcome, origin, message));
        }
    }

    fn route(self: &Arc<Self>, session: &Arc<Session>, target: PcpUri, message: Message) -> Routed {
        if let Some(port) = self.sessions.port()
            && *port.engine_address() == target
        {
            return self.to_engine(session, message);
        }
        let id = message.id;
        if let Some(found) = self.sessions.get(&target) {
            let payload = found.version.encode(&message);
            return self.deliver(session, Target::Session(found), payload, id);
        }
        if let Some(found) = self.controllers.get(&target) {
            let payload = found.payload(&message);
            return self.deliver(session, Target::Controller(found), payload, id);
        }
        self.metrics.undelivered("not_connected");
        reply_error(self, session, &Refusal::NotConnected.to_string(), Some(id))
    }

    fn to_engine(self: &Arc<Self>, session: &Arc<Session>, message: Message) -> Routed {
        let port = self.sessions.port().expect("looked at by the caller");
        match port.try_to_engine(session.certname.clone(), message) {
            Ok(()) => Routed::Done,
            Err(message) => {
                let (router, session) = (Arc::clone(self), Arc::clone(session));
                Routed::Waits(Box::pin(async move {
                    let id = message.id;
                    let port = router.sessions.port().expect("never detached");
                    if !port.to_engine(session.certname.clone(), *message).await {
                        router.metrics.undelivered("not_connected");
                        let text = Refusal::NotConnected.to_string();
                        reply(&router, &session, &Message::error(&text, Some(id))).await;
                    }
                }))
            }
        }
    }

    fn deliver(
        self: &Arc<Self>,
        session: &Arc<Session>,
        target: Target,
        payload: Payload,
        id: MessageId,
    ) -> Routed {
        let payload = match target.outbox().try_push(payload) {
            Ok(()) => return Routed::Done,
            Err((PushError::Closed, _)) => {
                self.metrics.undelivered("not_connected");
                return reply_error(self, session, &Refusal::NotConnected.to_string(), Some(id));
            }
            Err((PushError::Full, payload)) => payload,
        };
        let (router, session) = (Arc::clone(self), Arc::clone(session));
        Routed::Waits(Box::pin(async move {
            let refusal = match target.outbox().push(payload, router.patience).await {
                Ok(()) => return,
                Err(PushError::Closed) => Refusal::NotConnected,
                Err(PushError::Full) => Refusal::Busy(target.address().clone()),
            };
            router.metrics.undelivered(refusal.label());
            reply(
                &router,
                &session,
                &Message::error(&refusal.to_string(), Some(id)),
            )
            .await;
        }))
    }
}

type Target = crate::subscriptions::Subscriber;

/// Both parts of the address count, except that association has its own answer to a wrong type.
fn is_sender(session: &Session, sender: &PcpUri, associating: bool) -> bool {
    *sender == session.uri || (associating && sender.common_name() == session.certname.as_str())
}
