//! Hooks with a client certificate, at a real listener that requires one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::{Extension, Router};
use code_deployments::post_hook::PostHook;
use code_deployments::service::{Deployment, DeploymentListeners, DeploymentState};
use https::{Config, PeerCertificate};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::service::{DEPLOY, Service};
use crate::world::World;

/// A certificate authority, and the files of certificates that it signed.
struct Authority {
    directory: tempfile::TempDir,
    ca: CertificateAuthority,
}

/// The names of the clients that connected.
type Seen = Arc<Mutex<Vec<String>>>;

/// A program that accepts hooks from clients with a certificate.
struct Chat {
    address: String,
    seen: Seen,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

// === impl Authority ===

impl Authority {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&directory.path().join("ca"), &options).unwrap();
        Self { directory, ca }
    }

    /// Creates the files of a certificate; `place` is the prefix of their names.
    fn files(&self, place: &str, certname: &str) -> TlsFiles {
        let options = GenerateOptions::default();
        let made = self.ca.generate(certname, &options).unwrap();
        TlsFiles {
            cert: self.write(&format!("{place}.crt"), &made.cert_pem),
            key: self.write(&format!("{place}.key"), &made.key_pem),
            ca: self.write("ca.pem", &self.ca.ca_bundle().unwrap()),
            crl: Some(self.write("crl.pem", &self.ca.crl().unwrap().0)),
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        path
    }

    fn revoke(&self, certname: &str) {
        self.ca.revoke(certname).unwrap();
        self.write("crl.pem", &self.ca.crl().unwrap().0);
    }
}

// === impl Chat ===

impl Chat {
    async fn start(authority: &Authority) -> Self {
        let files = authority.files("chat", "localhost");
        let tls = Arc::new(ServerTls::load(files, ClientAuth::Required).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!(
            "https://localhost:{}",
            listener.local_addr().unwrap().port()
        );
        let (seen, stop) = (Seen::default(), CancellationToken::new());
        let app = Router::new().fallback(take).with_state(Arc::clone(&seen));
        let task = tokio::spawn(https::serve(
            listener,
            tls,
            app,
            Config::default(),
            stop.clone(),
        ));
        Self {
            address,
            seen,
            stop,
            task,
        }
    }

    /// Returns the clients that connected since the last call.
    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

async fn take(
    Shared(seen): Shared<Seen>,
    Extension(peer): Extension<PeerCertificate>,
    body: String,
) -> StatusCode {
    assert!(body.contains("production"), "{body}");
    let name = peer.certname().unwrap_or("nobody").to_owned();
    seen.lock().unwrap().push(name);
    StatusCode::OK
}

/// Starts a service with a hook to this program.
async fn service(chat: &Chat, tls: Option<TlsFiles>) -> Service {
    let hook = PostHook::new(&format!("{}/s3cret", chat.address), tls).unwrap();
    let others = DeploymentListeners {
        observers: vec![Arc::new(hook)],
        ..DeploymentListeners::default()
    };
    Box::pin(Service::beside(World::new(), others)).await
}

/// Returns the notes of a deployment, which is live even if the hook failed.
fn notes(deployment: &Deployment) -> String {
    assert_eq!(deployment.state, DeploymentState::Synced);
    deployment.outcome.as_ref().unwrap().notes.join("\n")
}

#[tokio::test]
async fn our_certificate_is_shown_as_it_is_now() {
    let authority = Authority::new();
    let chat = Chat::start(&authority).await;
    let files = authority.files("own", "tutti.example.com");
    let service = Box::pin(service(&chat, Some(files))).await;
    let done = service.act("production", DEPLOY).await;
    assert_eq!(notes(&done), "");
    assert_eq!(chat.seen(), ["tutti.example.com"]);
    // The certificate was renewed meanwhile.
    authority.files("own", "renewed.example.com");
    let done = service.act("production", DEPLOY).await;
    assert_eq!(notes(&done), "");
    assert_eq!(chat.seen(), ["renewed.example.com"]);
    chat.end().await;
}

#[tokio::test]
async fn without_it_the_program_takes_nothing() {
    let authority = Authority::new();
    let chat = Chat::start(&authority).await;
    let service = Box::pin(service(&chat, None)).await;
    // The machine's authorities did not sign the program's certificate.
    let note = notes(&service.act("production", DEPLOY).await);
    let said = "the hook at localhost was not told: its certificate must be of an authority that this machine trusts: ";
    assert!(note.starts_with(said), "{note}");
    assert!(!note.contains("s3cret"), "{note}");
    // With a trusted authority, the program still requires a client certificate.
    let trusting =
        pki::ClientTls::without_certificate(&authority.directory.path().join("ca.pem"), None);
    let client = reqwest::Client::builder().no_proxy();
    let client = client.tls_backend_preconfigured((*trusting.unwrap()).clone());
    let refused = client
        .build()
        .unwrap()
        .post(&chat.address)
        .body("production");
    assert!(refused.send().await.is_err());
    assert_eq!(chat.seen(), Vec::<String>::new());
    chat.end().await;
}

#[tokio::test]
async fn a_program_of_another_authority_is_told_nothing() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let stranger = Chat::start(&theirs).await;
    let own = ours.files("own", "tutti.example.com");
    let asked = Box::pin(service(&stranger, Some(own.clone()))).await;
    let note = notes(&asked.act("production", DEPLOY).await);
    let said = "the hook at localhost was not told: its certificate must be of this server's own authority: ";
    assert!(note.starts_with(said), "{note}");
    assert_eq!(stranger.seen(), Vec::<String>::new());
    stranger.end().await;

    let chat = Chat::start(&ours).await;
    ours.revoke("localhost");
    let asked = Box::pin(service(&chat, Some(own.clone()))).await;
    let note = notes(&asked.act("production", DEPLOY).await);
    assert!(note.contains("certificate is revoked"), "{note}");

    std::fs::remove_file(&own.key).unwrap();
    let note = notes(&asked.act("production", DEPLOY).await);
    assert!(note.contains("own.key"), "{note}");
    assert_eq!(chat.seen(), Vec::<String>::new());
    chat.end().await;
}
