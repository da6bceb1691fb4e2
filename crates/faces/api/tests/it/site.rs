//! The API behind a real HTTPS listener, and a client that speaks TLS 1.2 only.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_util::sync::CancellationToken;

use crate::world::World;

pub(crate) struct Site {
    address: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    server_tls: Arc<ServerTls>,
    dir: PathBuf,
    ca: CertificateAuthority,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

pub(crate) type Broker = WebSocketStream<tokio_rustls::client::TlsStream<TcpStream>>;

/// One persistent connection, as the gem keeps it.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    token: String,
}

impl Site {
    pub(crate) async fn start(world: &World) -> Self {
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&world.dir.path().join("ca"), &options);
        let ca = ca.expect("a CA");
        let dir = world.dir.path().to_owned();
        let files = files(&dir, &ca, "localhost");
        let server_tls = ServerTls::load(files, ClientAuth::Optional).expect("TLS");
        let server_tls = Arc::new(server_tls);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let serving = tokio::spawn(https::serve(
            listener,
            Arc::clone(&server_tls),
            world.router.clone(),
            https::Config::default(),
            stop.clone(),
        ));
        Self {
            address,
            tls: tls_1_2(&ca),
            server_tls,
            dir,
            ca,
            stop,
            serving,
        }
    }

    pub(crate) async fn connect(&self, token: &str) -> Client {
        let socket = TcpStream::connect(self.address).await.expect("connected");
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector.connect(name, socket).await.expect("TLS 1.2");
        let version = stream.get_ref().1.protocol_version();
        assert_eq!(version, Some(rustls::ProtocolVersion::TLSv1_2));
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        Client {
            sender,
            token: token.to_owned(),
        }
    }

    /// Connects as a broker with a certificate of this name.
    pub(crate) async fn dial(&self, certname: &str, path: &str) -> Result<Broker, WsError> {
        let files = files(&self.dir, &self.ca, certname);
        let tls = pki::ClientTls::load(&files).expect("TLS");
        let socket = TcpStream::connect(self.address).await.expect("connected");
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = tokio_rustls::TlsConnector::from(tls);
        let stream = connector.connect(name, socket).await.expect("TLS");
        let url = format!("wss://localhost:8143{path}");
        let upgrade = tokio_tungstenite::client_async(url, stream);
        let (broker, _) = Box::pin(upgrade).await?;
        Ok(broker)
    }

    /// Sends `GET` without a token, with a certificate of this name.
    pub(crate) async fn get_as(&self, certname: &str, path: &str) -> (StatusCode, Value) {
        let files = files(&self.dir, &self.ca, certname);
        let tls = pki::ClientTls::load(&files).expect("TLS");
        let socket = TcpStream::connect(self.address).await.expect("connected");
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = tokio_rustls::TlsConnector::from(tls);
        let stream = connector.connect(name, socket).await.expect("TLS");
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        let request = Request::get(path).header(header::HOST, "localhost:8143");
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let response = sender.send_request(request).await.expect("answered");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        let body = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        (status, body)
    }

    /// Revokes the certificates of this name, and reloads the server's TLS settings.
    pub(crate) fn revoke(&self, certname: &str) {
        self.ca.revoke(certname).expect("revoked");
        self.server_tls.reload().expect("good files");
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.serving.await.expect("it ended");
    }
}

impl Client {
    /// Sends a request as the gem does: with a content type even if there is no content.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        let expected: &[StatusCode] = match method {
            "GET" => &[StatusCode::OK],
            _ => &[StatusCode::OK, StatusCode::ACCEPTED],
        };
        let (status, body) = self.send(method, path, body).await;
        assert!(
            expected.contains(&status),
            "{method} {path}: {status} {body}"
        );
        body
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("/orchestrator/v1/{path}"))
            .header(header::HOST, "localhost:8143")
            .header(header::CONTENT_TYPE, "application/json")
            .header("X-Authentication", &self.token)
            .header(header::USER_AGENT, "OrchestratorRubyClient/0.7.2")
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        self.sender
            .ready()
            .await
            .expect("the connection is kept open");
        let response = self.sender.send_request(request).await.expect("answered");
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        (status, serde_json::from_slice(&body).expect("JSON"))
    }
}

/// The TLS files of `certname`, created at first use.
fn files(dir: &Path, ca: &CertificateAuthority, certname: &str) -> TlsFiles {
    let place = |name: &str| -> PathBuf { dir.join(format!("{certname}-{name}.pem")) };
    let files = TlsFiles {
        cert: place("cert"),
        key: place("key"),
        ca: place("ca"),
        crl: Some(ca.dir().join("ca_crl.pem")),
    };
    if !files.cert.exists() {
        let made = ca.generate(certname, &GenerateOptions::default());
        let made = made.expect("a certificate");
        let bundle = ca.ca_bundle().expect("the CA's certificate");
        std::fs::write(&files.key, made.key_pem).expect("written");
        std::fs::write(&files.ca, bundle).expect("written");
        std::fs::write(&files.cert, made.cert_pem).expect("written");
    }
    files
}

fn tls_1_2(ca: &CertificateAuthority) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let bundle = ca.ca_bundle().expect("the CA's certificate");
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    let config = rustls::ClientConfig::builder_with_provider(pki::tls::provider())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .expect("TLS 1.2 is there")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}
