//! Puppet's ssl directory.
//!
//! The rule that must hold: file names come from a checked certname only
//! ([`Certname`]), and private keys are nobody else's to read.

use std::path::{Path, PathBuf};

use pcp::Certname;
use pki::TlsFiles;
use pki::durable::{self, WriteError};

/// The directory and what is where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslDir(PathBuf);

// === impl SslDir ===

impl SslDir {
    /// The directory `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the files of `certname` are; the revocation list only if it is
    /// there.
    pub fn files(&self, certname: &Certname) -> TlsFiles {
        let file = format!("{certname}.pem");
        TlsFiles {
            cert: self.0.join("certs").join(&file),
            key: self.0.join("private_keys").join(&file),
            ca: self.0.join("certs/ca.pem"),
            crl: Some(self.crl()).filter(|path| path.is_file()),
        }
    }

    /// The revocation list.
    pub fn crl(&self) -> PathBuf {
        self.0.join("crl.pem")
    }

    /// The request that waits to be signed.
    pub fn request(&self, certname: &Certname) -> PathBuf {
        self.0
            .join("certificate_requests")
            .join(format!("{certname}.pem"))
    }

    /// Makes the directories that are missing.
    pub fn create(&self) -> Result<(), WriteError> {
        durable::create_dir(&self.0, 0o771)?;
        for (name, mode) in [
            ("certs", 0o755),
            ("private_keys", 0o750),
            ("certificate_requests", 0o755),
        ] {
            durable::create_dir(&self.0.join(name), mode)?;
        }
        Ok(())
    }
}
