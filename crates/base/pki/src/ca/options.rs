//! Options of signing and generating certificates: [`SignOptions`], [`CertificateUsage`],
//! [`GenerateOptions`].
//!
//! The rule: by default nothing is signed that a person should look at first.

use std::time::Duration;

use super::alt_name::AltName;
use crate::key::KeyType;

/// What may be signed; by default nothing that a person should look at first.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignOptions {
    /// Sign subject alternative names that the request asks for.
    pub allow_alt_names: bool,
    /// Sign extensions that grant rights (`pp_auth_role`, `pp_cli_auth`, …).
    pub allow_authorization: bool,
    /// Sign a name that grants rights ([`crate::PrivilegedNames`]).
    pub allow_privileged_names: bool,
    /// Extended key usage of the certificate: client only, or client and server.
    pub usage: CertificateUsage,
    /// Lifetime of the certificate; the default is five years.
    pub lifetime: Option<Duration>,
}

/// The extended key usage of a certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateUsage {
    /// TLS server and TLS client, as puppetserver signs every certificate.
    #[default]
    ServerAndClient,
    /// TLS client only: for certificates that no person looked at, so that their holders cannot
    /// pose as a server.
    Client,
}

// === impl SignOptions ===

impl SignOptions {
    /// For requests that are signed without a person's consent.
    pub fn unasked() -> Self {
        Self {
            usage: CertificateUsage::Client,
            ..Self::default()
        }
    }
}

/// What to generate.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    pub alt_names: Vec<AltName>,
    pub key_type: KeyType,
    /// Let the holder administer this CA over HTTP (`pp_cli_auth`).
    pub ca_administrator: bool,
    /// Lifetime of the certificate; the default is five years.
    pub lifetime: Option<Duration>,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            alt_names: Vec::new(),
            key_type: KeyType::EcP256,
            ca_administrator: false,
            lifetime: None,
        }
    }
}
