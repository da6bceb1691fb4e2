//! Options of signing and generating certificates: [`SignOptions`], [`CertificateUsage`],
//! [`GenerateOptions`].
//!
//! Invariant: by default nothing is signed that a person should inspect first.

use std::time::Duration;

use super::alt_name::AltName;
use crate::key::KeyType;

/// Permissions for signing; by default nothing is signed that a person should inspect first.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignOptions {
    /// Permits subject alternative names in the request.
    pub allow_alt_names: bool,
    /// Permits extensions that grant rights (`pp_auth_role`, `pp_cli_auth`, …).
    pub allow_authorization: bool,
    /// Permits a name that grants rights ([`crate::PrivilegedNames`]).
    pub allow_privileged_names: bool,
    /// Extended key usage of the certificate: client only, or client and server.
    pub usage: CertificateUsage,
    /// Lifetime of the certificate; `None`: five years.
    pub lifetime: Option<Duration>,
}

/// The extended key usage of a certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateUsage {
    /// TLS server and TLS client, as puppetserver signs every certificate.
    #[default]
    ServerAndClient,
    /// TLS client only: for certificates that no person inspected, so that their holders cannot act
    /// as a server.
    Client,
}

// === impl SignOptions ===

impl SignOptions {
    /// Options for requests that are signed without a person's consent.
    pub fn without_consent() -> Self {
        Self {
            usage: CertificateUsage::Client,
            ..Self::default()
        }
    }
}

/// Content of a certificate to generate.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    /// Subject alternative names, in addition to the certname itself.
    pub alt_names: Vec<AltName>,
    /// Algorithm and size of the key to generate.
    pub key_type: KeyType,
    /// Permits the holder to administer this CA over HTTP (`pp_cli_auth`).
    pub ca_administrator: bool,
    /// Lifetime of the certificate; `None`: five years.
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
