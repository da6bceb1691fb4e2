//! A PuppetDB over HTTPS whose behaviour a test sets: [`Fake`], with the CA of its site.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use inventory::{Inventory, PuppetDbConfig};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A CA and the certificates that it issued.
pub(crate) struct Authority {
    dir: TempDir,
    ca: CertificateAuthority,
}

/// The behaviour of the PuppetDB.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Answers with this status and body.
    Says(u16, String),
    /// The first `n` answers are of the first kind, the others of the second.
    Later(usize, Box<Manner>, Box<Manner>),
    /// Never answers.
    Mute,
    /// Starts an answer and cuts the connection.
    Half,
    /// Starts an answer and stops sending.
    Stalls,
    /// Sends an answer without an end.
    Endless,
    /// Redirects the client to this URL.
    Redirects(String),
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    asked: Arc<Asked>,
    /// Keeps the files of the client alive.
    pub(crate) authority: Option<Authority>,
    _stop: DropGuard,
}

struct Asked {
    manner: Manner,
    count: AtomicUsize,
    last: std::sync::Mutex<Option<Value>>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        Self { dir, ca }
    }

    pub(crate) fn files(&self, certname: &str) -> TlsFiles {
        let place = |name: String| self.dir.path().join(name);
        let cert = place(format!("{certname}.crt"));
        if cert.exists() {
            return TlsFiles {
                key: cert.with_extension("key"),
                cert,
                ca: place("ca.pem".to_owned()),
                crl: Some(place("crl.pem".to_owned())),
            };
        }
        let options = GenerateOptions::default();
        let made = self.ca.generate(certname, &options).unwrap();
        let write = |name: String, text: &str| -> PathBuf {
            let path = self.dir.path().join(name);
            pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
            path
        };
        TlsFiles {
            cert: write(format!("{certname}.crt"), &made.cert_pem),
            key: write(format!("{certname}.key"), &made.key_pem),
            ca: write("ca.pem".to_owned(), &self.ca.ca_bundle().unwrap()),
            crl: Some(write("crl.pem".to_owned(), &self.ca.crl().unwrap().0)),
        }
    }
}

impl Fake {
    /// Listens with the certificate in `files`, and requires a client certificate of the same CA.
    pub(crate) async fn start(files: TlsFiles, manner: Manner) -> Self {
        let tls = Arc::new(ServerTls::load(files, ClientAuth::Required).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Asked {
            manner,
            count: AtomicUsize::new(0),
            last: std::sync::Mutex::new(None),
        });
        let router = Router::new()
            .route("/pdb/query/v4", post(answer))
            .with_state(Arc::clone(&asked));
        let stop = CancellationToken::new();
        let config = https::Config {
            drain_deadline: Duration::ZERO,
            ..https::Config::default()
        };
        tokio::spawn(https::serve(listener, tls, router, config, stop.clone()));
        Self {
            address,
            asked,
            authority: None,
            _stop: stop.drop_guard(),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// Number of received queries.
    pub(crate) fn asked(&self) -> usize {
        self.asked.count.load(Ordering::SeqCst)
    }

    pub(crate) fn last(&self) -> Value {
        self.asked.last.lock().unwrap().clone().unwrap()
    }
}

/// A client of these servers, with short timeouts.
pub(crate) fn client(urls: &[String], files: TlsFiles) -> Inventory {
    let mut config = PuppetDbConfig::new(urls, files).unwrap();
    config.connect_timeout = Duration::from_secs(2);
    config.read_timeout = Duration::from_millis(500);
    config.total_timeout = Duration::from_secs(5);
    config.max_response_bytes = 1 << 20;
    Inventory::puppetdb(config)
}

async fn answer(State(asked): State<Arc<Asked>>, body: Bytes) -> Response {
    let count = asked.count.fetch_add(1, Ordering::SeqCst);
    *asked.last.lock().unwrap() = serde_json::from_slice(&body).ok();
    let manner = match &asked.manner {
        Manner::Later(first, then, _) if count < *first => &**then,
        Manner::Later(_, _, other) => &**other,
        manner => manner,
    };
    let begun = Ok(Bytes::from_static(b"[{\"certname\": \"a\"},"));
    match manner {
        Manner::Says(status, body) => {
            (StatusCode::from_u16(*status).unwrap(), body.clone()).into_response()
        }
        Manner::Mute | Manner::Later(..) => std::future::pending().await,
        Manner::Half => {
            use futures_util::StreamExt as _;
            // The start of the answer is sent before the connection breaks.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            Response::new(Body::from_stream(stream::iter([begun]).chain(broken)))
        }
        Manner::Stalls => {
            use futures_util::StreamExt as _;
            let begun: Result<Bytes, std::io::Error> = begun;
            Response::new(Body::from_stream(
                stream::iter([begun]).chain(stream::pending()),
            ))
        }
        Manner::Endless => {
            let row = Bytes::from(format!("{{\"certname\": \"{}\"}},", "x".repeat(8_000)));
            let rows = stream::repeat_with(move || Ok::<_, std::io::Error>(row.clone()));
            Response::new(Body::from_stream(rows))
        }
        Manner::Redirects(to) => {
            let location = [(axum::http::header::LOCATION, to.clone())];
            (StatusCode::TEMPORARY_REDIRECT, location).into_response()
        }
    }
}
