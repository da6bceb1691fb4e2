//! Opening: from an accepted connection to an associated session, in a task of its own that then
//! ends.
//!
//! [`ConnectionOpening`] does TLS, reads one HTTP request, and answers it or makes a session of it.
//! Invariant: before the client is authenticated, its time, bytes and connections are bounded; the
//! task of the session keeps only the state that it needs.

mod association;
mod path;
mod request;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use admission::{AdmissionPermit, NoFirstByte};
use bytes::BytesMut;
use pki::ServerTls;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::BrokerConfig;
use crate::damping::{DampedCertnames, SupersedeDamper};
use crate::defaults::CLOSE_TIMEOUT;
use crate::router::MessageRouter;
use crate::session::actor::{SessionActor, SessionParts};
use crate::session::outbox::SessionClose;
use crate::tls::{TlsError, TlsReadOutcome, TlsSocket};

use association::AssociationOutcome;
use request::{OpeningRequest, RequestError};

/// State that all openings share.
#[derive(Debug)]
pub(crate) struct OpeningContext {
    pub(crate) config: BrokerConfig,
    pub(crate) tls: Arc<ServerTls>,
    pub(crate) router: Arc<MessageRouter>,
    /// Ends the remaining tasks at the end of the shutdown.
    pub(crate) cut: CancellationToken,
    damper: Mutex<SupersedeDamper>,
    damped_certnames: DampedCertnames,
    handshakes: Semaphore,
    /// Permits of handshakes while the broker is full. Only a client that replaces its own session
    /// can be associated then, which is known after the handshake only, so there is one at a time.
    full_handshakes: Semaphore,
    next_session: AtomicU64,
}

/// A connection that is not associated yet.
pub(crate) struct ConnectionOpening {
    shared: Arc<OpeningContext>,
    tasks: TaskTracker,
    remote: SocketAddr,
    admission: Arc<AdmissionPermit>,
    /// Present until the connection is associated, refused, or authenticated and delayed.
    half_open: Option<HalfOpenCount>,
}

/// Counts one half-open connection in the metrics.
struct HalfOpenCount(Arc<MessageRouter>);

/// End of an opening without a session.
#[derive(Debug, thiserror::Error)]
enum OpeningError {
    #[error("not done in time")]
    Timeout,
    #[error("nothing was sent")]
    Silent,
    #[error("displaced by a newer connection")]
    Displaced,
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Request(#[from] RequestError),
    #[error("closed: {0}")]
    Refused(&'static str),
    /// A status request, which was answered.
    #[error("answered")]
    Answered,
}

// === impl OpeningContext ===

impl OpeningContext {
    pub(crate) fn new(
        config: BrokerConfig,
        tls: Arc<ServerTls>,
        router: Arc<MessageRouter>,
    ) -> Self {
        Self {
            handshakes: Semaphore::new(config.limits.handshakes.max(1)),
            full_handshakes: Semaphore::new(1),
            config,
            tls,
            router,
            cut: CancellationToken::new(),
            damper: Mutex::default(),
            damped_certnames: DampedCertnames::default(),
            next_session: AtomicU64::new(1),
        }
    }

    fn next_number(&self) -> u64 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }
}

// === impl ConnectionOpening ===

impl ConnectionOpening {
    /// Creates an opening; `admission` is dropped when the connection is associated or refused.
    pub(crate) fn new(
        shared: Arc<OpeningContext>,
        tasks: TaskTracker,
        remote: SocketAddr,
        admission: AdmissionPermit,
    ) -> Self {
        let half_open = HalfOpenCount::new(Arc::clone(&shared.router));
        Self {
            shared,
            tasks,
            remote,
            admission: Arc::new(admission),
            half_open: Some(half_open),
        }
    }

    /// Opens the connection and starts its session.
    pub(crate) async fn run(mut self, tcp: TcpStream) {
        let shared = Arc::clone(&self.shared);
        let admission = Arc::clone(&self.admission);
        let opened = tokio::select! {
            () = shared.cut.cancelled() => Err(OpeningError::Refused("shutdown")),
            () = admission.wait_displaced() => Err(OpeningError::Displaced),
            opened = Box::pin(self.open(tcp)) => opened,
        };
        self.half_open = None;
        let metrics = &shared.router.metrics;
        match opened {
            Ok(parts) => {
                self.tasks
                    .spawn(serve_session(Arc::clone(&shared), SessionActor::new(parts)));
            }
            Err(OpeningError::Answered) => {}
            Err(failed) => {
                metrics.count_opening_failed(failed.label());
                tracing::debug!(remote = %self.remote, error = %failed, "no session was opened");
            }
        }
    }

