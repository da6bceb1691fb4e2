//! One connection: handshake, then requests until it ends, its certificate is
//! revoked, or the server stops.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use admission::{AdmissionPermit, ConnectionStage};
use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use pki::ServerTls;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::config::Config;
use crate::connection_handle::ConnectionHandle;
use crate::defaults::{HANDSHAKE_BYTES, MAX_HEAD_BYTES};
use crate::handshake_failures::HandshakeFailures;
use crate::handshake_limit::HandshakeLimit;
use crate::handshake_turn::{TurnLimited, handshake_turns};
use crate::peer::PeerCertificate;
use crate::policy_stream::PolicyStream;
use crate::write_stall::WriteStall;

type ServerTlsStream = TlsStream<PolicyStream<PolicyStream<TcpStream, WriteStall>, HandshakeLimit>>;

pub(crate) struct HttpsConnection {
    pub(crate) tls: Arc<ServerTls>,
    pub(crate) router: Router,
    pub(crate) config: Config,
    pub(crate) address: SocketAddr,
    pub(crate) admission: Arc<AdmissionPermit>,
    pub(crate) handshakes: Arc<Semaphore>,
    pub(crate) failures: Arc<HandshakeFailures>,
    pub(crate) stop: CancellationToken,
    pub(crate) cut: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

// === impl HttpsConnection ===

impl HttpsConnection {
    pub(crate) async fn serve(self, stream: TcpStream) {
        let spoke = tokio::select! {
            () = self.stop.cancelled() => return,
            spoke = self.admission.wait_first_byte(&stream) => spoke,
        };
        if let Err(error) = spoke {
            tracing::debug!(client = %self.address, ?error, "a connection said nothing");
            return;
        }
        let handshake = Box::pin(self.handshake(stream));
        let Some(mut stream) = handshake.await else {
            return;
        };
        stream.get_mut().0.policy_mut().lift();
        let peer = PeerCertificate::from_connection(stream.get_ref().1);
        // Boxed: otherwise every connection would have the size of its requests from the start.
        Box::pin(self.serve_requests(stream, peer)).await;
    }

    async fn handshake(&self, stream: TcpStream) -> Option<ServerTlsStream> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(client = %self.address, %error, "client went away");
            return None;
        }
        // Below TLS, where each successful write is bytes that the client's side accepted.
        let stream = PolicyStream::new(stream, WriteStall::new(self.config.write_stall_timeout));
        let stream = PolicyStream::new(stream, HandshakeLimit::new(HANDSHAKE_BYTES));
        let accepting = TlsAcceptor::from(self.tls.current()).accept(stream);
        let turns = handshake_turns(Arc::clone(&self.admission), Arc::clone(&self.handshakes));
        let accepting = TurnLimited::new(accepting, turns);
        tokio::select! {
            () = self.stop.cancelled() => None,
            done = tokio::time::timeout(self.config.handshake_timeout, accepting) => match done {
                Ok(Ok(stream)) => Some(stream),
                Ok(Err(error)) => {
                    self.failures.record(self.address, &error);
                    None
                }
                Err(_) => {
                    self.failures.record(self.address, &"it took too long");
                    None
                }
            },
        }
    }

    async fn serve_requests(self, stream: ServerTlsStream, peer: PeerCertificate) {
        let (tls, cut) = (self.tls.clone(), self.cut.clone());
        let admission = Arc::clone(&self.admission);
        let hold = ConnectionHandle::new(tls, peer.clone(), cut, self.tasks.token(), admission);
        let Some(revocation) = hold.watch_revocation() else {
            return;
        };
        if peer.0.is_some() {
            hold.mark_authenticated();
        }
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.config.header_read_timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), self.service(peer, hold.clone()))
            .with_upgrades();
        let mut connection = pin!(connection);
        let mut revoked = pin!(revocation);
        let mut stopping = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(client = %self.address, %error, "connection ended");
                    }
                    return;
                }
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = revoked.as_mut() => {
                    tracing::info!(client = %self.address,
                        "certificate revoked; connection cut");
                    return;
                }
            }
        }
    }

    fn service(
        &self,
        peer: PeerCertificate,
        hold: ConnectionHandle,
    ) -> impl hyper::service::Service<
        hyper::Request<Incoming>,
        Response = axum::response::Response,
        Error = std::convert::Infallible,
        Future = impl Future<Output = Result<axum::response::Response, std::convert::Infallible>>
                 + Send
                 + use<>,
    > + Send
    + use<> {
        let router = self.router.clone();
        let address = self.address;
        hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            // Half-open until the first request arrives: a handshake alone is not enough.
            hold.advance(ConnectionStage::Anonymous);
            let mut request = request.map(axum::body::Body::new);
            request.extensions_mut().insert(peer.clone());
            request.extensions_mut().insert(hold.clone());
            request.extensions_mut().insert(ConnectInfo(address));
            router.clone().oneshot(request)
        })
    }
}
