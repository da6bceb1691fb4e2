//! One established connection, from the finished upgrade to its end.
//!
//! [`EstablishedSession::run`] drives reading, writing and the keepalive concurrently on one
//! socket. Invariant: reading waits for nothing but the socket. Received messages are passed to
//! [`MessageReceiver`], which must not block; pongs overtake all waiting messages; so a broker that
//! reads results slowly still gets its pongs, and a busy engine never makes the agent look dead.
//! After a sleep the session ends, and requests that arrived meanwhile are not carried out.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actions::since_boot;
use bytes::{Bytes, BytesMut};
use pcp::{PcpMessage, PcpUri};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use ws::{ConnectionSide, MessageDecoder, ReceiveLimits, ReceivedEvent, code};

use super::association::{AssociationVerdict, PendingAssociation};
use super::control::ControlFrame;
use super::keepalive::KeepaliveConfig;
use super::live_connection::{LiveConnection, LiveConnectionGuard, LiveOutbox};
use super::protocol::{IncomingPayload, PcpVersion, ReceiveError};
use super::shared_keepalive::SharedKeepalive;
use super::sleep_watch::{SleepWatch, is_void_after_sleep};
use super::writer::{SessionWriteError, SessionWriter};
use crate::defaults;

/// Handler of received messages.
pub trait MessageReceiver: Send + Sync {
    /// Handles a received message. Must return soon.
    fn handle_message(&self, message: PcpMessage, reply: &MessageReply<'_>);
    /// Handles received data that is not a message.
    fn handle_invalid(&self, error: &ReceiveError, reply: &MessageReply<'_>);
}

/// Origin of a received message, with a method to answer at once.
#[derive(Debug)]
pub struct MessageReply<'a> {
    live: &'a LiveConnection,
    broker: &'a str,
}

/// Settings of one session.
#[derive(Debug, Clone)]
pub(crate) struct SessionConfig {
    pub(crate) version: PcpVersion,
    pub(crate) own: PcpUri,
    /// URI of the broker, for the access log.
    pub(crate) broker: String,
    pub(crate) keepalive: KeepaliveConfig,
    pub(crate) asleep_after: Duration,
    pub(crate) association_timeout: Duration,
    pub(crate) message_ttl: Duration,
    pub(crate) max_incoming_bytes: usize,
    pub(crate) close_patience: Duration,
}

/// Reason for the end of a session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionEnd {
    /// The agent stopped the session.
    #[error("closed by us")]
    Stopped,
    /// The broker sent a close frame.
    #[error("the broker closed the connection with code {code}: '{reason}'")]
    Closed { code: u16, reason: String },
    /// The stream ended without a close frame.
    #[error("the broker ended the connection without a close frame")]
    Eof,
    /// Reading failed.
    #[error("the connection broke")]
    Read(#[source] std::io::Error),
    /// Writing failed.
    #[error("the connection broke")]
    Write(#[from] SessionWriteError),
    /// The data is not WebSocket, or a message exceeds the limit.
    #[error("the broker broke the WebSocket protocol")]
    Protocol(#[from] ws::ProtocolError),
    /// The pings were not answered.
    #[error("the broker did not answer {missed} pings in a row")]
    Silent { missed: u32 },
    /// The agent or its machine slept.
    #[error("the agent did not run for {} s; what was requested meanwhile is not carried out", .0.as_secs())]
    Slept(Duration),
    /// The broker's certificate is revoked.
    #[error("the broker's certificate has been revoked")]
    Revoked,
    /// The broker refused the association.
    #[error("the broker refused the association: {0}")]
    Refused(String),
    /// The association was not decided.
    #[error("the association did not come about: {0}")]
    NotAssociated(String),
}

/// An established connection.
pub(crate) struct EstablishedSession<S> {
    pub(crate) stream: S,
    /// Bytes that arrived with the answer to the upgrade.
    pub(crate) received: BytesMut,
    pub(crate) config: SessionConfig,
    pub(crate) outbox: LiveOutbox,
    pub(crate) receive: Arc<dyn MessageReceiver>,
}

/// The reading side of a session.
struct SessionReader<'a> {
    decoder: MessageDecoder,
    config: &'a SessionConfig,
    live: LiveConnection,
    outbox: &'a LiveOutbox,
    receive: &'a dyn MessageReceiver,
    pulse: &'a SharedKeepalive,
    sleep_watch: SleepWatch,
    /// Requests arrived while the agent slept.
    is_late: bool,
    control: mpsc::Sender<ControlFrame>,
    association: Option<PendingAssociation>,
    associated: &'a Notify,
    published: Option<LiveConnectionGuard>,
}

// === impl EstablishedSession ===

impl<S: AsyncRead + AsyncWrite + Send + Unpin> EstablishedSession<S> {
    /// Runs until the connection ends or `stop` is cancelled; sends a close frame if the peer can
    /// still read it.
    pub(crate) async fn run(self, stop: CancellationToken) -> SessionEnd {
        let (read_half, write_half) = tokio::io::split(self.stream);
        let (control, control_queue) = mpsc::channel(defaults::CONTROL_QUEUE);
        let (queue, outgoing) = mpsc::channel(defaults::SEND_QUEUE);
        let pulse = SharedKeepalive::new(self.config.keepalive, Instant::now());
        let associated = Notify::new();
        let live = LiveConnection {
            queue,
            version: self.config.version,
            own: self.config.own.clone(),
            message_ttl: self.config.message_ttl,
        };
        let mut reader = SessionReader {
            decoder: MessageDecoder::new(
                ConnectionSide::Client,
                ReceiveLimits {
                    max_message_bytes: self.config.max_incoming_bytes,
                },
            ),
            config: &self.config,
            live,
            outbox: &self.outbox,
            receive: &*self.receive,
            pulse: &pulse,
            sleep_watch: SleepWatch::new(self.config.asleep_after, since_boot()),
            is_late: false,
            control: control.clone(),
            association: None,
            associated: &associated,
            published: None,
        };
        reader.associate();
        let mut reading = pin!(reader.run(read_half, self.received));
        let mut writing =
            pin!(SessionWriter::new(write_half, control_queue, outgoing, &pulse).run());

        let mut read_to_the_end = false;
        let end = tokio::select! {
            end = &mut reading => {
                read_to_the_end = true;
                end
            }
            Err(error) = &mut writing => error.into(),
            missed = pulse.watch(&control) => SessionEnd::Silent { missed },
            () = unassociated(&self.config, &associated) => {
                SessionEnd::NotAssociated("no answer in time".to_owned())
            }
            () = stop.cancelled() => SessionEnd::Stopped,
        };
        if let Some(goodbye) = end.to_close_frame() {
            // A full control queue means that the socket accepts nothing any more.
            let sent = control.try_send(goodbye).is_ok();
            let farewell = async {
                if sent && writing.await.is_ok() && !read_to_the_end {
                    reading.await;
                }
            };
            // The result does not change the next step.
            let _ = timeout(self.config.close_patience, farewell).await;
        }
        end
    }
}

/// Returns when the association has taken too long; never if it is complete.
async fn unassociated(config: &SessionConfig, associated: &Notify) {
    if timeout(config.association_timeout, associated.notified())
        .await
        .is_ok()
    {
        std::future::pending::<()>().await;
    }
}

// === impl SessionReader ===

impl SessionReader<'_> {
    fn associate(&mut self) {
        match self.config.version {
            PcpVersion::V2 => self.published(),
            PcpVersion::V1 => {
                let (request, association) = PendingAssociation::start(&self.config.own);
                self.association = Some(association);
                self.live.try_send(&request);
            }
        }
    }

    fn published(&mut self) {
        self.published = Some(self.outbox.publish(self.live.clone()));
        self.associated.notify_one();
    }

    async fn run(&mut self, mut half: impl AsyncRead + Unpin, mut buffer: BytesMut) -> SessionEnd {
        loop {
            if let Some(end) = self.handle_events(&mut buffer) {
                return end;
            }
            // The decoder has freed the memory of a large message.
            buffer.reserve(defaults::READ_CHUNK_BYTES);
            match to_end(half.read_buf(&mut buffer).await) {
                Ok(_) => self.pulse.record_received(),
                Err(end) => return end,
            }
            if let Some(silence) = self.sleep_watch.record_read(since_boot()) {
                return self.run_after_sleep(half, buffer, silence).await;
            }
        }
    }

    /// Handles what arrived during a sleep, as far as it counts although it is late.
    async fn run_after_sleep(
        &mut self,
        mut half: impl AsyncRead + Unpin,
        mut buffer: BytesMut,
        silence: Duration,
    ) -> SessionEnd {
        self.is_late = true;
        let mut bytes = buffer.len();
        loop {
            if let Some(end) = self.handle_events(&mut buffer) {
                return end;
            }
            buffer.reserve(defaults::READ_CHUNK_BYTES);
            let read = tokio::select! {
                biased;
                read = half.read_buf(&mut buffer) => to_end(read),
                () = std::future::ready(()) => return SessionEnd::Slept(silence),
            };
            match read {
                Ok(more) => bytes += more,
                Err(end) => return end,
            }
            if bytes > defaults::ASLEEP_BYTES {
                return SessionEnd::Slept(silence);
            }
        }
    }

    /// Handles all complete events.
    fn handle_events(&mut self, buffer: &mut BytesMut) -> Option<SessionEnd> {
        loop {
            match self.decoder.decode(buffer) {
                Ok(Some(event)) => {
                    if let Some(end) = self.event(event) {
                        return Some(end);
                    }
                }
                Ok(None) => return None,
                Err(error) => return Some(error.into()),
            }
        }
    }

    fn event(&mut self, event: ReceivedEvent) -> Option<SessionEnd> {
        match event {
            ReceivedEvent::Text(text) => self.payload(IncomingPayload::Text(&text)),
            ReceivedEvent::Binary(bytes) => self.payload(IncomingPayload::Binary(&bytes)),
            ReceivedEvent::Ping(payload) => {
                // A broker with that many unanswered pings gets an answer to some of them. The
                // payload is a slice of a larger buffer: copied, so that the buffer is not kept for
                // it.
                let payload = Bytes::copy_from_slice(&payload);
                let _ = self.control.try_send(ControlFrame::Pong(payload));
                None
            }
            ReceivedEvent::Pong(_) => None,
            ReceivedEvent::Close(frame) => Some(match frame {
                Some(frame) => SessionEnd::Closed {
                    code: frame.code,
                    reason: frame.reason,
                },
                None => SessionEnd::Closed {
                    code: code::NO_STATUS,
                    reason: String::new(),
                },
            }),
        }
    }

    fn payload(&mut self, payload: IncomingPayload<'_>) -> Option<SessionEnd> {
        let reply = MessageReply {
            live: &self.live,
            broker: &self.config.broker,
        };
        let message = match self.config.version.decode(payload) {
            Ok(message) => message,
            Err(error) => {
                self.receive.handle_invalid(&error, &reply);
                return None;
            }
        };
        if let Some(association) = &self.association {
            match association.evaluate(&message) {
                AssociationVerdict::Unrelated => {}
                AssociationVerdict::Associated => {
                    self.association = None;
                    self.published();
                    return None;
                }
                AssociationVerdict::Refused(reason) => return Some(SessionEnd::Refused(reason)),
                AssociationVerdict::Failed(reason) => {
                    return Some(SessionEnd::NotAssociated(reason));
                }
            }
        }
        if self.is_late && is_void_after_sleep(&message) {
            tracing::warn!(
                id = %message.id,
                "ignored a request that arrived while the agent slept"
            );
            return None;
        }
        self.receive.handle_message(message, &reply);
        None
    }
}

/// The number of bytes read, or the end of the session.
fn to_end(read: std::io::Result<usize>) -> Result<usize, SessionEnd> {
    match read {
        Ok(0) => Err(SessionEnd::Eof),
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(SessionEnd::Eof),
        Err(error) => Err(SessionEnd::Read(error)),
    }
}

// === impl MessageReply ===

impl MessageReply<'_> {
    /// URI of the broker, as configured.
    pub fn broker(&self) -> &str {
        self.broker
    }

