//! Signing with the private key of a GitHub App: [`sign_app_jwt`] returns a JSON Web Token.
//!
//! Invariant: the key is read when it is needed, is in memory only then, and is in no message.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::defaults::GITHUB_CLOCKS;

/// The error of signing for an App.
#[derive(Debug, thiserror::Error)]
pub enum AppKeyError {
    /// The key file cannot be read.
    #[error("cannot read its private key {}: {source}", path.display())]
    Read {
        /// Path of the key file.
        path: PathBuf,
        /// The error of the read.
        source: std::io::Error,
    },
    /// The file does not contain a suitable key.
    #[error(
        "{} is no private key of RSA with 2048 bits or more, in PEM, as GitHub makes them for Apps",
        .0.display()
    )]
    NotRsa(PathBuf),
}

/// Signs a short-lived JWT that authenticates as the GitHub App.
pub(super) async fn sign_app_jwt(
    id: &str,
    path: &Path,
    ttl: Duration,
) -> Result<SecretString, AppKeyError> {
    let read = tokio::fs::read_to_string(path).await;
    let pem = read.map_err(|source| AppKeyError::Read {
        path: path.to_owned(),
        source,
    })?;
    let pem = SecretString::from(pem);
    let key = parse_key(&pem).ok_or_else(|| AppKeyError::NotRsa(path.to_owned()))?;
    let now = Timestamp::now().as_second();
    let (issued, end) = (now - seconds(GITHUB_CLOCKS), now + seconds(ttl));
    let header = json!({"alg": "RS256", "typ": "JWT"});
    let claims = json!({"iat": issued, "exp": end, "iss": id});
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text.as_bytes(),
        &mut signature,
    )
    .map_err(|_| AppKeyError::NotRsa(path.to_owned()))?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)).into())
}

fn parse_key(pem: &SecretString) -> Option<RsaKeyPair> {
    match PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).ok()? {
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()).ok(),
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        _ => None,
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
