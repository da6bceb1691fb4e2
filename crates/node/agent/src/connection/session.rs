//! One established connection, from the finished upgrade to its end.
//!
//! [`Session::run`] drives reading, writing and the keepalive concurrently on one socket.
//! Invariant: reading waits for nothing but the socket. Received messages are passed to
//! [`Receive`], which must not block; pongs overtake all waiting messages; so a broker that reads
//! results slowly still gets its pongs, and a busy engine never makes the agent look dead.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pcp::{Message, PcpUri};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use ws::{Decoder, Event, Limits, Role, code};

use super::association::{Association, Verdict};
use super::control::Control;
use super::keepalive::KeepaliveConfig;
use super::live::{Live, LiveOutbox, Published};
use super::protocol::{Incoming, PcpVersion, ReceiveError};
use super::pulse::Pulse;
use super::writer::{WriteError, Writer};
use crate::defaults;

/// Handler of received messages.
pub trait Receive: Send + Sync {
    /// Handles a received message. Must return soon.
    fn message(&self, message: Message, reply: &Reply<'_>);
    /// Handles received data that is not a message.
    fn garbage(&self, error: &ReceiveError, reply: &Reply<'_>);
}

/// Origin of a received message, with a method to answer at once.
#[derive(Debug)]
pub struct Reply<'a> {
    live: &'a Live,
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
    Write(#[from] WriteError),
    /// The data is not WebSocket, or a message exceeds the limit.
    #[error("the broker broke the WebSocket protocol")]
    Protocol(#[from] ws::ProtocolError),
    /// The pings were not answered.
    #[error("the broker did not answer {missed} pings in a row")]
    Silent { missed: u32 },
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
pub(crate) struct Session<S> {
    pub(crate) stream: S,
    /// Bytes that arrived with the answer to the upgrade.
    pub(crate) received: BytesMut,
    pub(crate) config: SessionConfig,
    pub(crate) outbox: LiveOutbox,
    pub(crate) receive: Arc<dyn Receive>,
}

/// The reading side of a session.
struct Reader<'a> {
    decoder: Decoder,
    config: &'a SessionConfig,
    live: Live,
    outbox: &'a LiveOutbox,
    receive: &'a dyn Receive,
    pulse: &'a Pulse,
    control: mpsc::Sender<Control>,
    association: Option<Association>,
    associated: &'a Notify,
    published: Option<Published>,
}

// === impl Session ===

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Session<S> {
    /// Runs until the connection ends or `stop` is cancelled; sends a close frame if the peer can
    /// still read it.
    pub(crate) async fn run(self, stop: CancellationToken) -> SessionEnd {
        let (read_half, write_half) = tokio::io::split(self.stream);
        let (control, control_queue) = mpsc::channel(defaults::CONTROL_QUEUE);
        let (queue, outgoing) = mpsc::channel(defaults::SEND_QUEUE);
        let pulse = Pulse::new(self.config.keepalive, Instant::now());
        let associated = Notify::new();
        let live = Live {
            queue,
            version: self.config.version,
            own: self.config.own.clone(),
            message_ttl: self.config.message_ttl,
        };
        let mut reader = Reader {
            decoder: Decoder::new(
                Role::Client,
                Limits {
                    max_message_bytes: self.config.max_incoming_bytes,
                },
            ),
            config: &self.config,
            live,
            outbox: &self.outbox,
            receive: &*self.receive,
            pulse: &pulse,
            control: control.clone(),
            association: None,
            associated: &associated,
            published: None,
        };
        reader.associate();
        let mut reading = pin!(reader.run(read_half, self.received));
        let mut writing = pin!(Writer::new(write_half, control_queue, outgoing, &pulse).run());

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
        if let Some(goodbye) = end.goodbye() {
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

// === impl Reader ===

impl Reader<'_> {
    fn associate(&mut self) {
        match self.config.version {
            PcpVersion::V2 => self.published(),
            PcpVersion::V1 => {
                let (request, association) = Association::request(&self.config.own);
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
            loop {
                match self.decoder.decode(&mut buffer) {
                    Ok(Some(event)) => {
                        if let Some(end) = self.event(event) {
                            return end;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return error.into(),
                }
            }
            // The decoder has freed the memory of a large message.
            buffer.reserve(defaults::READ_CHUNK_BYTES);
            match half.read_buf(&mut buffer).await {
                Ok(0) => return SessionEnd::Eof,
                Ok(_) => self.pulse.heard(),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return SessionEnd::Eof;
                }
                Err(error) => return SessionEnd::Read(error),
            }
        }
    }

    fn event(&mut self, event: Event) -> Option<SessionEnd> {
        match event {
            Event::Text(text) => self.payload(Incoming::Text(&text)),
            Event::Binary(bytes) => self.payload(Incoming::Binary(&bytes)),
            Event::Ping(payload) => {
                // A broker with that many unanswered pings gets an answer to some of them. The
                // payload is a slice of a larger buffer: copied, so that the buffer is not kept for
                // it.
                let payload = Bytes::copy_from_slice(&payload);
                let _ = self.control.try_send(Control::Pong(payload));
                None
            }
            Event::Pong(_) => None,
            Event::Close(frame) => Some(match frame {
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

    fn payload(&mut self, payload: Incoming<'_>) -> Option<SessionEnd> {
        let reply = Reply {
            live: &self.live,
            broker: &self.config.broker,
        };
        let message = match self.config.version.decode(payload) {
            Ok(message) => message,
            Err(error) => {
                self.receive.garbage(&error, &reply);
                return None;
            }
        };
        if let Some(association) = &self.association {
            match association.consider(&message) {
                Verdict::NotMine => {}
                Verdict::Associated => {
                    self.association = None;
                    self.published();
                    return None;
                }
                Verdict::Refused(reason) => return Some(SessionEnd::Refused(reason)),
                Verdict::Failed(reason) => return Some(SessionEnd::NotAssociated(reason)),
            }
        }
        self.receive.message(message, &reply);
        None
    }
}

// === impl Reply ===

impl Reply<'_> {
    /// URI of the broker, as configured.
    pub fn broker(&self) -> &str {
        self.broker
    }

    /// PCP URI of this agent on this connection.
    pub fn own(&self) -> &PcpUri {
        &self.live.own
    }

    /// Answers without waiting; false if the connection accepts no message now.
    pub fn send(&self, message: &Message) -> bool {
        self.live.try_send(message)
    }
}

// === impl SessionEnd ===

impl SessionEnd {
    /// The close frame to send, if the stream still accepts one.
    fn goodbye(&self) -> Option<Control> {
        let (code, reason) = match self {
            Self::Stopped => (code::NORMAL, "Closed by client".to_owned()),
            Self::Silent { .. } => (code::NORMAL, "no answer to pings".to_owned()),
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
        Some(Control::Close { code, reason })
    }
}
