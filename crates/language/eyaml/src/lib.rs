//! Decryption of hiera-eyaml values: texts with `ENC[PKCS7,…]`. Main type: [`EyamlKeys`].
//!
//! Such a value is a CMS envelope: a random AES key, encrypted for the RSA key of each recipient,
//! and the text, encrypted with the AES key. `yasna` parses the envelopes; aws-lc-rs, whose RSA is
//! constant in time, does all operations on secrets.
//!
//! Left out, each refused by name: other encryptors (GPG, plug-ins) and ciphers other than AES-CBC.
//!
//! Invariants: no text causes a panic; no error contains a byte of a key or of decrypted text;
//! there is no I/O.

mod envelope;
mod keys;

pub use keys::{EyamlKeyError, EyamlKeys};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the value is encrypted by {0:?}; only PKCS7 can be read here")]
    Encryptor(String),
    #[error("the value is no base64")]
    Base64,
    #[error("the value is no PKCS7 envelope of RSA and AES-CBC")]
    Envelope,
    #[error("the value was encrypted for another key")]
    Key,
    #[error("what was encrypted is no UTF-8")]
    Utf8,
}

/// Markers before the encryptor and after the data.
const OPEN: &str = "ENC[";

/// The encryptor if none is named.
const STANDARD_ENCRYPTOR: &str = "PKCS7";

impl EyamlKeys {
    /// Decrypts every `ENC[…]` in a text. One newline at the end is removed.
    pub fn decrypt(&self, text: &str) -> Result<String, Error> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(OPEN) {
            let inner = &rest[start + OPEN.len()..];
            let Some(end) = inner.find(']') else { break };
            out.push_str(&rest[..start]);
            out.push_str(&self.block(&inner[..end])?);
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        let length = out.strip_suffix('\n').unwrap_or(&out).len();
        out.truncate(length);
        Ok(out)
    }

    fn block(&self, block: &str) -> Result<String, Error> {
        let (encryptor, data) = match block.split_once(',') {
            Some((encryptor, data)) => (encryptor.trim(), data),
            None => (STANDARD_ENCRYPTOR, block),
        };
        if encryptor != STANDARD_ENCRYPTOR {
            let name = encryptor.chars().take(20).collect();
            return Err(Error::Encryptor(name));
        }
        // Long values are folded over lines.
        let data: String = data.split_ascii_whitespace().collect();
        let data = STANDARD.decode(data).map_err(|_| Error::Base64)?;
        let envelope = envelope::EyamlEnvelope::from_der(&data).ok_or(Error::Envelope)?;
        String::from_utf8(self.open_envelope(&envelope)?).map_err(|_| Error::Utf8)
    }
}
