//! The node's revocation list and its replacement: [`CrlFile`].
//!
//! Invariant: the list on the disk is replaced, whole, only by one that its CA has signed and that
//! covers no fewer CAs.

use std::path::{Path, PathBuf};

use pki::durable::{self, DurableWriteError};
use pki::{LoadError, RevokedCertificates};

/// One list and the bundle of CAs that may sign it.
#[derive(Debug)]
pub(crate) struct CrlFile<'a> {
    pub(crate) ca: &'a Path,
    /// Path of the list, which need not exist.
    pub(crate) path: &'a Path,
}

/// Reason for which a list was not kept.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceCrlError {
    /// It is not a list of this CA, or the agent's own files are unusable.
    #[error("it cannot be used")]
    Load(#[from] LoadError),
    /// It is a list of a CA that is not trusted.
    #[error("it is no list of a CA in '{ca}'")]
    Foreign {
        /// Path of the CA bundle.
        ca: PathBuf,
    },
    /// It lacks the list of a CA, so peers that are accepted now would be refused.
    #[error("a CA that the present file has a list of has none in it")]
    Fewer,
    /// The file cannot be written.
    #[error("cannot write it")]
    Write(#[from] DurableWriteError),
}

// === impl CrlFile ===

impl CrlFile<'_> {
    /// Keeps this list instead of the present one; `false` if they are the same.
    pub(crate) fn replace(&self, pem: &str) -> Result<bool, ReplaceCrlError> {
        if std::fs::read(self.path).is_ok_and(|present| present == pem.as_bytes()) {
            return Ok(false);
        }
        // Checked beside its final path, so that a wrong one is never found there.
        let mut trial = self.path.as_os_str().to_owned();
        trial.push(".new");
        let trial = PathBuf::from(trial);
        durable::write_atomic(&trial, pem.as_bytes(), 0o644)?;
        let verdict = self.verify(&trial);
        durable::remove(&trial)?;
        let revoked = verdict?.len();
        durable::write_atomic(self.path, pem.as_bytes(), 0o644)?;
        tracing::info!(file = %self.path.display(), revoked, "wrote a newer revocation list");
        Ok(true)
    }

    fn verify(&self, trial: &Path) -> Result<RevokedCertificates, ReplaceCrlError> {
        let new = RevokedCertificates::read(self.ca, trial)?;
        if new.has_no_list() {
            return Err(ReplaceCrlError::Foreign {
                ca: self.ca.to_owned(),
            });
        }
        // Any list is better than a file that cannot be read.
        match RevokedCertificates::read(self.ca, self.path) {
            Ok(present) if !new.covers(&present) => Err(ReplaceCrlError::Fewer),
            _ => Ok(new),
        }
    }
}
