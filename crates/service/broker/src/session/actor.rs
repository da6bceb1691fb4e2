//! The task of one session, which moves frames between its socket, the router and its outbox:
//! [`SessionActor`].
//!
//! Invariants: it reads while it writes and writes while it reads, so that no two peers block each
//! other; it stops reading only while the router waits for space for the last message, or a large
//! message waits for its lease. Nothing is allocated while the session is idle.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, Sleep, sleep_until};
use ws::{MessageDecoder, OutgoingFrame, ReceivedEvent};

use super::BrokerSession;
use super::outbox::{EncodedMessage, QueuedMessage, SessionClose, SessionCommand};
use crate::assembly::{AssemblyGrant, AssemblyLease};
use crate::defaults::{CLOSE_TIMEOUT, FREE_MESSAGE_BYTES, IDLE_PROGRESS_BYTES};
use crate::router::{MessageRouter, RoutingResult};
use crate::tls::{READ_BYTES, TlsError, TlsReadOutcome, TlsSocket};

/// Close code for a large message that is too slow.
const TOO_SLOW: u16 = ws::code::POLICY;

/// Cause of the end of a session; the label of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEndReason {
    /// The peer closed the session or its connection.
    Peer,
    /// The connection broke.
    Broken,
    /// The broker closed the session.
    Closed,
    /// The broker closed the session, and the peer did not react.
    ClosedHard,
}

/// Parts of a new session; the socket is upgraded already.
pub(crate) struct SessionParts {
    pub(crate) session: Arc<BrokerSession>,
    pub(crate) router: Arc<MessageRouter>,
    pub(crate) socket: TlsSocket,
    pub(crate) decoder: MessageDecoder,
    /// Bytes that the client sent after its upgrade.
    pub(crate) plain: BytesMut,
    pub(crate) idle_timeout: Duration,
}

pub(crate) struct SessionActor {
    session: Arc<BrokerSession>,
    router: Arc<MessageRouter>,
    socket: TlsSocket,
    decoder: MessageDecoder,
    /// Decrypted bytes that are not decoded yet.
    plain: BytesMut,
    /// The frame that is being written.
    frame: BytesMut,
    /// Space of that frame in the outbox.
    frame_cost: u32,
    pong: Option<Bytes>,
    /// Delivery of the last message, which waits for space.
    routing: Option<BoxFuture<'static, ()>>,
    /// Lease of the large message that is being received or routed.
    lease: LeaseState,
    /// True after a frame that cannot be decoded, since the borders of later frames are unknown.
    unreadable: bool,
    state: SessionState,
    idle_timeout: Duration,
    last_sign: Instant,
    bytes_since_sign: usize,
}

enum LeaseState {
    /// No lease was needed so far.
    None,
    Waits(BoxFuture<'static, AssemblyLease>),
    Held(AssemblyLease),
}

enum SessionState {
    Open,
    Closing {
        /// Close frame that is not sent yet.
        frame: Option<SessionClose>,
        /// True if the peer has sent its close frame.
        answered: bool,
        deadline: Instant,
    },
    Ended(SessionEndReason),
}

impl SessionActor {
    pub(crate) fn new(parts: SessionParts) -> Box<Self> {
        Box::new(Self {
            session: parts.session,
            router: parts.router,
            socket: parts.socket,
            decoder: parts.decoder,
            plain: parts.plain,
            frame: BytesMut::new(),
            frame_cost: 0,
            pong: None,
            routing: None,
            lease: LeaseState::None,
            unreadable: false,
            state: SessionState::Open,
            idle_timeout: parts.idle_timeout,
            last_sign: Instant::now(),
            bytes_since_sign: 0,
        })
    }

    pub(crate) fn session(&self) -> Arc<BrokerSession> {
        Arc::clone(&self.session)
    }

    /// Serves the session until its connection has ended.
    pub(crate) async fn run(mut self: Box<Self>) -> SessionEndReason {
        let mut timer = pin!(sleep_until(self.deadline()));
        self.decode();
        loop {
            if let Err(error) = self.write() {
                self.end_broken(&error);
            }
            if let SessionState::Ended(end) = self.state {
                self.socket.send_close_notify();
                return end;
            }
            if timer.deadline() > self.deadline() {
                timer.as_mut().reset(self.deadline());
            }
            self.handle_next(timer.as_mut()).await;
            // Readiness consumes no budget; without this a peer that floods would keep the thread.
            tokio::task::consume_budget().await;
        }
    }

    /// Waits for the next event and handles it.
    async fn handle_next(&mut self, mut timer: Pin<&mut Sleep>) {
        let open = matches!(self.state, SessionState::Open);
        let writing = self.is_writing();
        let reading = self.is_reading();
        tokio::select! {
            biased;
            // Timer and commands come first, so that a peer cannot delay them.
            () = timer.as_mut() => {
                self.on_timer();
                timer.reset(self.deadline());
            }
            command = self.session.outbox.next_command(), if open => self.on_command(command),
            () = wait_for(&mut self.routing) => {
                self.routing = None;
                self.lease = LeaseState::None;
                self.decode();
            }
            lease = wait_for_lease(&mut self.lease) => {
                self.lease = LeaseState::Held(lease);
                // The session was not read from while it waited.
                self.record_sign_of_life();
            }
            // The outbox is polled before the socket, so that a peer that sends without pause still
            // receives its messages; the socket is read after each message, so that a peer that
            // receives without pause is still read from.
            queued = self.session.outbox.next_message(), if open && !writing => {
                self.start_frame(&queued);
                self.read(reading);
            }
            ready = self.socket.ready(reading, writing), if reading || writing => match ready {
                Ok(()) => self.read(reading),
                Err(error) => self.end_broken(&error.into()),
            },
        }
    }

