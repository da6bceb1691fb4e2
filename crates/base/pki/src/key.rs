//! Key pairs: generation, and parsing of keys from other tools.

use std::path::Path;

use rcgen::{KeyPair, PublicKeyData, RsaKeySize, SignatureAlgorithm};
use rustls_pki_types::PrivateKeyDer;
use zeroize::Zeroizing;

use crate::pem_file::{self, PemFileError};

/// The algorithm and size of a key to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// ECDSA on P-256: the default for the server's own key, since an RSA-4096 signature costs ten
    /// times as much in every handshake.
    EcP256,
    /// RSA with 4,096 bits, Puppet's default.
    Rsa4096,
    /// RSA with 2,048 bits, for peers that require RSA if speed matters.
    Rsa2048,
}

/// The error of generating or using a key.
#[derive(Debug, thiserror::Error)]
pub enum PrivateKeyError {
    #[error("cannot make a key: {0}")]
    Generate(#[source] rcgen::Error),
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("the private key in {path} is none of RSA, P-256, P-384, P-521, Ed25519")]
    Unsupported { path: std::path::PathBuf },
}

/// Generates a key pair.
pub fn generate(key_type: KeyType) -> Result<KeyPair, PrivateKeyError> {
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    match key_type {
        KeyType::EcP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyType::Rsa4096 => rsa(RsaKeySize::_4096),
        KeyType::Rsa2048 => rsa(RsaKeySize::_2048),
    }
    .map_err(PrivateKeyError::Generate)
}

/// Reads a private key in PKCS#8, PKCS#1 (as puppetserver writes) or SEC1 form.
pub fn read(path: &Path) -> Result<KeyPair, PrivateKeyError> {
    let der = Zeroizing::new(pem_file::private_key(path)?);
    from_der(&der).ok_or_else(|| PrivateKeyError::Unsupported {
        path: path.to_owned(),
    })
}

/// Parses a key in DER by trying the algorithms in turn: a DER key has no single field that names
/// its algorithm. (`KeyPair::try_from` omits P-384.)
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

/// SHA-1 of the public key bits: the subject key identifier as OpenSSL, Ruby and the JVM compute it
/// (RFC 5280 §4.2.1.2, method 1). It only identifies the key and need not be secure.
pub(crate) fn identifier(key: &impl PublicKeyData) -> Vec<u8> {
    aws_lc_rs::digest::digest(
        &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY,
        key.der_bytes(),
    )
    .as_ref()
    .to_vec()
}
