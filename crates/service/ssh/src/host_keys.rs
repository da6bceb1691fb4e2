//! Which host keys are trusted: [`HostKeys`], over a file in the form of OpenSSH's `known_hosts`.
//!
//! The rules: a host for which a key is recorded is that host only with a recorded key; an unknown
//! host is refused, unless the setting says that the first key is believed; a file that cannot be
//! read trusts nobody.

use std::path::PathBuf;
use std::sync::Arc;

use russh::keys::{HashAlg, PublicKey, known_hosts};
use tokio::sync::Mutex;

/// What is done with a host that no line names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostKeyCheck {
    /// It is refused.
    #[default]
    Strict,
    /// Its first key is believed and recorded; a later one must be the same.
    AcceptNew,
}

/// The file and what is done with unknown hosts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HostKeys {
    path: PathBuf,
    check: HostKeyCheck,
    /// One writer at a time.
    writing: Arc<Mutex<()>>,
}

/// Why a host is not believed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HostKeyError {
    /// No line names it.
    #[error(
        "the host key of {host}:{port} is not known ({fingerprint}); compare it with the host's own \
         (ssh-keygen -lf on the host) and add it to {} (ssh-keyscan -p {port} {host} prints the \
         lines)",
        path.display()
    )]
    Unknown {
        /// Who.
        host: String,
        /// Where.
        port: u16,
        /// What it showed.
        fingerprint: String,
        /// The file.
        path: PathBuf,
    },
    /// It shows another key than the recorded ones.
    #[error(
        "the host key of {host}:{port} is not the recorded one: it shows {fingerprint}, and {} has \
         {known}; somebody may sit between, or the host was set up anew. Nothing was sent to it. If \
         the new key is right, replace the host's lines in that file",
        path.display()
    )]
    Changed {
        /// Who.
        host: String,
        /// Where.
        port: u16,
        /// What it showed.
        fingerprint: String,
        /// What is recorded.
        known: String,
        /// The file.
        path: PathBuf,
    },
    /// Somebody marked the key as stolen.
    #[error(
        "the host key {fingerprint} of {host}:{port} is marked @revoked in {}",
        path.display()
    )]
    Revoked {
        /// Who.
        host: String,
        /// Where.
        port: u16,
        /// What it showed.
        fingerprint: String,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("cannot use {}, which says which host keys are trusted: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What is recorded of one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) keys: Vec<PublicKey>,
    /// Of any host, in the form of the file.
    revoked: Vec<String>,
}

// === impl HostKeys ===

impl HostKeys {
    /// A file that need not be there yet.
    pub fn new(path: impl Into<PathBuf>, check: HostKeyCheck) -> Self {
        Self {
            path: path.into(),
            check,
            writing: Arc::default(),
        }
    }

    /// What is recorded of a host.
    pub(crate) async fn recorded(&self, host: &str, port: u16) -> Result<Recorded, HostKeyError> {
        let (path, host) = (self.path.clone(), host.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                // The library takes a file that it may not read for an empty one.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(error.to_string()),
            };
            let keys = known_hosts::known_host_keys_path(&host, port, &path)
                .map_err(|error| format!("a line of {host} cannot be read: {error}"))?;
            let keys = keys.into_iter().map(|(_, key)| key).collect();
            let revoked = revoked(&text);
            Ok(Recorded { keys, revoked })
        });
        read.await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|why| self.unusable(why))
    }

    /// Whether the host that showed `key` is believed to be the one.
    pub(crate) async fn check(
        &self,
        host: &str,
        port: u16,
        recorded: &Recorded,
        key: &PublicKey,
    ) -> Result<(), HostKeyError> {
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        if recorded.is_revoked(key) {
            return Err(HostKeyError::Revoked {
                host: host.to_owned(),
                port,
                fingerprint,
                path: self.path.clone(),
            });
        }
        if recorded.has(key) {
            return Ok(());
        }
        if !recorded.keys.is_empty() {
            return Err(self.changed(host, port, recorded, fingerprint));
        }
        if self.check == HostKeyCheck::AcceptNew {
            return self.learn(host, port, key).await;
        }
        Err(HostKeyError::Unknown {
            host: host.to_owned(),
            port,
            fingerprint,
            path: self.path.clone(),
        })
    }

    /// Writes down the first key of a host; another run may have done so a moment ago.
    async fn learn(&self, host: &str, port: u16, key: &PublicKey) -> Result<(), HostKeyError> {
        let _one = self.writing.lock().await;
        let recorded = self.recorded(host, port).await?;
        if recorded.has(key) {
            return Ok(());
        }
        if !recorded.keys.is_empty() {
            let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
            return Err(self.changed(host, port, &recorded, fingerprint));
        }
        let (path, owned, key) = (self.path.clone(), host.to_owned(), key.clone());
        let learnt = tokio::task::spawn_blocking(move || {
            known_hosts::learn_known_hosts_path(&owned, port, &key, &path)
                .map_err(|error| error.to_string())
        });
        learnt
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|why| self.unusable(why))?;
        tracing::info!(
            host,
            port,
            "the first host key of a host is believed and recorded"
        );
        Ok(())
    }

    fn changed(
        &self,
        host: &str,
        port: u16,
        recorded: &Recorded,
        fingerprint: String,
    ) -> HostKeyError {
        let known = recorded.keys.iter();
        let known: Vec<String> = known
            .map(|key| key.fingerprint(HashAlg::Sha256).to_string())
            .collect();
        HostKeyError::Changed {
            host: host.to_owned(),
            port,
            fingerprint,
            known: known.join(", "),
            path: self.path.clone(),
        }
    }

    fn unusable(&self, why: String) -> HostKeyError {
        let path = self.path.clone();
        HostKeyError::File { path, why }
    }
}

// === impl Recorded ===

impl Recorded {
    fn has(&self, key: &PublicKey) -> bool {
        let shown = key.key_data();
        self.keys.iter().any(|known| known.key_data() == shown)
    }

    fn is_revoked(&self, key: &PublicKey) -> bool {
        let Ok(line) = key.to_openssh() else {
            return true;
        };
        let shown = line.split(' ').nth(1);
        self.revoked
            .iter()
            .any(|known| Some(known.as_str()) == shown)
    }
}

/// The keys of all `@revoked` lines. Which hosts they name is left aside: a stolen key is good for
/// no host.
fn revoked(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::split_whitespace);
    lines
        .filter_map(|mut words| (words.next()? == "@revoked").then(|| words.nth(2))?)
        .map(str::to_owned)
        .collect()
}
