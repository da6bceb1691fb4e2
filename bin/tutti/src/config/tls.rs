//! `[tls]` of `tutti.toml`: [`TlsSection`].

use std::path::PathBuf;

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