    fn on_command(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Close(closing) => self.start_close(closing),
            SessionCommand::CheckCertificate(revocations) => {
                if self
                    .socket
                    .peer_leaf()
                    .is_some_and(|leaf| revocations.is_revoked(leaf))
                {
                    self.router.metrics.revoked.inc();
                    tracing::warn!(client = %self.session.uri, remote = %self.session.remote,
                        "certificate was revoked, the session is cut");
                    self.start_close(SessionClose {
                        code: ws::code::RESTART,
                        reason: "Certificate revoked.".to_owned(),
                    });
                }
            }
        }
    }

    // --- time ---

    fn deadline(&self) -> Instant {
        match self.state {
            SessionState::Open | SessionState::Ended(_) => {
                let idle = self.last_sign + self.idle_timeout;
                match &self.lease {
                    LeaseState::Held(lease) if self.routing.is_none() => idle.min(lease.deadline()),
                    _ => idle,
                }
            }
            SessionState::Closing { deadline, .. } => deadline,
        }
    }

    fn on_timer(&mut self) {
        // The timer is not moved at every sign of life, so it may be early.
        if Instant::now() < self.deadline() {
            return;
        }
        match self.state {
            // The broker itself does not read at the moment.
            SessionState::Open if !self.is_reading() => self.record_sign_of_life(),
            SessionState::Open if self.is_too_slow() => self.start_close(SessionClose {
                code: TOO_SLOW,
                reason: "The message did not come to its end in time.".to_owned(),
            }),
            SessionState::Open => self.start_close(SessionClose {
                code: 1001,
                reason: format!("Idle timeout expired: {} ms", self.idle_timeout.as_millis()),
            }),
            SessionState::Closing { .. } => {
                self.state = SessionState::Ended(SessionEndReason::ClosedHard)
            }
            SessionState::Ended(_) => {}
        }
    }

    fn record_sign_of_life(&mut self) {
        self.last_sign = Instant::now();
        self.bytes_since_sign = 0;
    }

    // --- reading ---

    fn is_reading(&self) -> bool {
        self.routing.is_none() && !matches!(self.lease, LeaseState::Waits(_))
    }

    /// True if a large message has exceeded its deadline.
    fn is_too_slow(&self) -> bool {
        matches!(&self.lease, LeaseState::Held(lease) if lease.deadline() <= Instant::now())
    }

    fn read(&mut self, reading: bool) {
        if !reading {
            return;
        }
        let before = self.plain.len();
        match self.socket.receive(&mut self.plain) {
            Ok(TlsReadOutcome::Nothing) => {}
            Ok(TlsReadOutcome::Some) => {
                self.bytes_since_sign += self.plain.len() - before;
                if self.bytes_since_sign >= IDLE_PROGRESS_BYTES {
                    self.record_sign_of_life();
                }
                self.decode();
            }
            Ok(TlsReadOutcome::End) => {
                self.decode();
                let end = if matches!(self.state, SessionState::Open) {
                    SessionEndReason::Peer
                } else {
                    SessionEndReason::Closed
                };
                self.end(end);
            }
            Err(error) => self.end_broken(&error),
        }
    }

    /// Decodes and handles complete messages, one at a time.
    fn decode(&mut self) {
        while self.routing.is_none() && !self.unreadable {
            match self.decoder.decode(&mut self.plain) {
                Ok(Some(event)) => {
                    self.record_sign_of_life();
                    self.on_event(event);
                }
                Ok(None) => {
                    self.extend_lease();
                    break;
                }
                Err(error) => {
                    self.start_close(SessionClose {
                        code: error.close_code(),
                        reason: error.to_string(),
                    });
                    self.unreadable = true;
                    break;
                }
            }
        }
        if self.unreadable {
            // Further input is discarded, so that the peer can read the cause.
            self.plain.clear();
        }
        if self.plain.is_empty() {
            self.plain = BytesMut::new();
        }
    }

    /// Requests or extends a lease: a large message needs one for the bytes that have arrived and
    /// the next read.
    fn extend_lease(&mut self) {
        let incoming = self.decoder.incomplete_message(&self.plain);
        let (held, at_most) = (incoming.held_bytes, incoming.at_most_bytes);
        if !matches!(self.state, SessionState::Open) || held <= FREE_MESSAGE_BYTES {
            return;
        }
        let leased: AssemblyGrant = match std::mem::replace(&mut self.lease, LeaseState::None) {
            LeaseState::None => {
                let assembly = &self.router.assembly;
                assembly.begin(&self.session.certname, held, at_most)
            }
            LeaseState::Held(mut lease) => {
                lease.record_progress(held);
                match lease.covers(held, READ_BYTES, at_most) {
                    true => Ok(lease),
                    false => lease.grow(held, at_most),
                }
            }
            LeaseState::Waits(waits) => Err(waits),
        };
        self.lease = match leased {
            Ok(lease) => LeaseState::Held(lease),
            Err(waits) => LeaseState::Waits(waits),
        };
    }

