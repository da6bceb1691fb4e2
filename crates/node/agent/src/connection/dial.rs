//! Connection attempt: from an address to an open WebSocket.
//!
//! [`dial`] does name resolution, TCP, the proxy's tunnel, TLS and the upgrade within one time
//! limit. Invariant: the server's chain, host name, certname and revocation are checked before any
//! application data is sent, and the agent's PCP URI contains the name in the certificate that it
//! has just presented.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::BytesMut;
use pcp::PcpUri;
use pki::{ClientTls, LoadError, UnexpectedCertname};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use ws::handshake::{PendingUpgrade, UpgradeError};

use super::ConnectionConfig;
use super::brokers::BrokerUri;
use super::protocol::PcpVersion;
use super::proxy::{self, ProxyError};
use crate::defaults;

/// An open WebSocket.
#[derive(Debug)]
pub(super) struct OpenWebSocket {
    pub(super) stream: TlsStream<TcpStream>,
    /// Bytes that the broker sent right after its answer.
    pub(super) received: BytesMut,
    pub(super) broker: BrokerUri,
    /// PCP URI of this agent on this connection.
    pub(super) own: PcpUri,
    /// The capabilities that were announced to the broker.
    pub(super) announced: String,
}

/// Reason for which the attempt failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokerDialError {
    #[error("certificates cannot be loaded")]
    Tls(#[from] LoadError),
    #[error("own certificate cannot be read: {0}")]
    Certificate(String),
    #[error("'{0}' is neither a host name nor an address")]
    HostName(String),
    #[error("cannot connect to {to}")]
    Connect { to: String, source: std::io::Error },
    #[error("no tunnel to {to}")]
    Proxy { to: String, source: ProxyError },
    #[error("TLS with {to} failed")]
    Handshake { to: String, source: std::io::Error },
    #[error(
        "{to} is not the broker that is configured; if it is meant, name it in broker-certnames"
    )]
    OtherServer {
        to: String,
        source: UnexpectedCertname,
    },
    #[error("the upgrade broke off")]
    Upgrade(#[source] std::io::Error),
    #[error("the broker opened no WebSocket")]
    Answer(#[from] UpgradeError),
    #[error("no connection within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("stopped")]
    Cancelled,
}

// === impl BrokerDialError ===

impl BrokerDialError {
    /// True if the broker understood the request and refused it.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Answer(UpgradeError::Refused {
                status: 401 | 403,
                ..
            })
        )
    }
}

impl BrokerDialError {
    /// True if the attempt failed because nothing listens on the broker's port.
    pub(super) fn is_port_closed(&self) -> bool {
        matches!(self, Self::Connect { source, .. } if source.kind() == ErrorKind::ConnectionRefused)
    }
}

// === dialling ===

/// Opens a WebSocket to `broker`, announcing `capabilities`.
pub(super) async fn dial(
    config: &ConnectionConfig,
    broker: &BrokerUri,
    capabilities: &str,
) -> Result<OpenWebSocket, BrokerDialError> {
    timeout(
        config.connection_timeout,
        dial_unbounded(config, broker, capabilities),
    )
    .await
    .unwrap_or(Err(BrokerDialError::Timeout(config.connection_timeout)))
}

/// True if `broker` accepts TCP connections: the cheapest check there is.
pub(super) async fn is_reachable(config: &ConnectionConfig, broker: &BrokerUri) -> bool {
    matches!(
        timeout(config.connection_timeout, tunnel(config, broker)).await,
        Ok(Ok(_))
    )
}

async fn dial_unbounded(
    config: &ConnectionConfig,
    broker: &BrokerUri,
    capabilities: &str,
) -> Result<OpenWebSocket, BrokerDialError> {
    let own = own_uri(config)?;
    let mut stream = connect_tls(config, broker).await?;
    let received = upgrade(&mut stream, config.pcp_version, broker, capabilities).await?;
    Ok(OpenWebSocket {
        stream,
        received,
        broker: broker.clone(),
        own,
        announced: capabilities.to_owned(),
    })
}

