//! Private keys of users.
//!
//! The rule: a key that cannot be used is refused when it is given, with a reason and without a
//! byte of it.

use std::sync::Arc;

use russh::keys::{PrivateKey, decode_secret_key};
use secrecy::{ExposeSecret, SecretString};

/// Reads a key in OpenSSH's, PKCS#8's or SEC1's form.
pub(crate) fn parse(text: &SecretString) -> Result<Arc<PrivateKey>, String> {
    let text = text.expose_secret();
    // The library's errors are not passed on: they might quote what they could not read.
    let key = decode_secret_key(text, None).map_err(|_| why_unreadable(text))?;
    if key.is_encrypted() {
        return Err(ENCRYPTED.to_owned());
    }
    if key.algorithm().is_rsa() {
        return Err(RSA.to_owned());
    }
    Ok(Arc::new(key))
}

const ENCRYPTED: &str =
    "is protected by a passphrase; store it without one (`ssh-keygen -p`), it is sealed here";
const RSA: &str = "is an RSA key, which is not supported; use an Ed25519 or ECDSA key";

fn why_unreadable(text: &str) -> String {
    let why = if text.contains("ENCRYPTED") {
        ENCRYPTED
    } else if text.contains("BEGIN RSA") {
        RSA
    } else {
        "is no private key in the form of OpenSSH or PKCS#8 (it begins with -----BEGIN)"
    };
    why.to_owned()
}
