//! A scripted broker: an independent WebSocket implementation over TLS, with a certificate
//! authority of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actions::PxpOutbox;
use agent::access_log::AccessLog;
use agent::connection::backoff::BackoffLimits;
use agent::connection::keepalive::KeepaliveConfig;
use agent::connection::{
    BrokerConnection, CapabilitySource, ConnectionConfig, LiveOutbox, PcpVersion,
};
use agent::intake::{MessageIntake, RequestHandler};
use futures_util::{SinkExt, StreamExt};
use pcp::{MessageId, PcpMessage, PcpUri};
use pki::ca::{AltName, GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerCertnames, ServerTls, TlsFiles};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
pub(super) use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};

/// Nothing on loopback takes this long; a test that waits this long has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Above the largest message of these tests.
pub(super) const MAX_MESSAGE_BYTES: usize = 33 * 1024 * 1024;

pub(super) const AGENT: &str = "node1.example";

/// A certificate authority and a directory for its files.
pub(super) struct Site {
    pub(super) ca: CertificateAuthority,
    pub(super) dir: tempfile::TempDir,
}

impl Site {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let ca = CertificateAuthority::init(
            &dir.path().join("ca"),
            &InitOptions {
                common_name: "Puppet CA: test".into(),
                key_type: KeyType::EcP256,
            },
        )
        .expect("a new CA");
        Self { ca, dir }
    }

    /// Certificate files for `certname`, valid for `localhost` and 127.0.0.1.
    pub(super) fn files(&self, certname: &str) -> TlsFiles {
        let local = vec![
            AltName::Dns("localhost".into()),
            AltName::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        ];
        self.files_for(certname, local)
    }

    pub(super) fn files_for(&self, certname: &str, alt_names: Vec<AltName>) -> TlsFiles {
        let at = |name: &str| self.dir.path().join(name);
        let files = TlsFiles {
            cert: at(&format!("{certname}.pem")),
            key: at(&format!("{certname}.key")),
            ca: at("ca.pem"),
            crl: None,
        };
        if files.cert.exists() {
            return files;
        }
        let made = self
            .ca
            .generate(
                certname,
                &GenerateOptions {
                    alt_names,
                    ..GenerateOptions::default()
                },
            )
            .expect("a certificate");
        let bundle = self.ca.ca_bundle().expect("a CA certificate");
        for (path, text) in [
            (&files.cert, &made.cert_pem),
            (&files.key, &made.key_pem),
            (&files.ca, &bundle),
        ] {
            std::fs::write(path, text).expect("a file in the test's directory");
        }
        files
    }

    /// The present revocation list, written to a file.
    pub(super) fn crl(&self) -> PathBuf {
        let path = self.dir.path().join("crl.pem");
        let (text, _) = self.ca.crl().expect("a revocation list");
        std::fs::write(&path, text).expect("a file in the test's directory");
        path
    }
}

/// A listening broker.
pub(super) struct FakeBroker {
    listener: TcpListener,
    tls: TlsAcceptor,
}

/// One connection to the broker.
pub(super) struct Peer {
    pub(super) ws: WebSocketStream<TlsStream<TcpStream>>,
    /// Path and query that the agent requested.
    pub(super) path: String,
    pub(super) headers: http::HeaderMap,
    /// Number of certificates that the agent presented.
    pub(super) chain_length: usize,
}

impl FakeBroker {
    pub(super) async fn start(site: &Site) -> Self {
        Self::with_files(site.files("broker.example")).await
    }

    pub(super) async fn with_files(files: TlsFiles) -> Self {
        let tls = ServerTls::load(files, ClientAuth::Required).expect("the server's files");
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
            tls: TlsAcceptor::from(tls.current()),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().expect("a bound socket").port()
    }

    pub(super) fn uri(&self, path: &str) -> String {
        format!("wss://localhost:{}{path}", self.port())
    }

    /// Accepts the next TCP connection, even if it is a mere probe.
    pub(super) async fn accept_tcp(&self) -> TcpStream {
        let accepted = timeout(PATIENCE, self.listener.accept()).await;
        accepted
            .expect("a connection in time")
            .expect("a connection")
            .0
    }

    /// Accepts the next connection up to TLS.
    pub(super) async fn accept_tls(&self) -> std::io::Result<TlsStream<TcpStream>> {
        self.tls.accept(self.accept_tcp().await).await
    }