    fn on_event(&mut self, event: ReceivedEvent) {
        match event {
            ReceivedEvent::Close(frame) => self.on_close(frame.map_or(1000, |frame| frame.code)),
            _ if !matches!(self.state, SessionState::Open) => {}
            ReceivedEvent::Text(text) => self.handle_routed(MessageRouter::handle_text(
                &self.router,
                &self.session,
                &text,
            )),
            ReceivedEvent::Binary(bytes) => self.handle_routed(MessageRouter::handle_binary(
                &self.router,
                &self.session,
                &bytes,
            )),
            // Only the latest ping needs an answer.
            ReceivedEvent::Ping(payload) => self.pong = Some(payload),
            ReceivedEvent::Pong(_) => {}
        }
    }

    fn handle_routed(&mut self, routed: RoutingResult) {
        match routed {
            RoutingResult::Done => self.lease = LeaseState::None,
            RoutingResult::Waits(future) => self.routing = Some(future),
        }
    }

    // --- writing ---

    fn is_writing(&self) -> bool {
        !self.frame.is_empty() || self.socket.has_unsent()
    }

    /// Sends until the kernel's buffer is full or nothing is left to send.
    fn write(&mut self) -> Result<(), TlsError> {
        loop {
            if self.is_writing() {
                if !self.socket.send(&mut self.frame)? {
                    return Ok(());
                }
                self.frame = BytesMut::new();
                self.session
                    .outbox
                    .release(std::mem::take(&mut self.frame_cost));
            }
            if !self.next_control_frame() {
                return Ok(());
            }
        }
    }

    /// Encodes a close or pong frame, if one is due between messages.
    fn next_control_frame(&mut self) -> bool {
        match &mut self.state {
            SessionState::Open => match self.pong.take() {
                Some(payload) => ws::encode(OutgoingFrame::Pong(&payload), None, &mut self.frame),
                None => return false,
            },
            SessionState::Closing {
                frame, answered, ..
            } => match frame.take() {
                Some(close) => {
                    ws::encode(
                        OutgoingFrame::Close(close.code, &close.reason),
                        None,
                        &mut self.frame,
                    );
                }
                None if *answered => {
                    self.end(SessionEndReason::Peer);
                    return false;
                }
                None => return false,
            },
            SessionState::Ended(_) => return false,
        }
        true
    }

    fn start_frame(&mut self, queued: &QueuedMessage) {
        self.frame_cost = queued.cost();
        let text;
        let frame = match &queued.payload {
            EncodedMessage::Text(bytes) => {
                text = std::str::from_utf8(bytes).expect("made from a String");
                OutgoingFrame::Text(text)
            }
            EncodedMessage::Binary(bytes) => OutgoingFrame::Binary(bytes),
        };
        ws::encode(frame, None, &mut self.frame);
        self.router.metrics.messages_sent.inc();
        self.router
            .metrics
            .bytes_sent
            .inc_by(queued.payload.len() as u64);
    }

    // --- ending ---

    fn start_close(&mut self, closing: SessionClose) {
        if matches!(self.state, SessionState::Open) {
            // The rest of a message is dropped.
            self.lease = LeaseState::None;
            // Senders fail at once, without waiting for their timeout.
            self.session.outbox.close(closing.code, &closing.reason);
            let deadline = Instant::now() + CLOSE_TIMEOUT;
            self.state = SessionState::Closing {
                frame: Some(closing),
                answered: false,
                deadline,
            };
        }
    }

    fn on_close(&mut self, code: u16) {
        self.start_close(SessionClose {
            code,
            reason: String::new(),
        });
        if let SessionState::Closing { answered, .. } = &mut self.state {
            *answered = true;
        }
    }

    fn end_broken(&mut self, error: &TlsError) {
        let client = &self.session.uri;
        tracing::debug!(%client, remote = %self.session.remote, %error, "connection broke");
        self.end(SessionEndReason::Broken);
    }

    fn end(&mut self, end: SessionEndReason) {
        if !matches!(self.state, SessionState::Ended(_)) {
            self.state = SessionState::Ended(end);
        }
    }
}

impl SessionEndReason {
    /// Label for metrics and logs.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Broken => "broken",
            Self::Closed => "closed",
            Self::ClosedHard => "closed_hard",
        }
    }
}

async fn wait_for_lease(lease: &mut LeaseState) -> AssemblyLease {
    match lease {
        LeaseState::Waits(waits) => waits.await,
        LeaseState::None | LeaseState::Held(_) => pending().await,
    }
}

async fn wait_for(routing: &mut Option<BoxFuture<'static, ()>>) {
    match routing {
        Some(future) => future.await,
        None => pending().await,
    }
}
