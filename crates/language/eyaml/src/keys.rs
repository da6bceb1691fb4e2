//! The private keys that can decrypt values: [`EyamlKeys`].

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rsa::{Pkcs1PrivateDecryptingKey, PrivateDecryptingKey};
use yasna::models::ObjectIdentifier;
use zeroize::Zeroizing;

use crate::Error;
use crate::envelope::EyamlEnvelope;

/// Private keys, tried one after the other.
#[derive(Default)]
pub struct EyamlKeys {
    keys: Vec<Pkcs1PrivateDecryptingKey>,
}

impl std::fmt::Debug for EyamlKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.keys.len())
    }
}

/// The reason for which a key cannot be used. It contains no byte of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EyamlKeyError {
    #[error("it is no PEM of an RSA private key")]
    Pem,
    #[error("it is protected by a passphrase, which cannot be asked for here")]
    Encrypted,
    #[error("it is an RSA key that cannot be used: it must have 2048 to 8192 bits")]
    Unusable,
}

impl EyamlKeys {
    /// Adds a key in the PEM format of `eyaml createkeys` and `openssl`.
    pub fn add_pem(&mut self, text: &str) -> Result<(), EyamlKeyError> {
        let block = pem::parse(text).map_err(|_| EyamlKeyError::Pem)?;
        let tag = block.tag().to_owned();
        if tag.contains("ENCRYPTED") || block.headers().iter().next().is_some() {
            return Err(EyamlKeyError::Encrypted);
        }
        let der = Zeroizing::new(block.into_contents());
        let pkcs8 = match tag.as_str() {
            "RSA PRIVATE KEY" => wrap_pkcs1(&der),
            "PRIVATE KEY" => der,
            _ => return Err(EyamlKeyError::Pem),
        };
        let key = PrivateDecryptingKey::from_pkcs8(&pkcs8).map_err(|_| EyamlKeyError::Unusable)?;
        let key = Pkcs1PrivateDecryptingKey::new(key).map_err(|_| EyamlKeyError::Unusable)?;
        self.keys.push(key);
        Ok(())
    }

    /// Decrypts the content of an envelope.
    pub(crate) fn open_envelope(&self, envelope: &EyamlEnvelope) -> Result<Vec<u8>, Error> {
        for key in &self.keys {
            for encrypted in &envelope.keys {
                let mut clear = Zeroizing::new(vec![0; key.min_output_size()]);
                let content = match key.decrypt(encrypted, &mut clear) {
                    Ok(content_key) => decrypt_with_key(content_key, envelope),
                    Err(_) => continue,
                };
                if let Some(content) = content {
                    return Ok(content);
                }
            }
        }
        Err(Error::Key)
    }
}

/// The content; `None` if the key does not decrypt it.
fn decrypt_with_key(key: &[u8], envelope: &EyamlEnvelope) -> Option<Vec<u8>> {
    if key.len() != envelope.key_bytes {
        return None;
    }
    let cipher = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        _ => &AES_256,
    };
    let key = UnboundCipherKey::new(cipher, key).ok()?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
    let mut content = envelope.content.clone();
    let context = DecryptionContext::Iv128(FixedLength::from(envelope.iv));
    let length = key.decrypt(&mut content, context).ok()?.len();
    content.truncate(length);
    Some(content)
}

/// Wraps a PKCS #1 key as PKCS #8.
fn wrap_pkcs1(pkcs1: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_u8(0);
            writer.next().write_sequence(|writer| {
                let rsa = ObjectIdentifier::from_slice(&[1, 2, 840, 113_549, 1, 1, 1]);
                writer.next().write_oid(&rsa);
                writer.next().write_null();
            });
            writer.next().write_bytes(pkcs1);
        });
    }))
}
