//! One connection to a controller, from its upgrade to its end: [`ControllerLink`].
//!
//! Invariants: a message of a controller is accepted only with the controller's own address as
//! sender and a type of the allowlist; an agent with a full queue does not delay messages to
//! others.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use fabric::wire::PRESENCE_REQUEST;
use futures_util::stream::{FuturesUnordered, StreamExt};
use pcp::types::{self, INVENTORY_REQUEST, InventoryRequest};
use pcp::{MessageId, PcpMessage, PcpUri};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use ws::{MessageDecoder, OutgoingFrame, ReceivedEvent};

use super::controller::ConnectedController;
use super::presence;
use crate::defaults::{CONTROLLER_DELIVERIES, CONTROLLER_SILENCE};
use crate::refusal::MessageRefusal;
use crate::router::MessageRouter;
use crate::server_messages::inventory_response;
use crate::session::outbox::{EncodedMessage, OutboxPushError, SessionClose, SessionCommand};
use crate::session::{BrokerSession, ClientPcpVersion};
use crate::subscriptions::InventorySubscriber;

/// Cause of the end of a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkEndReason {
    #[error("the controller closed it with code {0}")]
    Closed(u16),
    #[error("the controller ended it without a close frame")]
    Ended,
    #[error("it broke")]
    Io(#[from] std::io::Error),
    #[error("the controller broke the WebSocket protocol: {0}")]
    Protocol(#[from] ws::ProtocolError),
    #[error("nothing was heard for {} s", CONTROLLER_SILENCE.as_secs())]
    Silent,
    #[error("we closed it: {0}")]
    ByUs(String),
}

pub(super) struct ControllerLink {
    pub(super) router: Arc<MessageRouter>,
    pub(super) controller: Arc<ConnectedController>,
    pub(super) allowlist: Vec<String>,
    pub(super) ping: Duration,
}

/// Stands for a close frame without a code (RFC 6455); never sent.
const NO_CODE: u16 = 1005;
const NORMAL: u16 = 1000;

/// A message that waits for space in its agent's queue.
type PendingDelivery = futures_util::future::BoxFuture<'static, ()>;

impl ControllerLink {
    /// Serves the connection; `buffer` holds the bytes received after the upgrade.
    pub(super) async fn run<S>(
        self,
        stream: S,
        decoder: MessageDecoder,
        buffer: BytesMut,
    ) -> LinkEndReason
    where
        S: AsyncRead + AsyncWrite,
    {
        let (reader, mut writer) = tokio::io::split(stream);
        // Only the latest ping needs an answer, so a queue of one is enough.
        let (pong, pongs) = mpsc::channel(1);
        let end = tokio::select! {
            end = self.read(reader, decoder, buffer, pong) => end,
            end = self.write(&mut writer, pongs) => end,
        };
        let end = match end {
            Ok(never) => match never {},
            Err(end) => end,
        };
        if let LinkEndReason::Closed(code) = end {
            // RFC 6455 §5.5.1: a close is answered with its own code, if it has one.
            let code = if code == NO_CODE { NORMAL } else { code };
            let reason = String::new();
            close(&mut writer, SessionClose { code, reason }).await;
        }
        end
    }

    // --- writing ---

    async fn write<S: AsyncWrite>(
        &self,
        writer: &mut WriteHalf<S>,
        mut pongs: mpsc::Receiver<Bytes>,
    ) -> Result<std::convert::Infallible, LinkEndReason> {
        let outbox = &self.controller.outbox;
        let mut pings = interval_at(tokio::time::Instant::now() + self.ping, self.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                command = outbox.next_command() => if let SessionCommand::Close(closing) = command {
                    return Err(close(writer, closing).await);
                },
                Some(payload) = pongs.recv() => send(writer, OutgoingFrame::Pong(&payload)).await?,
                // One zero byte, as other PCP brokers send it.
                _ = pings.tick() => send(writer, OutgoingFrame::Ping(&[0])).await?,
                queued = outbox.next_message() => {
                    match &queued.payload {
                        EncodedMessage::Text(text) => {
                            let text = std::str::from_utf8(text).expect("made from a String");
                            send(writer, OutgoingFrame::Text(text)).await?;
                        }
                        EncodedMessage::Binary(bytes) => send(writer, OutgoingFrame::Binary(bytes)).await?,
                    }
                    outbox.release(queued.cost());
                }
            }
        }
    }

    // --- reading ---

    async fn read<S: AsyncRead>(
        &self,
        mut reader: ReadHalf<S>,
        mut decoder: MessageDecoder,
        mut buffer: BytesMut,
        pong: mpsc::Sender<Bytes>,
    ) -> Result<std::convert::Infallible, LinkEndReason> {
        let mut deliveries = FuturesUnordered::new();
        loop {
            while let Some(event) = decoder.decode(&mut buffer)? {
                match event {
                    ReceivedEvent::Text(text) => {
                        if let Some(delivery) = self.handle_message(&text) {
                            deliveries.push(delivery);
                        }
                    }
                    ReceivedEvent::Binary(_) => {
                        self.send_error(
                            "Could not decode message: only text frames are read",
                            None,
                        );
                    }
                    // If the writer is busy, the earlier pong is still queued.
                    ReceivedEvent::Ping(payload) => drop(pong.try_send(payload)),
                    ReceivedEvent::Pong(_) => {}
                    ReceivedEvent::Close(frame) => {
                        return Err(LinkEndReason::Closed(
                            frame.map_or(NO_CODE, |frame| frame.code),
                        ));
                    }
                }
                while deliveries.len() >= CONTROLLER_DELIVERIES {
                    deliveries.next().await;
                }
            }
            if buffer.is_empty() {
                buffer = BytesMut::new();
            }
            tokio::select! {
                read = timeout(CONTROLLER_SILENCE, reader.read_buf(&mut buffer)) => match read {
                    Ok(Ok(0)) => return Err(LinkEndReason::Ended),
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return Err(error.into()),
                    Err(_) => return Err(LinkEndReason::Silent),
                },
                Some(()) = deliveries.next() => {}
            }
        }
    }

    /// Handles a message; returns the delivery that has to wait, if any.
    fn handle_message(&self, text: &str) -> Option<PendingDelivery> {
        let mut message = match pcp::v2::decode(text) {
            Ok(message) => message.to_message(),
            Err(error) => {
                self.send_error(&format!("Could not decode message: {error}"), None);
                return None;
            }
        };
        let address = &self.controller.address;
        let sender = message.sender.get_or_insert_with(|| address.clone());
        let refusal = if sender != address {
            MessageRefusal::NotAuthenticated
        } else if !self.allowlist.contains(&message.message_type) {
            MessageRefusal::NotAuthorized
        } else {
            let target = message.target.get_or_insert_with(PcpUri::broker).clone();
            if target.is_broker() {
                self.handle_broker_message(&message);
                return None;
            }
            return self.deliver(&target, &message);
        };
        tracing::warn!(controller = %address, message_type = message.message_type, %refusal,
            "message of a controller refused");
        self.send_error(&refusal.to_string(), Some(message.id));
        None
    }

    fn deliver(&self, target: &PcpUri, message: &PcpMessage) -> Option<PendingDelivery> {
        if target.is_wildcard() {
            self.send_error(&MessageRefusal::Multicast.to_string(), Some(message.id));
            return None;
        }
        let Some(session) = self.router.sessions.get(target) else {
            self.router.metrics.count_undelivered("not_connected");
            self.send_error(&MessageRefusal::NotConnected.to_string(), Some(message.id));
            return None;
        };
        match session.outbox.try_push(session.version.encode(message)) {
            Ok(()) => None,
            Err((OutboxPushError::Closed, _)) => {
                self.router.metrics.count_undelivered("not_connected");
                self.send_error(&MessageRefusal::NotConnected.to_string(), Some(message.id));
                None
            }
            Err((OutboxPushError::Full, payload)) => {
                let (router, controller) = (Arc::clone(&self.router), Arc::clone(&self.controller));
                let id = message.id;
                Some(Box::pin(wait(router, controller, session, payload, id)))
            }
        }
    }

    // --- messages to the broker ---

    fn handle_broker_message(&self, message: &PcpMessage) {
        match message.message_type.as_str() {
            INVENTORY_REQUEST => self.send_inventory(message),
            PRESENCE_REQUEST => self.controller.enable_capabilities(),
            other => {
                let controller = &self.controller.address;
                tracing::debug!(%controller, message_type = other, "unknown server message");
            }
        }
    }

    fn send_inventory(&self, message: &PcpMessage) {
        let request: InventoryRequest = match types::decode(message.data.as_deref()) {
            Ok(request) => request,
            Err(error) => {
                let text = format!("Invalid inventory request: {error}.");
                return self.send_error(&text, Some(message.id));
            }
        };
        let sessions = &self.router.sessions;
        let address = &self.controller.address;
        let subscriber = (request.subscribe == Some(true))
            .then(|| InventorySubscriber::Controller(Arc::clone(&self.controller)));
        let found = sessions.query_inventory(address, request.query, subscriber);
        let mut uris: Vec<PcpUri> = found.iter().map(|session| session.uri.clone()).collect();
        if let Some(present) =
            presence::announce_capabilities(&self.controller, sessions, uris.iter())
        {
            uris.retain(|uri| present.contains(uri));
        }
        self.send(inventory_response(message, uris).to(address.clone()));
        sessions.activate(address);
    }

    fn send_error(&self, text: &str, in_reply_to: Option<MessageId>) {
        self.send(PcpMessage::error(text, in_reply_to));
    }

    fn send(&self, message: PcpMessage) {
        reply(&self.router, &self.controller, message);
    }
}

