//! TLS of clients whose servers have no certificate of Puppet's CA: [`ClientTls::machine_roots`]
//! and [`ClientTls::pem_roots`].

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::client::{ClientTls, builder};

/// The error for certificates of trusted CAs that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// The machine has no usable list of CAs.
    #[error(
        "this machine's list of CAs cannot be read; install ca-certificates, or name a file with the CA"
    )]
    Machine,
    /// A certificate is not valid PEM. Holds its number in the text, counted from 1.
    #[error("certificate {0} of the CA is not PEM")]
    NotPem(usize),
    /// A certificate cannot be a trust anchor. Holds its number in the text, counted from 1.
    #[error("certificate {0} of the CA is no X.509 certificate that can be trusted")]
    NotTrustable(usize),
    /// The text contains no certificate.
    #[error("there is no certificate of a CA in PEM")]
    Empty,
}

impl ClientTls {
    /// Trusts the CAs of the machine; presents no client certificate.
    pub fn machine_roots() -> Result<Arc<ClientConfig>, RootsError> {
        let builder = builder().with_platform_verifier().map_err(|error| {
            tracing::debug!(%error, "the CAs of the machine cannot be used");
            RootsError::Machine
        })?;
        Ok(Arc::new(builder.with_no_client_auth()))
    }

    /// Trusts the CAs in this text; presents no client certificate.
    pub fn pem_roots(pem: &str) -> Result<Arc<ClientConfig>, RootsError> {
        let mut roots = RootCertStore::empty();
        for (index, certificate) in CertificateDer::pem_slice_iter(pem.as_bytes()).enumerate() {
            let number = index + 1;
            let certificate = certificate.map_err(|error| {
                tracing::debug!(%error, number, "a certificate of a CA is not PEM");
                RootsError::NotPem(number)
            })?;
            roots.add(certificate).map_err(|error| {
                tracing::debug!(%error, number, "a certificate of a CA cannot be used");
                RootsError::NotTrustable(number)
            })?;
        }
        if roots.is_empty() {
            return Err(RootsError::Empty);
        }
        let builder = builder().with_root_certificates(roots);
        Ok(Arc::new(builder.with_no_client_auth()))
    }
}
