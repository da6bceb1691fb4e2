//! Certificate bootstrap of a node: CA certificate, revocation list, key, request, certificate, in
//! Puppet's layout.
//!
//! [`CertificateBootstrap::run`] is a list of steps, each of which does nothing if its file exists;
//! at the end the certificate is checked against the CA's latest revocation list, regardless of its
//! origin and age. Invariants: a kill at any moment loses no work, because every file is written
//! whole and the key is on disk before the CA receives the request; nothing is trusted over the
//! network except the CA certificate, and that only by its fingerprint or, with a notice, at first
//! sight; a certificate is only kept if it matches the node's key.

mod client;
mod fingerprint;
mod layout;
mod own_certificate;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pcp::Certname;
use pki::durable::{self, DurableWriteError};
use pki::key::PrivateKeyError;
use pki::{ClientTls, KeyType, LoadError, TlsFiles};
use rand::RngExt;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::sync::watch;
use tokio::time::sleep;

pub(crate) use client::CaClient;
use client::SubmitResult;
pub use client::{CaFetchError, CaUri};
pub use fingerprint::Sha256Fingerprint;
pub use layout::SslDir;
pub use own_certificate::UnusableCertificate;

use crate::crl_file::CrlFile;
use crate::defaults;
use error_causes::chain;

/// Source of the certificate and destination of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapConfig {
    /// HTTP address of the CA.
    pub server: CaUri,
    /// Certname that the request contains.
    pub certname: Certname,
    /// Expected fingerprint of the CA certificate; `None` trusts the first answer.
    pub fingerprint: Option<Sha256Fingerprint>,
    /// Puppet's `ssldir`, which receives the files.
    pub ssl_dir: SslDir,
    /// Longest pause between two checks for the certificate; zero checks once.
    pub wait_for_cert: Duration,
    /// Type of the key that is generated if there is none.
    pub key_type: KeyType,
}

/// Reason for which there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The CA does not answer, or not as expected.
    #[error("cannot {what}")]
    Fetch {
        /// The requested object, for the message.
        what: &'static str,
        /// Reason for which the request failed.
        source: CaFetchError,
    },
    /// Another CA, or a man in the middle.
    #[error(
        "the CA certificate of {server} has fingerprint {found}, not {expected}; \
         nothing was kept"
    )]
    Fingerprint {
        /// The CA that was contacted.
        server: CaUri,
        /// Fingerprint of the received certificate.
        found: Sha256Fingerprint,
        /// Fingerprint of the configuration.
        expected: Sha256Fingerprint,
    },
    /// The CA's answer is not usable.
    #[error("{server} sent no usable {what}")]
    Unusable {
        /// The CA that was contacted.
        server: CaUri,
        /// The requested object, for the message.
        what: &'static str,
    },
    /// A local file cannot be used.
    #[error("cannot use the files in the ssl directory")]
    Load(#[from] LoadError),
    /// A local file cannot be written.
    #[error("cannot write to the ssl directory")]
    Write(#[from] DurableWriteError),
    /// There is a certificate, but it cannot be used.
    #[error(transparent)]
    OwnCertificate(#[from] UnusableCertificate),
    /// The key cannot be generated.
    #[error("cannot make or read the private key")]
    Key(#[from] PrivateKeyError),
    /// The CA refuses to sign.
    #[error("the CA refused the request for '{certname}': {reason}")]
    Refused {
        /// Certname of the request.
        certname: Certname,
        /// Text of the CA's answer.
        reason: String,
    },
    /// The CA has a certificate of this name for another key.
    #[error(
        "the CA holds a certificate for '{certname}' that was made for another key; \
         remove it there (tutti ca clean {certname}, or puppetserver ca clean --certname \
         {certname}), or choose another --certname"
    )]
    ForeignCertificate {
        /// Certname of the request.
        certname: Certname,
    },
    /// The request is not signed yet, and the configuration does not allow waiting.
    #[error(
        "the request for '{certname}' waits to be signed (tutti ca sign {certname}, or \
         puppetserver ca sign --certname {certname}); run this again afterwards"
    )]
    NotSigned {
        /// Certname of the request.
        certname: Certname,
    },
}

