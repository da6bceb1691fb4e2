//! Who a server must be, beside the host that it was reached under: [`ServerCertnames`].
//!
//! The rule: a subject alternative name says where a server may be reached, the common name says who
//! it is. A node whose certificate has the server's host name among its alternative names is still
//! that node.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::identity;

/// The certnames that a server's certificate may carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ServerCertnames {
    /// The host that it was reached under, in any case.
    #[default]
    Host,
    /// One of these, byte by byte.
    Listed(Vec<String>),
    /// Any certname: the host name alone is checked.
    Any,
}

/// A server is not the one that was to be reached.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("its certificate is that of {found}, not that of {expected}")]
pub struct UnexpectedCertname {
    found: String,
    expected: String,
}

// === impl ServerCertnames ===

impl ServerCertnames {
    /// From a list in a configuration: absent or empty means the host, `*` any name.
    pub fn from_list(names: &[String]) -> Self {
        match names {
            [] => Self::Host,
            names if names.iter().any(|name| name == "*") => Self::Any,
            names => Self::Listed(names.to_vec()),
        }
    }

    /// Checks the verified leaf certificate (DER) of a server that was reached under `host`.
    fn check(&self, leaf: &[u8], host: &str) -> Result<(), UnexpectedCertname> {
        let found = identity::certname_of(leaf);
        let expected = match self {
            Self::Any => return Ok(()),
            Self::Host => host.strip_suffix('.').unwrap_or(host).to_owned(),
            Self::Listed(names) => names.join(" or "),
        };
        let is_expected = |certname: &String| match self {
            Self::Any => true,
            Self::Host => certname.eq_ignore_ascii_case(&expected),
            Self::Listed(names) => names.contains(certname),
        };
        match found {
            Ok(certname) if is_expected(&certname) => Ok(()),
            Ok(found) => Err(UnexpectedCertname { found, expected }),
            Err(error) => Err(UnexpectedCertname {
                found: format!("no single name ({error})"),
                expected,
            }),
        }
    }
}

// === impl UnexpectedCertname ===

impl UnexpectedCertname {
    /// The cause of a failed handshake, if it is this one.
    pub fn of_handshake(error: &std::io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        match error {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => {
                cause.downcast_ref::<Self>().cloned()
            }
            _ => None,
        }
    }
}

// rustls shows errors that it does not know by Debug.
impl fmt::Debug for UnexpectedCertname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Verifies chain, host name and revocation, and then the certname.
#[derive(Debug)]
pub(super) struct CertnameVerifier {
    pub(super) inner: Arc<WebPkiServerVerifier>,
    pub(super) certnames: ServerCertnames,
}

impl ServerCertVerifier for CertnameVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        match self.certnames.check(end_entity, &server_name.to_str()) {
            Ok(()) => Ok(verified),
            Err(unexpected) => {
                let error = CertificateError::Other(OtherError(Arc::new(unexpected)));
                Err(rustls::Error::InvalidCertificate(error))
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
