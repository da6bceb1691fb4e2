//! Puppet's ssl directory.
//!
//! Invariants: file names are built only from a checked certname ([`Certname`]), and private keys
//! are readable only by their owner.

use std::path::{Path, PathBuf};

use pcp::Certname;
use pki::TlsFiles;
use pki::durable::{self, DurableWriteError};

/// The ssl directory and the paths in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslDir(PathBuf);

// === impl SslDir ===

impl SslDir {
    /// Uses the directory `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Paths of the files of `certname`; the revocation list only if it exists.
    pub fn files(&self, certname: &Certname) -> TlsFiles {
        let file = format!("{certname}.pem");
        TlsFiles {
            cert: self.0.join("certs").join(&file),
            key: self.0.join("private_keys").join(&file),
            ca: self.0.join("certs/ca.pem"),
            crl: Some(self.crl()).filter(|path| path.is_file()),
        }
    }

    /// Path of the revocation list.
    pub fn crl(&self) -> PathBuf {
        self.0.join("crl.pem")
    }

    /// Path of the certificate request that waits to be signed.
    pub fn request(&self, certname: &Certname) -> PathBuf {
        self.0
            .join("certificate_requests")
            .join(format!("{certname}.pem"))
    }

    /// Creates the directories that are missing.
    pub fn create(&self) -> Result<(), DurableWriteError> {
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
