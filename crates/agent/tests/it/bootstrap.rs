//! A new node and a CA: every step, every interruption, every refusal.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::bootstrap::{Bootstrap, BootstrapConfig, BootstrapError, Fingerprint, SslDir};
use bytes::BytesMut;
use pki::ca::{AltName, GenerateOptions, InitOptions, SignOptions};
use pki::{CertificateAuthority, ClientAuth, ClientTls, KeyType, ServerTls, TlsFiles};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;
use ws::handshake::Request;

const NODE: &str = "new.example";

/// What the CA does with requests.
#[derive(Default)]
struct Policy {
    /// Sign as soon as a request is there.
    autosign: AtomicBool,
    /// Answer so many requests with 503 first.
    outage: AtomicUsize,
    /// Sign just before the certificate is asked for so many times.
    sign_at_look: AtomicUsize,
    /// Refuse certificate requests.
    refuse: AtomicBool,
    /// Method and path of every request.
    seen: Mutex<Vec<String>>,
}

/// Puppet's CA API over HTTPS, as much as a new node needs.
struct FakeCa {
    ca: CertificateAuthority,
    policy: Arc<Policy>,
    port: u16,
    dir: tempfile::TempDir,
    _task: AbortOnDropHandle<()>,
}

impl FakeCa {
    async fn start() -> Self {
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

    fn config(&self) -> BootstrapConfig {
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

    fn ssl(&self) -> PathBuf {
        self.dir.path().join("ssl")
    }

    fn autosign(&self) -> &Self {
        self.policy.autosign.store(true, Ordering::Relaxed);
        self
    }

    fn fingerprint(&self) -> Fingerprint {
        let bundle = self.ca.ca_bundle().expect("a CA certificate");
        let der = CertificateDer::from_pem_slice(bundle.as_bytes()).expect("a certificate");
        Fingerprint::of(&der)
    }

    fn seen(&self) -> Vec<String> {
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
        // One request per connection is all that this server knows.
        if let Ok(mut stream) = tls.accept(tcp).await
            && let Some((head, body)) = read(&mut stream).await
        {
            let (status, text) = answer(&head, &body, &ca, &policy);
            let answer = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            );
            // The client may have gone.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }
}

async fn read(stream: &mut TlsStream<TcpStream>) -> Option<(Request, BytesMut)> {
    let mut buffer = BytesMut::new();
    let head = loop {
        if let Some(head) = Request::read(&mut buffer).ok()? {
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
    head: &Request,
    body: &[u8],
    ca: &CertificateAuthority,
    policy: &Policy,
) -> (&'static str, String) {
    let path = head.target.strip_prefix("/puppet-ca/v1/").unwrap_or("");
    let seen = format!("{} {path}", head.method);
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
        ("GET", "certificate_revocation_list/ca") => ("200 OK", ca.crl().expect("a list").0),
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

#[tokio::test]
async fn a_new_node_gets_a_certificate_in_puppets_layout() {
    let ca = FakeCa::start().await;
    let config = BootstrapConfig {
        fingerprint: Some(ca.fingerprint()),
        ..ca.autosign().config()
    };
    let bootstrap = Bootstrap::new(config);
    assert!(bootstrap.is_needed());
    let files = bootstrap.run().await.expect("a certificate");
    assert!(!bootstrap.is_needed());
    let ssl = ca.ssl();
    assert_eq!(files.cert, ssl.join("certs/new.example.pem"));
    assert_eq!(files.key, ssl.join("private_keys/new.example.pem"));
    assert_eq!(files.ca, ssl.join("certs/ca.pem"));
    // Also in the process that fetched it, a revoked broker is recognised.
    assert_eq!(files.crl, Some(ssl.join("crl.pem")));
    let mode = std::fs::metadata(&files.key)
        .expect("the key")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    ClientTls::load(&files).expect("files that fit each other");
    assert!(!ssl.join("certificate_requests/new.example.pem").exists());
}

#[tokio::test]
async fn doing_it_again_asks_nobody_and_changes_nothing() {
    let ca = FakeCa::start().await;
    let config = ca.autosign().config();
    let files = Bootstrap::new(config.clone())
        .run()
        .await
        .expect("a certificate");
    let before = std::fs::read(&files.cert).expect("the certificate");
    ca.seen();
    Bootstrap::new(config).run().await.expect("nothing to do");
    assert_eq!(ca.seen(), Vec::<String>::new());
    assert_eq!(std::fs::read(&files.cert).expect("the certificate"), before);
}

#[tokio::test]
async fn it_goes_on_wherever_it_was_interrupted() {
    // Each set of missing files is what a kill between two steps leaves.
    let steps = ["certs/ca.pem", "crl.pem", "private_keys/new.example.pem"];
    for kept in 0..=steps.len() {
        let ca = FakeCa::start().await;
        let config = ca.config();
        let error = Bootstrap::new(config.clone())
            .run()
            .await
            .expect_err("nobody has signed");
        assert!(matches!(error, BootstrapError::NotSigned { .. }), "{error}");
        // Killed before the request was made: the CA has heard nothing.
        ca.ca.delete_request(NODE).expect("a CA");
        let request = ca.ssl().join("certificate_requests/new.example.pem");
        std::fs::remove_file(request).expect("the request");
        for missing in &steps[kept..] {
            std::fs::remove_file(ca.ssl().join(missing)).expect("a file of an earlier step");
        }
        let files = Bootstrap::new(ca.autosign().config())
            .run()
            .await
            .expect("a certificate");
        ClientTls::load(&files).expect("files that fit each other");
    }
}

#[tokio::test]
async fn a_request_that_waits_is_sent_again_as_it_was() {
    let ca = FakeCa::start().await;
    let config = ca.config();
    let request = ca.ssl().join("certificate_requests/new.example.pem");
    Bootstrap::new(config.clone())
        .run()
        .await
        .expect_err("nobody has signed");
    let first = std::fs::read(&request).expect("the request");
    let error = Bootstrap::new(config.clone())
        .run()
        .await
        .expect_err("nobody has signed");
    assert!(
        error.to_string().contains("tutti ca sign new.example"),
        "{error}"
    );
    assert_eq!(std::fs::read(&request).expect("the request"), first);
    ca.ca
        .sign(NODE, &SignOptions::default())
        .expect("a signature");
    Bootstrap::new(config).run().await.expect("a certificate");
}

#[tokio::test]
async fn it_waits_for_the_ca_and_for_the_signature() {
    let ca = FakeCa::start().await;
    ca.policy.outage.store(3, Ordering::Relaxed);
    ca.policy.sign_at_look.store(4, Ordering::Relaxed);
    let config = BootstrapConfig {
        wait_for_cert: Duration::from_millis(10),
        ..ca.config()
    };
    let files = Bootstrap::new(config).run().await.expect("a certificate");
    ClientTls::load(&files).expect("files that fit each other");
    let looks = ca
        .seen()
        .iter()
        .filter(|seen| *seen == "GET certificate/new.example")
        .count();
    assert_eq!(looks, 4);
}

#[tokio::test]
async fn a_ca_with_another_fingerprint_is_not_trusted_and_leaves_nothing() {
    let ca = FakeCa::start().await;
    let config = BootstrapConfig {
        fingerprint: Some(Fingerprint::of(b"something else")),
        ..ca.autosign().config()
    };
    let error = Bootstrap::new(config).run().await.expect_err("a stranger");
    assert!(
        matches!(error, BootstrapError::Fingerprint { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains(&ca.fingerprint().to_string()),
        "{error}"
    );
    assert!(!ca.ssl().join("certs/ca.pem").exists());
    assert_eq!(ca.seen(), ["GET certificate/ca"]);
}

#[tokio::test]
async fn a_ca_that_is_not_the_one_on_disk_is_not_asked() {
    let (ca, other) = (FakeCa::start().await, FakeCa::start().await);
    let certs = ca.ssl().join("certs");
    std::fs::create_dir_all(&certs).expect("a directory");
    std::fs::write(
        certs.join("ca.pem"),
        other.ca.ca_bundle().expect("a CA certificate"),
    )
    .expect("a file");
    let config = BootstrapConfig {
        wait_for_cert: Duration::from_secs(120),
        ..ca.autosign().config()
    };
    let error = Bootstrap::new(config).run().await.expect_err("a stranger");
    assert!(matches!(error, BootstrapError::Fetch { .. }), "{error}");
    assert_eq!(ca.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_for_another_key_is_named_as_such_and_not_kept() {
    let ca = FakeCa::start().await;
    ca.ca
        .generate(NODE, &GenerateOptions::default())
        .expect("a certificate");
    let error = Bootstrap::new(ca.config())
        .run()
        .await
        .expect_err("not our key");
    assert!(
        matches!(error, BootstrapError::ForeignCertificate { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("tutti ca clean new.example"),
        "{error}"
    );
    let left = std::fs::read_dir(ca.ssl().join("certs"))
        .expect("a directory")
        .count();
    assert_eq!(left, 1, "only the CA's");
}

#[tokio::test]
async fn a_refusal_is_told_in_the_cas_words() {
    let ca = FakeCa::start().await;
    ca.policy.refuse.store(true, Ordering::Relaxed);
    let error = Bootstrap::new(ca.config())
        .run()
        .await
        .expect_err("refused");
    assert!(matches!(error, BootstrapError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("not permitted"), "{error}");
}
