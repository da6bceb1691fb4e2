//! The four TLS files, and the errors of loading them.

use std::path::{Path, PathBuf};

use rustls_pki_types::CertificateDer;

use crate::pem_file::PemFileError;
use crate::{identity, pem_file};

/// Paths of certificate, key, CA bundle and revocation lists; all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Own certificate, followed by its intermediates.
    pub cert: PathBuf,
    /// Private key of the own certificate.
    pub key: PathBuf,
    /// Certificates of the CAs that may have issued the certificates of peers.
    pub ca: PathBuf,
    /// Revocation lists, one per CA; `None`: no certificate is ever considered revoked.
    pub crl: Option<PathBuf>,
}

impl TlsFiles {
    /// Every name of the own certificate: its common name and its alternative names.
    pub fn own_names(&self) -> Result<Vec<String>, LoadError> {
        let chain = pem_file::certificates(&self.cert)?;
        let Some(leaf) = chain.first() else {
            return Ok(Vec::new());
        };
        identity::names_of(leaf).map_err(|error| certificate_error(&self.cert, 0, error))
    }

    /// The own certificate, without its intermediates.
    pub fn own_certificate(&self) -> Result<CertificateDer<'static>, LoadError> {
        let chain = pem_file::certificates(&self.cert)?;
        chain.into_iter().next().ok_or_else(|| {
            LoadError::File(PemFileError::Missing {
                path: self.cert.clone(),
                wanted: "certificate",
            })
        })
    }

    /// The files to watch for changes.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let own = [&self.cert, &self.key, &self.ca];
        own.into_iter().chain(&self.crl).cloned().collect()
    }
}

/// The error of building TLS settings from the files.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("{cert} and {key} cannot be used together: {source}")]
    Pair {
        cert: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
    #[error("certificate number {number} in {path} cannot be used: {what}")]
    Certificate {
        path: PathBuf,
        number: usize,
        what: String,
    },
    #[error("{path} holds no CA certificate that is still trusted")]
    NoTrustedCa { path: PathBuf },
    #[error("revocation list number {number} in {path} cannot be used: {what}")]
    Crl {
        path: PathBuf,
        number: usize,
        what: String,
    },
    #[error("the CA certificates in {path} cannot be used to verify peers: {what}")]
    Verifier { path: PathBuf, what: String },
}

pub(super) fn certificate_error(path: &Path, index: usize, what: impl ToString) -> LoadError {
    LoadError::Certificate {
        path: path.to_owned(),
        number: index + 1,
        what: what.to_string(),
    }
}

pub(super) fn crl_error(path: &Path, index: usize, what: impl ToString) -> LoadError {
    LoadError::Crl {
        path: path.to_owned(),
        number: index + 1,
        what: what.to_string(),
    }
}