/// A bootstrap in progress.
#[derive(Debug)]
pub struct CertificateBootstrap {
    config: BootstrapConfig,
    files: TlsFiles,
    renews: bool,
    waiting: watch::Sender<Option<String>>,
}

// === impl CertificateBootstrap ===

impl CertificateBootstrap {
    /// Creates a bootstrap; nothing is done yet.
    pub fn new(config: BootstrapConfig) -> Self {
        let files = config.ssl_dir.files(&config.certname);
        Self {
            config,
            files,
            renews: false,
            waiting: watch::Sender::new(None),
        }
    }

    /// The current wait as one line for an operator, with its changes; `None` until the first wait.
    pub fn subscribe_waiting(&self) -> watch::Receiver<Option<String>> {
        self.waiting.subscribe()
    }

    /// Moves unusable keys and certificates away, and obtains new ones. Usable ones are kept.
    #[must_use]
    pub fn with_renewal(self, renews: bool) -> Self {
        Self { renews, ..self }
    }

    /// True if the CA certificate, the key or the certificate is missing.
    pub fn is_needed(&self) -> bool {
        ![&self.files.ca, &self.files.key, &self.files.cert]
            .into_iter()
            .all(|path| path.is_file())
    }

    /// Performs the missing steps; returns the files.
    pub async fn run(&self) -> Result<TlsFiles, BootstrapError> {
        self.config.ssl_dir.create()?;
        if !self.files.ca.is_file() {
            self.retrying("fetch the CA certificate", || self.fetch_ca())
                .await?;
        }
        let tls = ClientTls::without_certificate(&self.files.ca, None)?;
        let client = CaClient::new(&self.config.server, tls).map_err(fetching("reach the CA"))?;
        let crl = self.config.ssl_dir.crl();
        if crl.is_file() {
            self.refresh_crl(&client, &crl).await?;
        } else {
            self.retrying("fetch the revocation list", || {
                self.fetch_crl(&client, &crl)
            })
            .await?;
        }
        // Read again: the revocation list did not exist at the start.
        let files = self.config.ssl_dir.files(&self.config.certname);
        if self.renews && self.files.cert.is_file() && self.files.key.is_file() {
            self.move_away(&files)?;
        }
        self.ensure_key()?;
        if !self.files.cert.is_file() {
            self.obtain_certificate(&client).await?;
        }
        own_certificate::check(&files, &self.config.certname)??;
        Ok(files)
    }

    /// Fetches the current list, because an existing one may be old. If the CA does not answer, the
    /// bootstrap goes on with the node's present list.
    async fn refresh_crl(&self, client: &CaClient, path: &Path) -> Result<(), BootstrapError> {
        let pem = match client.revocation_list().await {
            Ok(pem) => pem,
            // The host is not the CA whose certificate is installed: this is an error.
            Err(error) if error.is_tls_error() => {
                return Err(fetching("fetch the revocation list")(error));
            }
            Err(error) => {
                self.warn_of_old_list(&error);
                return Ok(());
            }
        };
        let file = CrlFile {
            ca: &self.files.ca,
            path,
        };
        if let Err(error) = file.replace(&pem) {
            self.warn_of_old_list(&error);
        }
        Ok(())
    }