/// Performs the TLS handshake with `broker` and checks its certificate.
pub(super) async fn connect_tls(
    config: &ConnectionConfig,
    broker: &BrokerUri,
) -> Result<TlsStream<TcpStream>, BrokerDialError> {
    // Read at every attempt: certificates are renewed while agents run.
    let tls = ClientTls::load_for(&config.tls, config.broker_certnames.clone())?;
    let name = ServerName::try_from(broker.host().to_owned())
        .map_err(|_| BrokerDialError::HostName(broker.host().to_owned()))?;
    let tcp = tunnel(config, broker).await?;
    TlsConnector::from(tls)
        .connect(name, tcp)
        .await
        .map_err(|source| handshake_error(broker.authority(), source))
}

fn handshake_error(to: String, source: std::io::Error) -> BrokerDialError {
    match UnexpectedCertname::from_handshake_error(&source) {
        Some(source) => BrokerDialError::OtherServer { to, source },
        None => BrokerDialError::Handshake { to, source },
    }
}

/// This agent's PCP URI, with the common name of its certificate, at any position in the subject.
fn own_uri(config: &ConnectionConfig) -> Result<PcpUri, BrokerDialError> {
    let leaf = CertificateDer::from_pem_file(&config.tls.cert)
        .map_err(|error| BrokerDialError::Certificate(error.to_string()))?;
    let certname =
        pki::certname_of(&leaf).map_err(|error| BrokerDialError::Certificate(error.to_string()))?;
    PcpUri::new(certname, defaults::CLIENT_TYPE)
        .map_err(|error| BrokerDialError::Certificate(error.to_string()))
}

/// Opens the TCP connection to the broker, through the proxy if there is one.
async fn tunnel(
    config: &ConnectionConfig,
    broker: &BrokerUri,
) -> Result<TcpStream, BrokerDialError> {
    let Some(proxy) = &config.proxy else {
        return connect(broker.host(), broker.port(), broker.authority()).await;
    };
    let mut stream = connect(proxy.host(), proxy.port(), proxy.to_string()).await?;
    proxy::connect(&mut stream, &broker.authority())
        .await
        .map_err(|source| BrokerDialError::Proxy {
            to: broker.authority(),
            source,
        })?;
    Ok(stream)
}

async fn connect(host: &str, port: u16, to: String) -> Result<TcpStream, BrokerDialError> {
    let connected = async {
        let stream = TcpStream::connect((host, port)).await?;
        // A result follows its provisional response within milliseconds: with
        // Nagle's algorithm it waits for the peer's delayed acknowledgement.
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    connected
        .await
        .map_err(|source| BrokerDialError::Connect { to, source })
}

/// Performs the HTTP upgrade; returns the bytes that the broker sent right after its answer.
async fn upgrade(
    stream: &mut TlsStream<TcpStream>,
    version: PcpVersion,
    broker: &BrokerUri,
    capabilities: &str,
) -> Result<BytesMut, BrokerDialError> {
    let target = match version {
        PcpVersion::V1 => broker.path().to_owned(),
        PcpVersion::V2 => broker.path_with_type(defaults::CLIENT_TYPE),
    };
    let mut buffer = BytesMut::with_capacity(defaults::READ_CHUNK_BYTES);
    let request = PendingUpgrade::write_request(
        &broker.authority(),
        &target,
        rand::random(),
        &[(pxp::CAPABILITIES_HEADER, capabilities)],
        &mut buffer,
    );
    stream
        .write_all_buf(&mut buffer)
        .await
        .map_err(BrokerDialError::Upgrade)?;
    stream.flush().await.map_err(BrokerDialError::Upgrade)?;
    loop {
        let read = stream.read_buf(&mut buffer).await;
        if read.map_err(BrokerDialError::Upgrade)? == 0 {
            return Err(BrokerDialError::Upgrade(
                std::io::ErrorKind::UnexpectedEof.into(),
            ));
        }
        if request.read_response(&mut buffer)?.is_some() {
            return Ok(buffer);
        }
    }
}
