//! Refresh of the revocation list from the CA, so that a node without a Puppet agent recognises a
//! revoked broker: [`CrlRefresh`] is the handle of the polling task, [`CrlSource`] makes one
//! request.
//!
//! Invariant: every failure is logged and changes nothing; [`crl_file`](crate::crl_file) decides if
//! an answer is kept.

use std::path::PathBuf;
use std::time::Duration;

use pki::{ClientTls, LoadError, RevokedCertificates, TlsFiles};
use rand::RngExt;
use reqwest::header::HeaderValue;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::bootstrap::{CaClient, CaFetchError, CaUri};
use crate::crl_file::{CrlFile, ReplaceCrlError};
use crate::defaults;
use error_causes::chain;

/// Source of the list and times of the requests.
#[derive(Debug, Clone)]
pub struct CrlConfig {
    /// The CA's HTTP address.
    pub server: CaUri,
    /// CA bundle that the server must match, and the agent's own certificate.
    pub tls: TlsFiles,
    /// Path of the list, which need not exist.
    pub path: PathBuf,
    /// The first request is sent at a random time within this duration.
    pub first_within: Duration,
    /// Time between two requests, jittered by half.
    pub interval: Duration,
}

/// Reason for which the list was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum CrlError {
    /// No list was received.
    #[error("cannot fetch it")]
    Fetch(#[from] CaFetchError),
    /// The agent's own files are unusable.
    #[error("it cannot be used")]
    Load(#[from] LoadError),
    /// The answer is not a usable list, or cannot be written.
    #[error(transparent)]
    Keep(#[from] ReplaceCrlError),
}

/// One file and the CA that it comes from.
#[derive(Debug)]
pub struct CrlSource {
    config: CrlConfig,
    modified: Option<HeaderValue>,
    asked: u32,
}

/// The handle of the task that refreshes the list.
#[derive(Debug)]
pub struct CrlRefresh {
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

// === impl CrlConfig ===

impl CrlConfig {
    /// A configuration with the default times.
    pub fn new(server: CaUri, tls: TlsFiles, path: PathBuf) -> Self {
        Self {
            server,
            tls,
            path,
            first_within: defaults::CRL_FIRST_WITHIN,
            interval: defaults::CRL_INTERVAL,
        }
    }
}

// === impl CrlSource ===

impl CrlSource {
    /// Creates the source; no request is sent yet.
    pub fn new(config: CrlConfig) -> Self {
        Self {
            config,
            modified: None,
            asked: 0,
        }
    }

    /// Sends one request; `true` if there is another list now.
    pub async fn refresh(&mut self) -> Result<bool, CrlError> {
        // The file may have been replaced or lost meanwhile.
        let whole =
            self.asked.is_multiple_of(defaults::CRL_WHOLE_EVERY) || !self.config.path.is_file();
        self.asked = self.asked.wrapping_add(1);
        let since = self.modified.as_ref().filter(|_| !whole);
        // Read at every request: certificates are renewed while agents run.
        let tls = ClientTls::load(&self.tls_files())?;
        let client = CaClient::new(&self.config.server, tls)?;
        // Boxed: the state of an HTTP request is freed between the requests.
        let Some(list) = Box::pin(client.newer_revocation_list(since)).await? else {
            return Ok(false);
        };
        let changed = self.replace_file(&list.pem)?;
        // Set only now: a list that could not be kept is requested again.
        self.modified = list.modified;
        Ok(changed)
    }

    /// The TLS files; a missing or damaged list must not prevent the fetch of another.
    fn tls_files(&self) -> TlsFiles {
        let path = &self.config.path;
        let is_usable = RevokedCertificates::read(&self.config.tls.ca, path).is_ok();
        TlsFiles {
            crl: is_usable.then(|| path.clone()),
            ..self.config.tls.clone()
        }
    }

    fn replace_file(&self, pem: &str) -> Result<bool, CrlError> {
        let file = CrlFile {
            ca: &self.config.tls.ca,
            path: &self.config.path,
        };
        Ok(file.replace(pem)?)
    }
}

// === impl CrlRefresh ===

impl CrlRefresh {
    /// Starts the refresh, and notifies `changed` of every new list.
    pub fn start(source: CrlSource, changed: watch::Sender<()>) -> Self {
        let cancel = CancellationToken::new();
        let asking = refresh_forever(source, changed);
        let stop = cancel.clone();
        let task = tokio::spawn(async move {
            // A request may be cancelled at any point: files are replaced whole.
            stop.run_until_cancelled(asking).await;
        });
        Self { cancel, task }
    }

    /// Ends the task, at the latest at `deadline`.
    pub async fn shutdown(mut self, deadline: Duration) {
        self.cancel.cancel();
        if timeout(deadline, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for CrlRefresh {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}

async fn refresh_forever(mut source: CrlSource, changed: watch::Sender<()>) {
    let first_within = source.config.first_within;
    let first = first_within.mul_f64(rand::rng().random_range(0.0..=1.0));
    sleep(first).await;
    loop {
        match source.refresh().await {
            Ok(true) => {
                changed.send_replace(());
            }
            Ok(false) => {}
            Err(error) => warn_about(&error, &source.config.server),
        }
        let interval = source.config.interval;
        let pause = interval.mul_f64(rand::rng().random_range(0.5..=1.5));
        sleep(pause).await;
    }
}

/// Logs that a list was not replaced, with the consequence.
pub(crate) fn warn_about(error: &CrlError, server: &CaUri) {
    tracing::warn!(
        error = %chain(error),
        "no newer revocation list from {server}; revocations since the last one are not known"
    );
}