    /// PCP URI of this agent on this connection.
    pub fn own(&self) -> &PcpUri {
        &self.live.own
    }

    /// Answers without waiting; false if the connection accepts no message now.
    pub fn send(&self, message: &PcpMessage) -> bool {
        self.live.try_send(message)
    }
}

// === impl SessionEnd ===

impl SessionEnd {
    /// The close frame to send, if the stream still accepts one.
    fn to_close_frame(&self) -> Option<ControlFrame> {
        let (code, reason) = match self {
            Self::Stopped => (code::NORMAL, "Closed by client".to_owned()),
            Self::Silent { .. } => (code::NORMAL, "no answer to pings".to_owned()),
            Self::Slept(_) => (code::NORMAL, "the agent slept".to_owned()),
            Self::Refused(_) | Self::NotAssociated(_) => {
                (code::NORMAL, "must associate again".to_owned())
            }
            Self::Protocol(error) => (error.close_code(), error.to_string()),
            // The echo that RFC 6455 requires.
            Self::Closed {
                code: code::NO_STATUS,
                ..
            } => (code::NORMAL, String::new()),
            Self::Closed { code, .. } => (*code, String::new()),
            Self::Eof | Self::Read(_) | Self::Write(_) | Self::Revoked => return None,
        };
        Some(ControlFrame::Close { code, reason })
    }
}
