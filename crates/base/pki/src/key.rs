//! Key pairs: making them, and reading what other tools made.

use std::path::Path;

use rcgen::{KeyPair, PublicKeyData, RsaKeySize, SignatureAlgorithm};
use rustls_pki_types::PrivateKeyDer;

use crate::pem_file::{self, PemFileError};

/// What kind of key to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// ECDSA on P-256: the server's own key by default, since an RSA-4096
    /// signature costs ten times as much in every handshake.
    EcP256,
    /// What Puppet makes by default.
    Rsa4096,
    /// For peers that ask for RSA but where time matters.
    Rsa2048,
}

/// A key could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot make a key: {0}")]
    Generate(#[source] rcgen::Error),
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("the private key in {path} is none of RSA, P-256, P-384, P-521, Ed25519")]
    Unsupported { path: std::path::PathBuf },
}

/// Makes a key pair.
pub fn generate(key_type: KeyType) -> Result<KeyPair, KeyError> {
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    match key_type {
        KeyType::EcP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyType::Rsa4096 => rsa(RsaKeySize::_4096),
        KeyType::Rsa2048 => rsa(RsaKeySize::_2048),
    }
    .map_err(KeyError::Generate)
}

/// Reads a private key in PKCS#8, PKCS#1 (as puppetserver writes) or SEC1 form.
pub fn read(path: &Path) -> Result<KeyPair, KeyError> {
    from_der(&pem_file::private_key(path)?).ok_or_else(|| KeyError::Unsupported {
        path: path.to_owned(),
    })
}

/// The algorithms are tried in turn: a DER key does not say in one place which
/// it is. (`KeyPair::try_from` leaves out P-384.)
pub(crate) fn from_der(der: &PrivateKeyDer<'_>) -> Option<KeyPair> {
    const ALGORITHMS: [&SignatureAlgorithm; 5] = [
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
    ];
    ALGORITHMS
        .into_iter()
        .find_map(|algorithm| KeyPair::from_der_and_sign_algo(der, algorithm).ok())
}

/// SHA-1 of the public key bits: the subject key identifier as OpenSSL, Ruby and
/// the JVM compute it (RFC 5280 §4.2.1.2, method 1). It names, it does not protect.
pub(crate) fn identifier(key: &impl PublicKeyData) -> Vec<u8> {
    aws_lc_rs::digest::digest(
        &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY,
        key.der_bytes(),
    )
    .as_ref()
    .to_vec()
}
