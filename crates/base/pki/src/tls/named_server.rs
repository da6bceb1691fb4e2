//! Verification of a server's chain with another rule for its name: [`NamedServerVerifier`].
//!
//! Invariant: chain, validity, revocation and signatures are always verified by webpki; only the
//! check of the name is stricter or omitted.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::certnames::ServerCertnames;

/// Names that a server's certificate may carry.
#[derive(Debug)]
pub(super) enum NameRule {
    /// The host name used to connect, and a common name that is one of these.
    Certnames(ServerCertnames),
    /// Any name.
    Any,
}

/// Verifies a server's certificate with webpki and a [`NameRule`].
#[derive(Debug)]
pub(super) struct NamedServerVerifier {
    webpki: Arc<WebPkiServerVerifier>,
    rule: NameRule,
}

// === impl NameRule ===

impl NameRule {
    /// Checks the name of a leaf certificate, given webpki's result for it.
    fn check_name(
        &self,
        leaf: &CertificateDer<'_>,
        host: &ServerName<'_>,
        verified: Result<ServerCertVerified, rustls::Error>,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match (self, verified) {
            (Self::Certnames(certnames), Ok(verified)) => {
                let checked = certnames.check(leaf, &host.to_str());
                checked.map(|()| verified).map_err(|unexpected| {
                    let error = CertificateError::Other(OtherError(Arc::new(unexpected)));
                    rustls::Error::InvalidCertificate(error)
                })
            }
            // webpki checks the name last: all other checks have passed.
            (
                Self::Any,
                Err(rustls::Error::InvalidCertificate(
                    NotValidForName | NotValidForNameContext { .. },
                )),
            ) => Ok(ServerCertVerified::assertion()),
            (_, verified) => verified,
        }
    }
}

// === impl NamedServerVerifier ===

impl NamedServerVerifier {
    pub(super) fn new(webpki: Arc<WebPkiServerVerifier>, rule: NameRule) -> Self {
        Self { webpki, rule }
    }
}

impl ServerCertVerifier for NamedServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.webpki.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        self.rule.check_name(end_entity, server_name, verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}
