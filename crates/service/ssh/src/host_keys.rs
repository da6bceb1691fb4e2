//! Trusted SSH host keys, [`HostKeys`], from a file in the format of OpenSSH's `known_hosts`.
//!
//! Invariants: a host with recorded keys is accepted only with one of them; an unknown host is
//! refused, unless the setting is to accept its first key; if the file cannot be read, no host is
//! trusted.

use std::path::PathBuf;
use std::sync::Arc;

use russh::keys::{HashAlg, PublicKey, known_hosts};
use tokio::sync::Mutex;

/// The treatment of a host that no line names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostKeyCheck {
    /// The host is refused.
    #[default]
    Strict,
    /// The first key of the host is accepted and recorded; a later one must be the same.
    AcceptNew,
}

/// The file of host keys and the treatment of unknown hosts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HostKeys {
    path: PathBuf,
    check: HostKeyCheck,
    /// Lock that allows one writer at a time.
    writing: Arc<Mutex<()>>,
}

/// The reason a host is not trusted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HostKeyError {
    /// No line of the file names the host.
    #[error(
        "the host key of {host}:{port} is not known ({fingerprint}); compare it with the host's own \
         (ssh-keygen -lf on the host) and add it to {} (ssh-keyscan -p {port} {host} prints the \
         lines)",
        path.display()
    )]
    Unknown {
        /// The host name or address.
        host: String,
        /// The TCP port.
        port: u16,
        /// The fingerprint of the key that the host presented.
        fingerprint: String,
        /// The path of the file of host keys.
        path: PathBuf,
    },
    /// The host presented a key other than the recorded ones.
    #[error(
        "the host key of {host}:{port} is not the recorded one: it shows {fingerprint}, and {} has \
         {known}; another machine may intercept the connection, or the host was set up anew. \
         Nothing was sent to it. If the new key is right, replace the host's lines in that file",
        path.display()
    )]
    Changed {
        /// The host name or address.
        host: String,
        /// The TCP port.
        port: u16,
        /// The fingerprint of the key that the host presented.
        fingerprint: String,
        /// The recorded keys of the host.
        known: String,
        /// The path of the file of host keys.
        path: PathBuf,
    },
    /// The key is marked `@revoked` in the file.
    #[error(
        "the host key {fingerprint} of {host}:{port} is marked @revoked in {}",
        path.display()
    )]
    Revoked {
        /// The host name or address.
        host: String,
        /// The TCP port.
        port: u16,
        /// The fingerprint of the key that the host presented.
        fingerprint: String,
        /// The path of the file of host keys.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("cannot use {}, which says which host keys are trusted: {why}", path.display())]
    File {
        /// The path of the file of host keys.
        path: PathBuf,
        /// The reason the file cannot be used.
        why: String,
    },
}

/// The recorded keys of one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownHostKeys {
    pub(crate) keys: Vec<PublicKey>,
    /// Revoked keys of any host, in the format of the file.
    revoked: Vec<String>,
}

// === impl HostKeys ===

impl HostKeys {
    /// Creates the check for a file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>, check: HostKeyCheck) -> Self {
        Self {
            path: path.into(),
            check,
            writing: Arc::default(),
        }
    }

    /// Reads the recorded keys of a host.
    pub(crate) async fn read_known(
        &self,
        host: &str,
        port: u16,
    ) -> Result<KnownHostKeys, HostKeyError> {
        let (path, host) = (self.path.clone(), host.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                // The library treats a file without read permission as empty.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(error.to_string()),
            };
            let keys = known_hosts::known_host_keys_path(&host, port, &path)
                .map_err(|error| format!("a line of {host} cannot be read: {error}"))?;
            let keys = keys.into_iter().map(|(_, key)| key).collect();
            let revoked = revoked(&text);
            Ok(KnownHostKeys { keys, revoked })
        });
        read.await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|why| self.unusable_error(why))
    }

    /// Checks that the host that presented `key` is trusted.
    pub(crate) async fn check(
        &self,
        host: &str,
        port: u16,
        recorded: &KnownHostKeys,
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
            return Err(self.changed_key_error(host, port, recorded, fingerprint));
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

    /// Records the first key of a host, unless a concurrent run has recorded it meanwhile.
    async fn learn(&self, host: &str, port: u16, key: &PublicKey) -> Result<(), HostKeyError> {
        let _one = self.writing.lock().await;
        let recorded = self.read_known(host, port).await?;
        if recorded.has(key) {
            return Ok(());
        }
        if !recorded.keys.is_empty() {
            let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
            return Err(self.changed_key_error(host, port, &recorded, fingerprint));
        }
        let (path, owned, key) = (self.path.clone(), host.to_owned(), key.clone());
        let learnt = tokio::task::spawn_blocking(move || {
            known_hosts::learn_known_hosts_path(&owned, port, &key, &path)
                .map_err(|error| error.to_string())
        });
        learnt
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|why| self.unusable_error(why))?;
        tracing::info!(
            host,
            port,
            "the first host key of a host is believed and recorded"
        );
        Ok(())
    }

    fn changed_key_error(
        &self,
        host: &str,
        port: u16,
        recorded: &KnownHostKeys,
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

    fn unusable_error(&self, why: String) -> HostKeyError {
        let path = self.path.clone();
        HostKeyError::File { path, why }
    }
}

// === impl KnownHostKeys ===

impl KnownHostKeys {
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

/// The keys of all `@revoked` lines, regardless of their hosts: a stolen key is trusted for no
/// host.
fn revoked(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::split_whitespace);
    lines
        .filter_map(|mut words| (words.next()? == "@revoked").then(|| words.nth(2))?)
        .map(str::to_owned)
        .collect()
}
