//! Scripted CA with Puppet's CA API over HTTPS, as far as a node needs it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::bootstrap::{BootstrapConfig, Sha256Fingerprint, SslDir};
use bytes::BytesMut;
use pki::ca::{AltName, GenerateOptions, InitOptions, SignOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;
use ws::handshake::HttpRequestHead;

pub(crate) const NODE: &str = "new.example";

/// Treatment of requests by the CA.
#[derive(Default)]
pub(crate) struct Policy {
    /// Sign every request at once.
    pub(crate) autosign: AtomicBool,
    /// Number of requests that are first answered with 503.
    pub(crate) outage: AtomicUsize,
    /// Number of fetches of the certificate before which it is signed.
    pub(crate) sign_at_look: AtomicUsize,
    /// Refuse certificate requests.
    pub(crate) refuse: AtomicBool,
    /// Send this instead of the revocation list.
    pub(crate) list: Mutex<Option<String>>,
    /// Method and path of every request.
    seen: Mutex<Vec<String>>,
}

/// Puppet's CA API over HTTPS, as far as a new node needs it.
pub(crate) struct FakeCa {
    pub(crate) ca: CertificateAuthority,
    pub(crate) policy: Arc<Policy>,
    port: u16,
    dir: tempfile::TempDir,
    _task: AbortOnDropHandle<()>,
}

impl FakeCa {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let options = InitOptions {
            common_name: "Puppet CA: test".into(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).expect("a new CA");
        let alt_names = vec![
            AltName::Dns("localhost".into()),
            AltName::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        ];
        let options = GenerateOptions {
            alt_names,
            ..GenerateOptions::default()
        };
        let made = ca.generate("puppet", &options).expect("a certificate");
        let files = TlsFiles {
            cert: dir.path().join("cert.pem"),
            key: dir.path().join("key.pem"),
            ca: dir.path().join("ca.pem"),
            crl: None,
        };
        std::fs::write(&files.cert, made.cert_pem).expect("a file");
        std::fs::write(&files.key, made.key_pem).expect("a file");
        std::fs::write(&files.ca, ca.ca_bundle().expect("a CA certificate")).expect("a file");
        let tls = ServerTls::load(files, ClientAuth::Optional).expect("the server's files");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        let policy = Arc::new(Policy::default());
        let serving = serve(
            listener,
            TlsAcceptor::from(tls.current()),
            ca.clone(),
            Arc::clone(&policy),
        );
        Self {
            ca,
            policy,
            port,
            dir,
            _task: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }

    pub(crate) fn config(&self) -> BootstrapConfig {
        BootstrapConfig {
            server: format!("localhost:{}", self.port)
                .parse()
                .expect("an address"),
            certname: NODE.parse().expect("a certname"),
            fingerprint: None,
            ssl_dir: SslDir::new(self.ssl()),
            wait_for_cert: Duration::ZERO,
            key_type: KeyType::EcP256,
        }
    }

    pub(crate) fn ssl(&self) -> PathBuf {
        self.dir.path().join("ssl")
    }

    pub(crate) fn autosign(&self) -> &Self {
        self.policy.autosign.store(true, Ordering::Relaxed);
        self
    }

    pub(crate) fn fingerprint(&self) -> Sha256Fingerprint {
        let bundle = self.ca.ca_bundle().expect("a CA certificate");
        let der = CertificateDer::from_pem_slice(bundle.as_bytes()).expect("a certificate");
        Sha256Fingerprint::of(&der)
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.policy.seen.lock().expect("no panic in the server"))
    }
}

async fn serve(
    listener: TcpListener,
    tls: TlsAcceptor,
    ca: CertificateAuthority,
    policy: Arc<Policy>,
) {
    while let Ok((tcp, _)) = listener.accept().await {
        // This server supports only one request per connection.
        if let Ok(mut stream) = tls.accept(tcp).await
            && let Some((head, body)) = read(&mut stream).await
        {
            let (status, text) = answer(&head, &body, &ca, &policy);
            // The modification time of the list is derived from its length: revocations make it
            // longer.
            let modified = format!("version {}", text.len());
            let same = head.headers.get("If-Modified-Since") == Some(modified.as_str());
            let (status, text) = match same {
                true => ("304 Not Modified", String::new()),
                false => (status, text),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nLast-Modified: {modified}\r\n\
                 Content-Length: {}\r\n\r\n{text}",
                text.len()
            );
            // The client may have disconnected.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }
}

async fn read(stream: &mut TlsStream<TcpStream>) -> Option<(HttpRequestHead, BytesMut)> {
    let mut buffer = BytesMut::new();
    let head = loop {
        if let Some(head) = HttpRequestHead::read(&mut buffer).ok()? {
            break head;
        }
        if stream.read_buf(&mut buffer).await.ok()? == 0 {
            return None;
        }
    };
    let length = head
        .headers
        .get("Content-Length")
        .map_or(0, |text| text.parse().expect("the client's own length"));
    while buffer.len() < length {
        if stream.read_buf(&mut buffer).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, buffer))
}

fn answer(
    head: &HttpRequestHead,
    body: &[u8],
    ca: &CertificateAuthority,
    policy: &Policy,
) -> (&'static str, String) {
    let path = head.target.strip_prefix("/puppet-ca/v1/").unwrap_or("");
    let mut seen = format!("{} {path}", head.method);
    if head.headers.get("If-Modified-Since").is_some() {
        seen.push_str(" if modified");
    }
    policy
        .seen
        .lock()
        .expect("no panic in the server")
        .push(seen);
    let left = policy.outage.load(Ordering::Relaxed);
    if left > 0 {
        policy.outage.store(left - 1, Ordering::Relaxed);
        return ("503 Service Unavailable", "starting".into());
    }
    match (head.method.as_str(), path) {
        ("GET", "certificate/ca") => ("200 OK", ca.ca_bundle().expect("a CA certificate")),
        ("GET", "certificate_revocation_list/ca") => {
            let instead = policy.list.lock().expect("no panic in the server").clone();
            (
                "200 OK",
                instead.unwrap_or_else(|| ca.crl().expect("a list").0),
            )
        }
        ("GET", "certificate/new.example") => {
            let left = policy.sign_at_look.load(Ordering::Relaxed);
            policy
                .sign_at_look
                .store(left.saturating_sub(1), Ordering::Relaxed);
            if left == 1 {
                ca.sign(NODE, &SignOptions::default()).expect("a signature");
            }
            match ca.certificate(NODE).expect("a CA") {
                Some(pem) => ("200 OK", pem),
                None => ("404 Not Found", "Not Found".into()),
            }
        }
        ("PUT", "certificate_request/new.example") if policy.refuse.load(Ordering::Relaxed) => (
            "400 Bad Request",
            "CSR contains extensions that are not permitted".into(),
        ),
        ("PUT", "certificate_request/new.example") => match ca.submit(NODE, body) {
            Ok(_) => {
                if policy.autosign.load(Ordering::Relaxed) {
                    ca.sign(NODE, &SignOptions::default()).expect("a signature");
                }
                ("200 OK", String::new())
            }
            Err(error) => (
                "400 Bad Request",
                format!("{NODE} already has a requested certificate; {error}"),
            ),
        },
        _ => ("404 Not Found", String::new()),
    }
}
