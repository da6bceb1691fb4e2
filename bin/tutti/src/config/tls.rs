//! `[tls]` of `tutti.toml`: [`TlsSection`].

use std::path::{Path, PathBuf};

use pki::TlsFiles;
use serde::Deserialize;

/// Certificate files, in Puppet's layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsSection {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub ca: PathBuf,
    /// `<ca_dir>/ca_crl.pem` if absent on a server that is the CA.
    pub crl: Option<PathBuf>,
    /// Accept revoked certificates. Explicit, because a missing list would go unnoticed.
    #[serde(default)]
    pub no_crl: bool,
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
