//! Tokens: 256 random bits in URL-safe base64.
//!
//! Invariant: only the SHA-256 hash of a token is stored and looked up, so neither the store nor
//! the duration of a lookup reveals anything about a token.

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use rand::Rng as _;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

use crate::defaults::{PASSWORD_BYTES, TOKEN_BYTES};

/// A new token: 44 characters of URL-safe base64, the format of Puppet Enterprise.
pub(crate) fn random_token() -> SecretString {
    let mut bytes = [0; TOKEN_BYTES];
    rand::rng().fill_bytes(&mut bytes);
    SecretString::from(URL_SAFE.encode(bytes))
}

/// A random password of 24 characters.
pub fn random_password() -> SecretString {
    let mut bytes = [0; PASSWORD_BYTES];
    rand::rng().fill_bytes(&mut bytes);
    SecretString::from(URL_SAFE_NO_PAD.encode(bytes))
}

/// SHA-256 hash under which a token is stored.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn tokens_are_long_random_and_url_safe() {
        let (a, b) = (random_token(), random_token());
        assert_ne!(a.expose_secret(), b.expose_secret());
        assert_eq!(a.expose_secret().len(), 44);
        let safe = |c: char| c.is_ascii_alphanumeric() || "-_=".contains(c);
        assert!(a.expose_secret().chars().all(safe));
        assert_eq!(random_password().expose_secret().len(), 24);
    }

    #[test]
    fn the_hash_is_sha_256() {
        // The first bytes of the example in FIPS 180-2.
        assert_eq!(hash("abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
