//! Signs messages with HMAC-SHA-256, as in the Standard Webhooks specification.
//!
//! The signed text is `ID.TIMESTAMP.BODY`; the header is `v1,` and the MAC in base64. The key is a
//! text of `whsec_` and base64; receivers' libraries accept it unchanged.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

use crate::defaults::SECRET_BYTES;

const PREFIX: &str = "whsec_";
const KEY_BYTES: usize = 32;

/// The secret key of a webhook.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretString);

/// The text is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningSecretError {
    /// The text after the prefix is not base64.
    #[error("the secret must be `whsec_` and base64, or left away for one to be made")]
    Form,
    /// The key is too short or too long.
    #[error("the secret must have {} to {} bytes", SECRET_BYTES.start(), SECRET_BYTES.end())]
    Length,
    /// The system did not provide random bytes.
    #[error("the system gave no random bytes for a secret")]
    NoRandom,
}

// === impl SigningSecret ===

impl SigningSecret {
    /// Generates a new random key.
    pub fn random() -> Result<Self, SigningSecretError> {
        let mut key = [0u8; KEY_BYTES];
        aws_lc_rs::rand::fill(&mut key).map_err(|_| SigningSecretError::NoRandom)?;
        Ok(Self(format!("{PREFIX}{}", STANDARD.encode(key)).into()))
    }

    /// Parses a key that a user chose.
    pub fn parse(text: &str) -> Result<Self, SigningSecretError> {
        let key = Self::decode_key(text).ok_or(SigningSecretError::Form)?;
        if !SECRET_BYTES.contains(&key.len()) {
            return Err(SigningSecretError::Length);
        }
        Ok(Self(text.to_owned().into()))
    }

    /// The text of the key, which the receiver needs.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Value of the header `webhook-signature`.
    pub fn sign(&self, id: &str, timestamp_seconds: i64, body: &[u8]) -> String {
        // Only `parse` and `random` create a `SigningSecret`, so it contains a valid key.
        let key = Self::decode_key(self.expose()).unwrap_or_default();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let mut context = hmac::Context::with_key(&key);
        context.update(id.as_bytes());
        context.update(format!(".{timestamp_seconds}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    }

    fn decode_key(text: &str) -> Option<Vec<u8>> {
        STANDARD.decode(text.strip_prefix(PREFIX)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_published_example_is_reproduced() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert_eq!(
            SigningSecret::parse("hunter2").unwrap_err(),
            SigningSecretError::Form
        );
        assert_eq!(
            SigningSecret::parse("whsec_?").unwrap_err(),
            SigningSecretError::Form
        );
        assert_eq!(
            SigningSecret::parse("whsec_aGk=").unwrap_err(),
            SigningSecretError::Length
        );
        let long = format!("whsec_{}", STANDARD.encode([7; 257]));
        assert_eq!(
            SigningSecret::parse(&long).unwrap_err(),
            SigningSecretError::Length
        );
    }

    #[test]
    fn a_random_key_is_one_and_is_not_shown() {
        let (one, other) = (
            SigningSecret::random().unwrap(),
            SigningSecret::random().unwrap(),
        );
        assert_ne!(one.expose(), other.expose());
        assert!(SigningSecret::parse(one.expose()).is_ok());
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