    fn warn_of_old_list(&self, error: &(dyn std::error::Error + 'static)) {
        tracing::warn!(
            error = %chain(error),
            "no newer revocation list from {}; revocations since the last one are not known, not \
             even that of our own certificate",
            self.config.server
        );
    }

    /// Moves files away in an order that leaves a usable state after a kill: a key without a
    /// certificate gets one.
    fn move_away(&self, files: &TlsFiles) -> Result<(), BootstrapError> {
        let certname = &self.config.certname;
        let Err(refusal) = own_certificate::check(files, certname)? else {
            tracing::info!(file = %files.cert.display(), "our certificate is good; nothing to renew");
            return Ok(());
        };
        tracing::warn!("renewing: {refusal}");
        for path in [
            &files.cert,
            &self.config.ssl_dir.request(certname),
            &files.key,
        ] {
            durable::remove(path)?;
        }
        Ok(())
    }

    async fn fetch_ca(&self) -> Result<(), BootstrapError> {
        let client = CaClient::new(&self.config.server, ClientTls::first_contact())
            .map_err(fetching("reach the CA"))?;
        let pem = client
            .ca_certificate()
            .await
            .map_err(fetching("fetch the CA certificate"))?;
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| self.unusable("CA certificate"))?;
        let Some(first) = certificates.first() else {
            return Err(self.unusable("CA certificate"));
        };
        // The fingerprint of a bundle is that of its text as a whole, as in Puppet: if one matching
        // certificate were enough, another root could be smuggled in beside it.
        let of_text = Sha256Fingerprint::of(pem.as_bytes());
        let found = match certificates.len() {
            1 => Sha256Fingerprint::of(first),
            _ => of_text,
        };
        match self.config.fingerprint {
            Some(expected) if expected == found || expected == of_text => {}
            Some(expected) => {
                return Err(BootstrapError::Fingerprint {
                    server: self.config.server.clone(),
                    found,
                    expected,
                });
            }
            None => tracing::warn!(
                fingerprint = %found,
                "trusting the CA certificate of {} at first sight; compare its fingerprint, \
                 or give --ca-fingerprint",
                self.config.server
            ),
        }
        durable::write_atomic(&self.files.ca, pem.as_bytes(), 0o644)?;
        tracing::info!(file = %self.files.ca.display(), "wrote the CA certificate");
        Ok(())
    }

    async fn fetch_crl(&self, client: &CaClient, path: &Path) -> Result<(), BootstrapError> {
        let pem = client
            .revocation_list()
            .await
            .map_err(fetching("fetch the revocation list"))?;
        if !pem.contains("-----BEGIN X509 CRL-----") {
            return Err(self.unusable("revocation list"));
        }
        durable::write_atomic(path, pem.as_bytes(), 0o644)?;
        tracing::info!(file = %path.display(), "wrote the revocation list");
        Ok(())
    }

    /// Generates the key. It is durable before the request is sent: a certificate for a lost key is
    /// useless and blocks its name.
    fn ensure_key(&self) -> Result<(), BootstrapError> {
        if self.files.key.is_file() {
            return Ok(());
        }
        let key = pki::key::generate(self.config.key_type)?;
        durable::write_atomic(&self.files.key, key.serialize_pem().as_bytes(), 0o600)?;
        tracing::info!(file = %self.files.key.display(), "wrote a new private key");
        Ok(())
    }

    async fn obtain_certificate(&self, client: &CaClient) -> Result<(), BootstrapError> {
        if self.fetch_certificate(client).await? {
            return Ok(());
        }
        let request = self.request()?;
        let mut pause = defaults::CERT_POLL_FIRST.min(self.config.wait_for_cert);
        loop {
            // Submitted each time, as Puppet does: a full list may have dropped it, or it may have
            // been signed automatically by now.
            self.retrying("submit the certificate request", || {
                self.submit(client, &request)
            })
            .await?;
            if self.fetch_certificate(client).await? {
                return Ok(());
            }
            if self.config.wait_for_cert.is_zero() {
                return Err(BootstrapError::NotSigned {
                    certname: self.config.certname.clone(),
                });
            }
            tracing::info!(
                certname = %self.config.certname,
                "waiting for our certificate to be signed; looking again in {:.0} s",
                pause.as_secs_f64()
            );
            let (certname, server) = (&self.config.certname, &self.config.server);
            self.waiting.send_replace(Some(format!(
                "waiting until {server} signs the certificate of {certname} (tutti ca sign \
                 {certname}, or puppetserver ca sign --certname {certname})"
            )));
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(self.config.wait_for_cert);
        }
    }

