//! Certificate files of this server, from `[tls]` and `[ca]`: methods of [`Config`]; and those with
//! which it connects to others: [`client_files`].
//!
//! Invariant: revocation is never disabled by omission.

use std::path::{Path, PathBuf};

use pki::TlsFiles;

use super::Config;
use super::tls::TlsSection;

/// No revocation list is configured, and its absence is not stated either.
#[derive(Debug, thiserror::Error)]
#[error(
    "tls.crl is missing, so revoked certificates would be accepted; name the CA's revocation list \
     there, or set tls.no_crl = true if that is meant"
)]
pub(crate) struct NoRevocation;

impl Config {
    /// The files that the server's TLS uses.
    pub(crate) fn tls_files(&self) -> TlsFiles {
        if let Some(tls) = &self.tls {
            return TlsFiles {
                cert: tls.cert.clone(),
                key: tls.key.clone(),
                ca: tls.ca.clone(),
                crl: self.crl_of(tls),
            };
        }
        let ssl = self.data_dir.join("ssl");
        TlsFiles {
            cert: ssl.join("certs").join(format!("{}.pem", self.certname)),
            key: ssl
                .join("private_keys")
                .join(format!("{}.pem", self.certname)),
            ca: ssl.join("certs/ca.pem"),
            crl: Some(if self.ca.enabled {
                self.ca_dir().join("ca_crl.pem")
            } else {
                ssl.join("crl.pem")
            }),
        }
    }

    fn crl_of(&self, tls: &TlsSection) -> Option<PathBuf> {
        let own = || self.ca.enabled.then(|| self.ca_dir().join("ca_crl.pem"));
        match tls.no_crl {
            true => None,
            false => tls.crl.clone().or_else(own),
        }
    }

    /// Check for a program that is not a CA, regardless of `ca.enabled`: `[tls]` must name a list,
    /// or state that there is none.
    pub(crate) fn require_revocation(&self) -> Result<(), NoRevocation> {
        match &self.tls {
            Some(tls) if tls.crl.is_none() && !tls.no_crl => Err(NoRevocation),
            _ => Ok(()),
        }
    }

    /// Logs a warning once, at start.
    pub(crate) fn warn_without_revocation(&self) {
        if self.tls_files().crl.is_none() {
            tracing::warn!(
                "tls.no_crl is set: revoked certificates are accepted; name a list in tls.crl"
            );
        }
    }
}

/// The files with which this server connects to another one: its `own` files except for those
/// that are named.
pub(super) fn client_files(
    own: TlsFiles,
    cacert: Option<&Path>,
    cert: Option<&Path>,
    key: Option<&Path>,
) -> TlsFiles {
    let mut files = own;
    if let Some(cert) = cert {
        cert.clone_into(&mut files.cert);
    }
    if let Some(key) = key {
        key.clone_into(&mut files.key);
    }
    if let Some(ca) = cacert {
        ca.clone_into(&mut files.ca);
        // The list of another CA does not cover this one's certificates.
        files.crl = None;
    }
    files
}
