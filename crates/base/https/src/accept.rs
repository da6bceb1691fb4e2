//! The accept loop: admits connections within limits, and shuts them down in order.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use admission::{AdmissionPermit, ConnectionGate};
use axum::Router;
use pki::ServerTls;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::connection::HttpsConnection;
use crate::defaults;
use crate::handshake_failures::HandshakeFailures;

/// Serves `router` on `listener` until `stop`. Then no more connections are accepted, running
/// requests are finished within the drain deadline, and the remaining connections are cut.
/// Connections of clients whose certificates are revoked are cut after each reload of the TLS
/// files; the caller runs [`ServerTls::watch`] for that.
///
/// Upgraded connections (WebSockets) belong to the handlers that upgraded them, which keep a
/// [`ConnectionHandle`](crate::ConnectionHandle): this future waits for those as well.
pub fn serve(
    listener: TcpListener,
    tls: Arc<ServerTls>,
    router: Router,
    config: Config,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send {
    HttpsServer {
        tls,
        router,
        gate: ConnectionGate::new(config.admission.clone()),
        config,
        failures: Arc::default(),
        handshakes: Arc::new(Semaphore::new(defaults::max_concurrent_handshakes())),
        tasks: TaskTracker::new(),
        cut: CancellationToken::new(),
        stop,
    }
    .run(listener)
}

struct HttpsServer {
    tls: Arc<ServerTls>,
    router: Router,
    config: Config,
    gate: ConnectionGate,
    failures: Arc<HandshakeFailures>,
    /// Permits to compute a handshake.
    handshakes: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Cancelled when the listener stops: running requests are finished.
    stop: CancellationToken,
    /// Cancelled when the drain deadline has passed: connections end now.
    cut: CancellationToken,
}

// === impl HttpsServer ===

impl HttpsServer {
    async fn run(self, listener: TcpListener) {
        // Even when the returned future is dropped, no connection outlives it.
        let _cut_on_drop = self.cut.clone().drop_guard();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                accepted = self.gate.accept(&listener) => match accepted {
                    Ok((stream, address, admission)) => self.start(stream, address, admission),
                    Err(error) => pause_after(&error).await,
                },
            }
        }
        drop(listener);
        self.drain().await;
    }

    fn start(&self, stream: TcpStream, address: SocketAddr, admission: AdmissionPermit) {
        let admission = Arc::new(admission);
        let connection = HttpsConnection {
            tls: self.tls.clone(),
            router: self.router.clone(),
            config: self.config.clone(),
            address,
            admission: Arc::clone(&admission),
            failures: Arc::clone(&self.failures),
            handshakes: Arc::clone(&self.handshakes),
            stop: self.stop.clone(),
            cut: self.cut.clone(),
            tasks: self.tasks.clone(),
        };
        let cut = self.cut.clone();
        self.tasks.spawn(async move {
            // Boxed: otherwise the task would keep the size of the handshake until it ends.
            let served = Box::pin(connection.serve(stream));
            tokio::select! {
                () = cut.cancelled() => {}
                () = admission.wait_displaced() => {}
                () = served => {}
            }
        });
    }

    async fn drain(&self) {
        self.tasks.close();
        let drained = tokio::time::timeout(self.config.drain_deadline, self.tasks.wait()).await;
        if drained.is_err() {
            tracing::warn!(
                left = self.tasks.len(),
                "requests did not end in time and are cut"
            );
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }
}

async fn pause_after(error: &io::Error) {
    // A client that disconnected before it was accepted is not worth a log line.
    if matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    ) {
        return;
    }
    tracing::warn!(%error, "cannot accept connections; trying again");
    tokio::time::sleep(defaults::ACCEPT_PAUSE).await;
}
