//! A CA, a listener with a small router, and clients for it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use axum::{Extension, extract::State};
use https::{Config, PeerCertificate};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, ClientTls, KeyType, ServerTls, TlsFiles};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Far longer than any step here takes; only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) struct Site {
    dir: TempDir,
    pub(crate) ca: CertificateAuthority,
    pub(crate) tls: Arc<ServerTls>,
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    /// Entered by a request to `/wait`, left on `go`.
    pub(crate) waiting: Arc<Waiting>,
    task: JoinHandle<()>,
}

#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) entered: Notify,
    pub(crate) go: Notify,
}

impl Site {
    pub(crate) async fn start(config: Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        let files = files(&dir, &ca, "localhost");
        let tls = Arc::new(ServerTls::load(files, ClientAuth::Optional).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, waiting) = (CancellationToken::new(), Arc::new(Waiting::default()));
        let serving = https::serve(
            listener,
            tls.clone(),
            router(waiting.clone()),
            config,
            stop.clone(),
        );
        let task = tokio::spawn(serving);
        Self {
            dir,
            ca,
            tls,
            address,
            stop,
            waiting,
            task,
        }
    }

    /// A client with a certificate of this name; `None`: without a certificate.
    pub(crate) fn client(&self, certname: Option<&str>) -> reqwest::Client {
        let config = self.client_config(certname);
        reqwest::Client::builder()
            .tls_backend_preconfigured((*config).clone())
            .resolve("localhost", self.address)
            .build()
            .unwrap()
    }

    pub(crate) fn client_config(&self, certname: Option<&str>) -> Arc<rustls::ClientConfig> {
        match certname {
            Some(certname) => ClientTls::load(&files(&self.dir, &self.ca, certname)).unwrap(),
            None => ClientTls::without_certificate(&self.dir.path().join("ca.pem"), None).unwrap(),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub(crate) fn revoke(&self, certname: &str) {
        self.ca.revoke(certname).unwrap();
        let crl = self.ca.crl().unwrap().0;
        pki::durable::write_atomic(&self.dir.path().join("crl.pem"), crl.as_bytes(), 0o600)
            .unwrap();
        self.tls.reload().unwrap();
    }

    /// Waits until the listener has ended.
    pub(crate) async fn ended(self) {
        tokio::time::timeout(LONG, self.task)
            .await
            .unwrap()
            .unwrap();
    }
}

fn router(waiting: Arc<Waiting>) -> Router {
    Router::new()
        .route("/length", post(async |body: Bytes| body.len().to_string()))
        .route("/who", get(who))
        .route("/wait", get(wait))
        .route("/much", get(much))
        .route("/upgrade", get(crate::upgrade::echo))
        .with_state(waiting)
}

async fn who(
    Extension(peer): Extension<PeerCertificate>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
) -> String {
    format!("{} {}", peer.certname().unwrap_or("nobody"), address.ip())
}

async fn wait(State(waiting): State<Arc<Waiting>>) -> &'static str {
    waiting.entered.notify_one();
    waiting.go.notified().await;
    "done"
}

/// More bytes than all buffers between here and a client hold.
async fn much() -> Vec<u8> {
    vec![b'x'; 64 << 20]
}

fn files(dir: &TempDir, ca: &CertificateAuthority, certname: &str) -> TlsFiles {
    let made = ca.generate(certname, &GenerateOptions::default()).unwrap();
    let write = |name: String, text: &str| -> PathBuf {
        let path = dir.path().join(name);
        pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        path
    };
    TlsFiles {
        cert: write(format!("{certname}.crt"), &made.cert_pem),
        key: write(format!("{certname}.key"), &made.key_pem),
        ca: write("ca.pem".to_owned(), &ca.ca_bundle().unwrap()),
        crl: Some(write("crl.pem".to_owned(), &ca.crl().unwrap().0)),
    }
}
