//! Reasons that a certificate request is refused: [`CsrError`].

use crate::defaults::MAX_CSR_BYTES;
use crate::identity::IdentityError;

/// The error for a request that is refused.
#[derive(Debug, thiserror::Error)]
pub enum CsrError {
    #[error("the request is larger than {MAX_CSR_BYTES} bytes")]
    TooLarge,
    #[error("not a certificate request in PEM")]
    NotPem,
    #[error("the certificate request is malformed")]
    Malformed,
    #[error("the signature of the certificate request does not match its key")]
    BadSignature,
    #[error("certificate request: {0}")]
    Subject(#[from] IdentityError),
    #[error("the key of the certificate request is none of RSA, P-256, P-384, P-521, Ed25519")]
    UnsupportedKey,
    #[error("the RSA key of the certificate request has {0} bits; at least 2048 are needed")]
    WeakKey(usize),
    #[error("the certificate request asks for extension {0}, which is not permitted")]
    ForbiddenExtension(String),
    #[error(
        "the certificate request has a subject alternative name that is neither an ASCII host name \
         nor an IP address"
    )]
    UnsupportedAltName,
}