    /// Accepts the next connection that becomes a WebSocket. Mere probes are skipped.
    pub(super) async fn accept(&self) -> Peer {
        // Boxed for the lint: the library's handshake is a large future.
        Box::pin(self.upgrade_next()).await
    }

    async fn upgrade_next(&self) -> Peer {
        loop {
            let Ok(stream) = self.accept_tls().await else {
                continue;
            };
            let chain_length = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
            let (mut path, mut headers) = (String::new(), http::HeaderMap::new());
            #[expect(clippy::result_large_err, reason = "the library's own signature")]
            let look = |request: &Request, response: Response| {
                path = request.uri().to_string();
                headers = request.headers().clone();
                Ok(response)
            };
            let any_size = WebSocketConfig::default()
                .max_message_size(None)
                .max_frame_size(None);
            let ws = Box::pin(tokio_tungstenite::accept_hdr_async_with_config(
                stream,
                look,
                Some(any_size),
            ))
            .await
            .expect("a WebSocket upgrade");
            return Peer {
                ws,
                path,
                headers,
                chain_length,
            };
        }
    }
}

impl Peer {
    pub(super) async fn send(&mut self, frame: Frame) {
        self.ws.send(frame).await.expect("an open connection");
    }

    pub(super) async fn send_v2(&mut self, message: &PcpMessage) {
        self.send(Frame::text(pcp::v2::encode(message))).await;
    }

    pub(super) async fn send_v1(&mut self, message: &PcpMessage) {
        let frame = pcp::v1::from_message(message, jiff::Timestamp::UNIX_EPOCH);
        self.send(Frame::binary(pcp::v1::encode(&frame))).await;
    }

    /// The next frame; `None` if the connection is over.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        match timeout(PATIENCE, self.ws.next())
            .await
            .expect("a frame in time")
        {
            Some(Ok(frame)) => Some(frame),
            Some(Err(_)) | None => None,
        }
    }

    /// The next PCP message; pings are skipped.
    pub(super) async fn message(&mut self) -> PcpMessage {
        loop {
            match self.next().await {
                Some(Frame::Text(text)) => {
                    return pcp::v2::decode(&text).expect("PCP version 2").to_message();
                }
                Some(Frame::Binary(bytes)) => {
                    let frame = pcp::v1::decode(&bytes).expect("PCP version 1");
                    return pcp::v1::to_message(&frame).expect("a message");
                }
                Some(Frame::Ping(_) | Frame::Pong(_)) => {}
                other => panic!("expected a message, got {other:?}"),
            }
        }
    }

    /// Sends a WebSocket ping and waits for its pong: by then the agent has processed all earlier
    /// messages, and is alive.
    pub(super) async fn is_alive(&mut self) {
        self.send(Frame::Ping("alive?".into())).await;
        loop {
            match self.next().await {
                Some(Frame::Pong(payload)) if &payload[..] == b"alive?" => return,
                Some(Frame::Ping(_) | Frame::Pong(_)) => {}
                other => panic!("expected a pong, got {other:?}"),
            }
        }
    }

    pub(super) async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: reason.to_owned().into(),
        };
        // The agent may be gone already.
        let _ = self.ws.close(Some(frame)).await;
        while let Ok(Some(Ok(_))) = timeout(PATIENCE, self.ws.next()).await {}
    }
}

/// A message that the intake passed on.
pub(super) type Handled = (PcpUri, MessageId, pxp::PxpMessageBody);

struct Recorder(mpsc::UnboundedSender<Handled>);

impl RequestHandler for Recorder {
    fn handle(&self, sender: PcpUri, message_id: MessageId, body: pxp::PxpMessageBody) {
        // The test may have ended.
        let _ = self.0.send((sender, message_id, body));
    }
}

/// An agent's connection without an engine.
pub(super) struct TestAgent {
    pub(super) connection: BrokerConnection,
    pub(super) outbox: LiveOutbox,
    pub(super) handled: mpsc::UnboundedReceiver<Handled>,
    pub(super) announcer: Arc<Announcer>,
}

/// Announces the capabilities that the test sets.
pub(super) struct Announcer {
    pub(super) capabilities: Mutex<pxp::AgentCapabilities>,
    pub(super) is_heeded: AtomicBool,
    /// Number of times that the capabilities were read.
    pub(super) looks: watch::Sender<u64>,
}

