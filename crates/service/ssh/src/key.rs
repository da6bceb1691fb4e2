//! Private keys for logins. Main type: [`UserKey`].
//!
//! Invariant: an unusable key is refused when it is stored, with a reason that contains no byte of
//! it.

use std::sync::Arc;

use russh::keys::{PrivateKey, decode_secret_key};
use secrecy::{ExposeSecret, SecretString};

use crate::rsa::RsaKey;

/// A usable private key.
pub(crate) enum UserKey {
    /// Ed25519 or ECDSA; russh signs with it.
    Curve(Arc<PrivateKey>),
    Rsa(Box<RsaKey>),
}

/// Parses a key in the format of OpenSSH, PKCS#1, PKCS#8 or SEC1.
pub(crate) fn parse(text: &SecretString) -> Result<UserKey, String> {
    let text = text.expose_secret();
    if let Some(key) = RsaKey::from_pem(text) {
        return Ok(UserKey::Rsa(Box::new(key?)));
    }
    // The library's errors are not passed on: they might quote the key.
    let key = decode_secret_key(text, None).map_err(|_| why_unreadable(text))?;
    if key.is_encrypted() {
        return Err(ENCRYPTED.to_owned());
    }
    if let Some(key) = RsaKey::from_openssh(&key) {
        return Ok(UserKey::Rsa(Box::new(key?)));
    }
    Ok(UserKey::Curve(Arc::new(key)))
}

const ENCRYPTED: &str =
    "is protected by a passphrase; store it without one (`ssh-keygen -p`), it is sealed here";

fn why_unreadable(text: &str) -> String {
    let why = if text.contains("ENCRYPTED") {
        ENCRYPTED
    } else {
        "is no private key in the form of OpenSSH or PKCS#8 (it begins with -----BEGIN)"
    };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(&SecretString::from(text)).err().unwrap()
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        let pem = |tag: &str, der: &[u8]| pem::encode(&pem::Pem::new(tag, der));
        for der in [&[][..], &[0x30, 0x80], &[0x30, 0x03, 2, 1, 0], &[0xff; 64]] {
            assert_eq!(refused(&pem("RSA PRIVATE KEY", der)), crate::rsa::UNUSABLE);
            assert!(refused(&pem("PRIVATE KEY", der)).contains("is no private key"));
            assert!(refused(&pem("OPENSSH PRIVATE KEY", der)).contains("is no private key"));
        }
        let encrypted = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
             DEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(refused(encrypted), ENCRYPTED);
    }
}
