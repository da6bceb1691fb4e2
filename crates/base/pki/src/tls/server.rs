//! TLS of servers: [`ServerTls`] holds the current rustls configuration and replaces it when its
//! files change.
//!
//! Invariant: a configuration is built completely before it replaces the old one; if a file cannot
//! be used, the old configuration stays in force and a warning names the file. Accepting a
//! connection waits for no reload.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client_verifier::client_verifier;
use super::files::{LoadError, TlsFiles};
use super::material::{TrustedCas, own_chain};
use super::revocations::RevokedCertificates;
use super::watch::FileWatch;
use crate::pem_file;

/// The requirement for clients to present a certificate. One that is presented is always verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// The handshake fails without a client certificate.
    Required,
    /// The handshake succeeds without a client certificate; the application decides (the broker
    /// closes with code 4003, the CA accepts certificate requests of new nodes).
    Optional,
}

/// TLS settings of a listener, reloaded when their files change.
#[derive(Debug)]
pub struct ServerTls {
    files: TlsFiles,
    client_auth: ClientAuth,
    current: ArcSwap<CurrentTls>,
    reloads: watch::Sender<u64>,
}

#[derive(Debug)]
struct CurrentTls {
    config: Arc<ServerConfig>,
    revocations: Arc<RevokedCertificates>,
}

impl ServerTls {
    /// Loads the files; at start a file that cannot be used is an error.
    pub fn load(files: TlsFiles, client_auth: ClientAuth) -> Result<Self, LoadError> {
        let current = build(&files, client_auth)?;
        let (reloads, _) = watch::channel(0);
        Ok(Self {
            files,
            client_auth,
            current: ArcSwap::from_pointee(current),
            reloads,
        })
    }

    /// The configuration for the next handshake.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.current.load().config.clone()
    }

    /// The currently revoked certificates.
    pub fn revocations(&self) -> Arc<RevokedCertificates> {
        self.current.load().revocations.clone()
    }

    /// A counter of reloads: callers wait for a change, then close the sessions whose leaf
    /// [`RevokedCertificates::is_revoked`].
    pub fn subscribe_reloads(&self) -> watch::Receiver<u64> {
        self.reloads.subscribe()
    }

    /// Reads the files again now. On an error the old settings stay in force.
    pub fn reload(&self) -> Result<(), LoadError> {
        let new = build(&self.files, self.client_auth)?;
        self.current.store(Arc::new(new));
        self.reloads.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Reloads within a second of a change of the files, until `stop`. The caller runs it on a task
    /// of its own.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let mut files = FileWatch::new(self.files.paths());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = files.wait_changed() => {}
            }
            let this = self.clone();
            // A list of 100,000 entries takes some tens of milliseconds to check.
            let reloaded = tokio::task::spawn_blocking(move || this.reload()).await;
            match reloaded {
                Ok(Ok(())) => tracing::info!(
                    cert = %self.files.cert.display(),
                    revoked = self.revocations().len(),
                    "TLS files changed and are in use"
                ),
                Ok(Err(error)) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "TLS files changed but cannot be used; the previous settings stay"
                ),
                Err(error) => tracing::error!(%error, "reading the TLS files panicked"),
            }
        }
    }
}

fn build(files: &TlsFiles, client_auth: ClientAuth) -> Result<CurrentTls, LoadError> {
    let trust = TrustedCas::read(&files.ca, files.crl.as_deref())?;
    let revocations = Arc::clone(&trust.revocations);
    let chain = own_chain(files)?;
    let key = pem_file::private_key(&files.key)?;
    let verifier = client_verifier(files, trust, client_auth)?;
    let mut config = ServerConfig::builder_with_provider(super::provider())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|source| LoadError::Pair {
            cert: files.cert.clone(),
            key: files.key.clone(),
            source,
        })?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(CurrentTls {
        config: Arc::new(config),
        revocations,
    })
}
