//! Encryption of secrets at rest (AES-256-GCM): [`SealKey`].
//!
//! Sealed bytes are `TS1` + 12 bytes of random nonce + ciphertext + 16 bytes of tag; the prefix is
//! authenticated too, so a later format cannot be mistaken for this one. A random nonce is safe for
//! 2^32 seals with one key; a job seals once.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use partial_debug::partial_debug;

use crate::durable::{self, DurableWriteError};

const PREFIX: &[u8] = b"TS1";
const KEY_FILE_PREFIX: &str = "tutti-seal-key-1:";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;

/// The key that encrypts and decrypts the secrets of one installation.
pub struct SealKey {
    key: RandomizedNonceKey,
}

partial_debug!(SealKey {});

/// The error of creating or reading the key file.
#[derive(Debug, thiserror::Error)]
pub enum SealKeyError {
    #[error(transparent)]
    Write(#[from] DurableWriteError),
    #[error("cannot read the seal key {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the seal key {path} can be read by others (mode {mode:04o}); chmod 600 it")]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "{path} is not a seal key; restore it from a backup, or delete it to make a new one \
             (secrets sealed before are then lost)"
    )]
    Malformed { path: PathBuf },
    #[error("the system gave no random bytes for a seal key")]
    NoRandom,
}

/// The error of decrypting sealed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsealError {
    #[error("the bytes are not sealed in a format of this version")]
    Format,
    #[error("the sealed secret was altered, or it was sealed with another key")]
    WrongKeyOrAltered,
}

impl SealKey {
    /// Reads the key file, or creates it (mode 0600) if there is none. Two processes that start at
    /// the same time use the same key.
    pub fn open_or_create(path: &Path) -> Result<Self, SealKeyError> {
        if !path.exists() {
            let mut key = [0u8; KEY_BYTES];
            aws_lc_rs::rand::fill(&mut key).map_err(|_| SealKeyError::NoRandom)?;
            let text = format!("{KEY_FILE_PREFIX}{}\n", BASE64_STANDARD.encode(key));
            durable::create_new(path, text.as_bytes(), 0o600)?;
        }
        Self::read(path)
    }

    fn read(path: &Path) -> Result<Self, SealKeyError> {
        let failed = |source| SealKeyError::Read {
            path: path.to_owned(),
            source,
        };
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(SealKeyError::Exposed {
                path: path.to_owned(),
                mode,
            });
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        text.trim_end()
            .strip_prefix(KEY_FILE_PREFIX)
            .and_then(|encoded| BASE64_STANDARD.decode(encoded).ok())
            .and_then(|key| RandomizedNonceKey::new(&AES_256_GCM, &key).ok())
            .map(|key| Self { key })
            .ok_or_else(|| SealKeyError::Malformed {
                path: path.to_owned(),
            })
    }

    /// Encrypts a secret with a random nonce.
    pub fn seal(&self, secret: &[u8]) -> Vec<u8> {
        let mut sealed = secret.to_vec();
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(PREFIX), &mut sealed)
            .expect("AES-GCM fails only above 64 GiB or without a random source");
        [PREFIX, nonce.as_ref(), &sealed].concat()
    }

    /// Decrypts bytes that [`SealKey::seal`] returned.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, UnsealError> {
        let rest = sealed.strip_prefix(PREFIX).ok_or(UnsealError::Format)?;
        if rest.len() < NONCE_LEN + TAG_BYTES {
            return Err(UnsealError::Format);
        }
        let (nonce, ciphertext) = rest.split_at(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| UnsealError::Format)?;
        let mut buffer = ciphertext.to_vec();
        let secret = self
            .key
            .open_in_place(nonce, Aad::from(PREFIX), &mut buffer)
            .map_err(|_| UnsealError::WrongKeyOrAltered)?;
        Ok(secret.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dir: &Path, name: &str) -> SealKey {
        SealKey::open_or_create(&dir.join(name)).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_again_also_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = key(dir.path(), "k").seal(b"hunter2");
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        assert_eq!(key(dir.path(), "k").open(&sealed).unwrap(), b"hunter2");
        let mode = fs::metadata(dir.path().join("k"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let key = key(dir.path(), "k");
        let sealed = key.seal(b"secret");
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            let expected = if at < PREFIX.len() {
                UnsealError::Format
            } else {
                UnsealError::WrongKeyOrAltered
            };
            assert_eq!(key.open(&altered), Err(expected), "byte {at}");
        }
        assert_eq!(key.open(&sealed[..20]), Err(UnsealError::Format));
    }

    #[test]
    fn another_key_does_not_open_it() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = key(dir.path(), "a").seal(b"secret");
        assert_eq!(
            key(dir.path(), "b").open(&sealed),
            Err(UnsealError::WrongKeyOrAltered)
        );
    }

    #[test]
    fn a_key_file_that_others_can_read_or_that_is_damaged_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k");
        SealKey::open_or_create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = SealKey::open_or_create(&path).unwrap_err();
        assert!(
            matches!(error, SealKeyError::Exposed { mode: 0o644, .. }),
            "{error}"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "tutti-seal-key-1:AAAA\n").unwrap();
        let error = SealKey::open_or_create(&path).unwrap_err();
        assert!(matches!(error, SealKeyError::Malformed { .. }), "{error}");
    }
}