    /// The existing request, or a new one. Always the same bytes: a CA takes a second, different
    /// request for an attack.
    fn request(&self) -> Result<String, BootstrapError> {
        let path = self.config.ssl_dir.request(&self.config.certname);
        if let Ok(request) = std::fs::read_to_string(&path) {
            return Ok(request);
        }
        let key = pki::key::read(&self.files.key)?;
        let request = pki::csr::create_request(self.config.certname.as_str(), &key)?;
        durable::write_atomic(&path, request.as_bytes(), 0o644)?;
        Ok(request)
    }

    async fn submit(&self, client: &CaClient, request: &str) -> Result<(), BootstrapError> {
        let submitted = client
            .submit_request(&self.config.certname, request)
            .await
            .map_err(fetching("submit the certificate request"))?;
        match submitted {
            SubmitResult::Accepted | SubmitResult::KnownAlready => Ok(()),
            SubmitResult::Refused(reason) => Err(BootstrapError::Refused {
                certname: self.config.certname.clone(),
                reason,
            }),
        }
    }

    /// Fetches the certificate; true if there is one now.
    async fn fetch_certificate(&self, client: &CaClient) -> Result<bool, BootstrapError> {
        let certname = &self.config.certname;
        let fetched = self
            .retrying("fetch our certificate", || async {
                client
                    .certificate(certname)
                    .await
                    .map_err(fetching("fetch our certificate"))
            })
            .await?;
        let Some(pem) = fetched else {
            return Ok(false);
        };
        self.keep_certificate(&pem)?;
        Ok(true)
    }

    fn keep_certificate(&self, pem: &str) -> Result<(), BootstrapError> {
        // Checked beside its final path, so that a wrong one is never found there.
        let trial = with_suffix(&self.files.cert, ".new");
        durable::write_atomic(&trial, pem.as_bytes(), 0o644)?;
        // With the list that may not have existed at the start.
        let verdict = own_certificate::check(
            &TlsFiles {
                cert: trial.clone(),
                ..self.config.ssl_dir.files(&self.config.certname)
            },
            &self.config.certname,
        );
        durable::remove(&trial)?;
        match verdict? {
            Ok(()) => {}
            Err(UnusableCertificate::OtherKey { .. }) => {
                return Err(BootstrapError::ForeignCertificate {
                    certname: self.config.certname.clone(),
                });
            }
            // Unusable, and so not kept.
            Err(refusal) => return Err(refusal.with_ca_server(&self.config.server).into()),
        }
        durable::write_atomic(&self.files.cert, pem.as_bytes(), 0o644)?;
        durable::remove(&self.config.ssl_dir.request(&self.config.certname))?;
        tracing::info!(file = %self.files.cert.display(), "wrote our certificate");
        Ok(())
    }

    /// Repeats an attempt that failed in the network, as long as the configuration allows waiting.
    async fn retrying<T, F>(
        &self,
        what: &'static str,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, BootstrapError>
    where
        F: Future<Output = Result<T, BootstrapError>>,
    {
        let mut pause = defaults::CERT_POLL_FIRST.min(self.config.wait_for_cert);
        loop {
            match attempt().await {
                Err(BootstrapError::Fetch { source, .. })
                    if source.is_transient() && !self.config.wait_for_cert.is_zero() =>
                {
                    tracing::warn!(
                        error = %chain(&source),
                        "cannot {what} yet; trying again in {:.0} s",
                        pause.as_secs_f64()
                    );
                    let error = chain(&source);
                    self.waiting
                        .send_replace(Some(format!("cannot {what} yet: {error}")));
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(self.config.wait_for_cert);
                }
                result => return result,
            }
        }
    }

    fn unusable(&self, what: &'static str) -> BootstrapError {
        BootstrapError::Unusable {
            server: self.config.server.clone(),
            what,
        }
    }
}

fn fetching(what: &'static str) -> impl Fn(CaFetchError) -> BootstrapError {
    move |source| BootstrapError::Fetch { what, source }
}

/// A random pause of half to one and a half of `pause`, so that machines switched on together do
/// not send their requests together.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::rng().random_range(0.5..=1.5))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
