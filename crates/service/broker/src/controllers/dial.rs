//! Connects to controllers, and reconnects to them: [`ControllerDialer`].

use std::sync::Arc;

use bytes::BytesMut;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use ws::{ConnectionSide, MessageDecoder, ReceiveLimits, handshake};

use super::backoff::ControllerBackoff;
use super::controller::ConnectedController;
use super::endpoint::ControllerEndpoint;
use super::link::{ControllerLink, LinkEndReason};
use crate::config::ControllersConfig;
use crate::defaults::CONTROLLER_CONNECT_TIMEOUT;
use crate::router::MessageRouter;

/// Cause of a failed attempt to connect.
#[derive(Debug, thiserror::Error)]
enum ControllerDialError {
    #[error("cannot use the TLS files: {0}")]
    Files(#[from] pki::LoadError),
    #[error("no answer within {} s", CONTROLLER_CONNECT_TIMEOUT.as_secs())]
    Timeout,
    #[error("{0}; if that is the controller, name it in broker.controller_certnames")]
    OtherServer(#[from] pki::UnexpectedCertname),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("it closed the connection during the upgrade")]
    ClosedEarly,
    #[error("it refused the upgrade: {0}")]
    Upgrade(#[from] handshake::UpgradeError),
}

/// Keeps the connection to one controller open.
pub(super) struct ControllerDialer {
    pub(super) endpoint: ControllerEndpoint,
    pub(super) router: Arc<MessageRouter>,
    pub(super) config: Arc<ControllersConfig>,
}

impl ControllerDialer {
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut backoff = ControllerBackoff::new(self.config.backoff, self.config.backoff_max);
        while !stop.is_cancelled() {
            let attempt = timeout(CONTROLLER_CONNECT_TIMEOUT, Box::pin(self.connect()));
            let Some(connected) = stop.run_until_cancelled(attempt).await else {
                return;
            };
            match connected.unwrap_or(Err(ControllerDialError::Timeout)) {
                Ok((stream, rest)) => {
                    backoff.reset();
                    self.serve(stream, rest, &stop).await;
                }
                Err(error) => {
                    tracing::warn!(controller = %self.endpoint.address, %error,
                        "cannot reach the controller; it will be tried again");
                }
            }
            let pause = backoff.next_pause(&mut rand::rng());
            stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    /// Serves one connection from its upgrade to its end.
    async fn serve(&self, stream: TlsStream<TcpStream>, rest: BytesMut, stop: &CancellationToken) {
        let controller = Arc::new(ConnectedController::new(self.endpoint.address.clone()));
        let router = &self.router;
        router.controllers.record_connected(&controller);
        router.metrics.controllers_connected.inc();
        tracing::info!(controller = %controller.address, "controller connected");
        let limits = ReceiveLimits {
            max_message_bytes: router.limits.message_bytes,
        };
        let link = ControllerLink {
            router: Arc::clone(router),
            controller: Arc::clone(&controller),
            allowlist: self.config.allowlist.clone(),
            ping: self.config.ping,
        };
        let run = Box::pin(link.run(
            stream,
            MessageDecoder::new(ConnectionSide::Client, limits),
            rest,
        ));
        let goodbye = async {
            stop.cancelled().await;
            controller.outbox.close(1001, "Shutdown");
            std::future::pending().await
        };
        let end: LinkEndReason = tokio::select! {
            end = run => end,
            end = goodbye => end,
        };
        router.controllers.record_disconnected(&controller);
        router.sessions.unsubscribe(&controller.address);
        // Waiting senders fail at once.
        controller.outbox.close(1001, "gone");
        router.metrics.controllers_connected.dec();
        tracing::warn!(controller = %controller.address, %end, "controller disconnected");
    }

    async fn connect(&self) -> Result<(TlsStream<TcpStream>, BytesMut), ControllerDialError> {
        let endpoint = &self.endpoint;
        // Read at each attempt, so that renewed files are used without a restart.
        let tls = pki::ClientTls::load_for(&self.config.tls, self.config.certnames.clone())?;
        let tcp = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await?;
        tcp.set_nodelay(true)?;
        let name = ServerName::try_from(endpoint.host.clone()).expect("checked when configured");
        let connected = TlsConnector::from(tls).connect(name, tcp).await;
        let mut stream = connected.map_err(|error| {
            match pki::UnexpectedCertname::from_handshake_error(&error) {
                Some(unexpected) => ControllerDialError::OtherServer(unexpected),
                None => ControllerDialError::Io(error),
            }
        })?;
        let mut buffer = BytesMut::new();
        let upgrade = handshake::PendingUpgrade::write_request(
            &endpoint.authority,
            &endpoint.path,
            rand::random(),
            &[],
            &mut buffer,
        );
        stream.write_all_buf(&mut buffer).await?;
        stream.flush().await?;
        while upgrade.read_response(&mut buffer)?.is_none() {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err(ControllerDialError::ClosedEarly);
            }
        }
        Ok((stream, buffer))
    }
}