/// Waits for space in the agent's queue; sends an error to the controller if there is none in time.
async fn wait(
    router: Arc<MessageRouter>,
    controller: Arc<ConnectedController>,
    session: Arc<BrokerSession>,
    payload: EncodedMessage,
    id: MessageId,
) {
    let refusal = match session.outbox.push(payload, router.delivery_timeout).await {
        Ok(()) => return,
        Err(OutboxPushError::Closed) => MessageRefusal::NotConnected,
        Err(OutboxPushError::Full) => MessageRefusal::Busy(session.uri.clone()),
    };
    router.metrics.count_undelivered(refusal.label());
    reply(
        &router,
        &controller,
        PcpMessage::error(&refusal.to_string(), Some(id)),
    );
}

fn reply(router: &MessageRouter, controller: &ConnectedController, message: PcpMessage) {
    let payload = ClientPcpVersion::V2.encode(&message.from(PcpUri::broker()));
    if controller.outbox.try_push(payload).is_err() {
        router.metrics.count_undelivered("reply");
    }
}

async fn send<S: AsyncWrite>(
    writer: &mut WriteHalf<S>,
    frame: OutgoingFrame<'_>,
) -> std::io::Result<()> {
    let mut bytes = BytesMut::new();
    ws::encode(frame, Some(rand::random()), &mut bytes);
    writer.write_all(&bytes).await?;
    writer.flush().await
}

async fn close<S: AsyncWrite>(writer: &mut WriteHalf<S>, closing: SessionClose) -> LinkEndReason {
    let goodbye = async {
        send(writer, OutgoingFrame::Close(closing.code, &closing.reason)).await?;
        writer.shutdown().await
    };
    match timeout(crate::defaults::CLOSE_TIMEOUT, goodbye).await {
        Ok(Err(error)) => error.into(),
        Ok(Ok(())) | Err(_) => LinkEndReason::ByUs(closing.reason),
    }
}
