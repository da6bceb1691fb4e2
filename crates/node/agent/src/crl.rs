//! Keeps the revocation list as new as the CA's, so that a node without a
//! Puppet agent learns of a revoked broker: [`CrlRefresh`] is the handle of the
//! task that asks, [`CrlSource`] one question.
//!
//! The rule that must hold: every failure is logged and changes nothing; what is
//! kept of the answers, [`crl_file`](crate::crl_file) decides.

use std::path::PathBuf;
use std::time::Duration;

use pki::{ClientTls, LoadError, Revocations, TlsFiles};
use rand::RngExt;
use reqwest::header::HeaderValue;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::bootstrap::{CaClient, CaUri, FetchError};
use crate::crl_file::{CrlFile, KeepError};
use crate::defaults;
use error_causes::chain;

/// Where the list comes from and when.
#[derive(Debug, Clone)]
pub struct CrlConfig {
    /// The CA's HTTP address.
    pub server: CaUri,
    /// Whom we trust to be that CA, and who we are.
    pub tls: TlsFiles,
    /// The file to keep, which need not exist.
    pub path: PathBuf,
    /// The first question comes at a random time within.
    pub first_within: Duration,
    /// From one question to the next, jittered by half.
    pub interval: Duration,
}

/// Why the list was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum CrlError {
    /// No list came.
    #[error("cannot fetch it")]
    Fetch(#[from] FetchError),
    /// Our own files are unusable.
    #[error("it cannot be used")]
    Load(#[from] LoadError),
    /// The answer is not what it should be, or cannot be written.
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// One file and the CA that it comes from.
#[derive(Debug)]
pub struct CrlSource {
    config: CrlConfig,
    modified: Option<HeaderValue>,
    asked: u32,
}

/// The handle of the task that keeps the list.
#[derive(Debug)]
pub struct CrlRefresh {
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

// === impl CrlConfig ===

impl CrlConfig {
    /// With the usual times.
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
    /// Nothing is asked yet.
    pub fn new(config: CrlConfig) -> Self {
        Self {
            config,
            modified: None,
            asked: 0,
        }
    }

    /// Asks once; `true` when there is another list now.
    pub async fn refresh(&mut self) -> Result<bool, CrlError> {
        // The file may have been replaced or lost behind our back.
        let whole =
            self.asked.is_multiple_of(defaults::CRL_WHOLE_EVERY) || !self.config.path.is_file();
        self.asked = self.asked.wrapping_add(1);
        let since = self.modified.as_ref().filter(|_| !whole);
        // Read at every question: certificates are renewed while agents run.
        let tls = ClientTls::load(&self.tls_files())?;
        let client = CaClient::new(&self.config.server, tls)?;
        // Boxed: what an HTTP request needs is gone between the questions.
        let Some(list) = Box::pin(client.newer_revocation_list(since)).await? else {
            return Ok(false);
        };
        let changed = self.keep(&list.pem)?;
        // Only now: a list that could not be kept is asked for again.
        self.modified = list.modified;
        Ok(changed)
    }

    /// A list that is missing or damaged must not keep us from another.
    fn tls_files(&self) -> TlsFiles {
        let path = &self.config.path;
        let is_usable = Revocations::read(&self.config.tls.ca, path).is_ok();
        TlsFiles {
            crl: is_usable.then(|| path.clone()),
            ..self.config.tls.clone()
        }
    }

    fn keep(&self, pem: &str) -> Result<bool, CrlError> {
        let file = CrlFile {
            ca: &self.config.tls.ca,
            path: &self.config.path,
        };
        Ok(file.replace(pem)?)
    }
}

// === impl CrlRefresh ===

impl CrlRefresh {
    /// Asks from now on, and tells `changed` of every other list.
    pub fn start(source: CrlSource, changed: watch::Sender<()>) -> Self {
        let cancel = CancellationToken::new();
        let asking = ask_for_ever(source, changed);
        let stop = cancel.clone();
        let task = tokio::spawn(async move {
            // A question may be dropped half-way: files are replaced whole.
            stop.run_until_cancelled(asking).await;
        });
        Self { cancel, task }
    }

    /// Ends the task; cuts it short at `deadline`.
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

async fn ask_for_ever(mut source: CrlSource, changed: watch::Sender<()>) {
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

/// Says that a list was not replaced, and what that means.
pub(crate) fn warn_about(error: &CrlError, server: &CaUri) {
    tracing::warn!(
        error = %chain(error),
        "no newer revocation list from {server}; revocations since the last one are not known"
    );
}