    async fn open(&mut self, tcp: TcpStream) -> Result<SessionParts, OpeningError> {
        match self.admission.wait_first_byte(&tcp).await {
            Ok(()) => {}
            Err(NoFirstByte::Displaced) => return Err(OpeningError::Displaced),
            Err(NoFirstByte::Timeout | NoFirstByte::Broken) => return Err(OpeningError::Silent),
        }
        let limit = self.shared.config.timeouts.opening;
        let asked = timeout(limit, self.receive_request(tcp))
            .await
            .map_err(|_| OpeningError::Timeout)??;
        match asked {
            (
                socket,
                OpeningRequest::Status {
                    method,
                    target,
                    head_only,
                },
            ) => {
                let answer = crate::status::handle_request(&self.shared.router, &method, &target);
                let answered = request::respond(socket, &answer, head_only);
                timeout(CLOSE_TIMEOUT, answered)
                    .await
                    .map_err(|_| OpeningError::Timeout)??;
                Err(OpeningError::Answered)
            }
            (socket, OpeningRequest::Upgrade(upgrade)) => {
                match Box::pin(association::associate(self, socket, upgrade)).await? {
                    AssociationOutcome::Session(parts) => Ok(parts),
                    AssociationOutcome::Refused(socket, closing, label) => {
                        timeout(CLOSE_TIMEOUT, refuse(socket, &closing)).await.ok();
                        Err(OpeningError::Refused(label))
                    }
                }
            }
        }
    }

    async fn receive_request(
        &self,
        tcp: TcpStream,
    ) -> Result<(TlsSocket, OpeningRequest), OpeningError> {
        let shared = &self.shared;
        let mut socket = TlsSocket::new(tcp, shared.tls.current())?;
        let mut plain = BytesMut::new();
        let full = shared.router.sessions.is_full();
        let turns = if full {
            &shared.full_handshakes
        } else {
            &shared.handshakes
        };
        socket.handshake(&self.admission, turns, &mut plain).await?;
        let asked = request::read(&mut socket, plain, &shared.config.paths).await?;
        Ok((socket, asked))
    }
}

// === impl HalfOpenCount ===

impl HalfOpenCount {
    fn new(router: Arc<MessageRouter>) -> Self {
        router.metrics.half_open.inc();
        Self(router)
    }
}

impl Drop for HalfOpenCount {
    fn drop(&mut self) {
        self.0.metrics.half_open.dec();
    }
}

/// Runs a session to its end.
async fn serve_session(shared: Arc<OpeningContext>, actor: Box<SessionActor>) {
    let session = actor.session();
    let end = shared.cut.run_until_cancelled(actor.run()).await;
    shared.router.sessions.remove_session(&session);
    let router = &shared.router;
    router
        .metrics
        .connections
        .set(i64::try_from(router.sessions.len()).unwrap_or(i64::MAX));
    session.log_suppressed();
    let reason = end.map_or("cut", crate::session::actor::SessionEndReason::label);
    router.metrics.count_session_ended(reason);
    tracing::info!(client = %session.uri, remote = %session.remote, reason, "session ended");
}

/// Sends a close frame, and waits until the client has received it.
async fn refuse(mut socket: TlsSocket, closing: &SessionClose) -> Result<(), TlsError> {
    let mut frame = BytesMut::new();
    ws::encode(
        ws::OutgoingFrame::Close(closing.code, &closing.reason),
        None,
        &mut frame,
    );
    socket.send_all(&mut frame).await?;
    socket.send_close_notify();
    let mut ignored = BytesMut::new();
    loop {
        socket.ready(true, false).await?;
        if socket.receive(&mut ignored)? == TlsReadOutcome::End {
            return Ok(());
        }
        ignored.clear();
    }
}

impl OpeningError {
    fn label(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Silent => "silent",
            Self::Displaced => "displaced",
            Self::Tls(_) => "tls",
            Self::Request(_) => "request",
            Self::Refused(label) => label,
            Self::Answered => "answered",
        }
    }
}