impl Announcer {
    /// Announces another spool id from now on.
    pub(super) fn rotate(&self) -> String {
        let mut capabilities = self.capabilities.lock().expect("no panic");
        let other = "b2a9c1de-0000-4000-8000-000000000002".parse();
        capabilities.spool_id = Some(other.expect("a UUID"));
        capabilities.to_string()
    }
}

impl CapabilitySource for Announcer {
    fn capabilities(&self) -> pxp::AgentCapabilities {
        self.capabilities.lock().expect("no panic").clone()
    }

    fn is_heeded(&self) -> bool {
        self.looks.send_modify(|looks| *looks += 1);
        self.is_heeded.load(Ordering::Relaxed)
    }
}

impl TestAgent {
    pub(super) fn start(config: ConnectionConfig) -> Self {
        Self::with_access_log(config, AccessLog::Off)
    }

    pub(super) fn with_access_log(config: ConnectionConfig, log: AccessLog) -> Self {
        let (sender, handled) = mpsc::unbounded_channel();
        let outbox = LiveOutbox::new(MAX_MESSAGE_BYTES);
        let intake = Arc::new(MessageIntake::new(Arc::new(Recorder(sender)), log));
        let announcer = Arc::new(Announcer {
            capabilities: Mutex::new(capabilities()),
            is_heeded: AtomicBool::new(false),
            looks: watch::Sender::new(0),
        });
        let announce = Arc::clone(&announcer) as _;
        let connection =
            BrokerConnection::start(config, announce, outbox.clone(), intake).expect("a broker");
        Self {
            connection,
            outbox,
            handled,
            announcer,
        }
    }

    /// Waits until messages can be sent.
    pub(super) async fn connected(&self) {
        let mut connected = self.outbox.connected();
        let up = timeout(PATIENCE, connected.wait_for(|up| *up)).await;
        drop(up.expect("in time").expect("the outbox lives"));
    }

    pub(super) async fn next_handled(&mut self) -> Handled {
        let handled = timeout(PATIENCE, self.handled.recv()).await;
        handled
            .expect("a request in time")
            .expect("the intake lives")
    }
}

pub(super) fn capabilities() -> pxp::AgentCapabilities {
    pxp::AgentCapabilities {
        version: "0.0.0-test".into(),
        live_output: true,
        acknowledged_results: true,
        cancel: true,
        facts: false,
        extended_requests: false,
        file_servers: false,
        leases: false,
        spool_id: None,
    }
}

/// A configuration with short waits.
pub(super) fn config(site: &Site, version: PcpVersion, uris: &[String]) -> ConnectionConfig {
    ConnectionConfig {
        brokers: uris
            .iter()
            .map(|uri| uri.parse().expect("a broker's address"))
            .collect(),
        pcp_version: version,
        tls: site.files(AGENT),
        broker_certnames: ServerCertnames::Listed(vec!["broker.example".to_owned()]),
        backoff: BackoffLimits {
            spread: Duration::from_millis(20),
            floor: Duration::from_millis(20),
            ceiling: Duration::from_millis(100),
            closed_ceiling: Duration::from_millis(100),
            denied_floor: Duration::from_millis(30),
            superseded_floor: Duration::from_millis(30),
            long_ceiling: Duration::from_millis(100),
        },
        keepalive: KeepaliveConfig {
            interval: Duration::from_secs(60),
            pong_timeout: Duration::from_secs(5),
            allowed_misses: 2,
        },
        close_patience: Duration::from_millis(200),
        ..ConnectionConfig::default()
    }
}

/// An agent on PCP version 2 and its one broker.
pub(super) async fn v2_pair() -> (Site, FakeBroker, TestAgent, Peer) {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]));
    let peer = broker.accept().await;
    agent.connected().await;
    (site, broker, agent, peer)
}

pub(super) fn controller() -> PcpUri {
    "pcp://controller.example/test".parse().expect("an address")
}

pub(super) fn own() -> PcpUri {
    format!("pcp://{AGENT}/agent").parse().expect("an address")
}

/// A message of the controller with this data.
pub(super) fn from_controller(message_type: &str, data: &serde_json::Value) -> PcpMessage {
    PcpMessage::new(message_type, Some(pcp::types::encode(data)))
        .to(own())
        .from(controller())
}

/// A blocking request that the intake accepts.
pub(super) fn request(transaction_id: &str) -> PcpMessage {
    from_controller(
        "http://puppetlabs.com/rpc_blocking_request",
        &serde_json::json!({
            "transaction_id": transaction_id,
            "module": "ping",
            "action": "ping",
            "params": {},
        }),
    )
}
