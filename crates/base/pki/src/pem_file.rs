//! Reading of PEM files, with errors that name the file.
//!
//! Invariant: the bytes of a file with a private key are wiped from memory after use.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use file_access::{Denial, FileUse};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::defaults::MAX_PEM_BYTES;

/// The error for a PEM file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PemFileError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "cannot read {path}: {denial}; make a copy that {user} may read, for example with \
         `install -o {user} -m 0400 {path} DIRECTORY`, and name that",
        user = denial.user
    )]
    Denied { path: PathBuf, denial: Box<Denial> },
    #[error("{path} is larger than {limit} bytes")]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{path} is not valid PEM: {what}")]
    Malformed { path: PathBuf, what: String },
    #[error("{path} holds no {wanted}")]
    Missing { path: PathBuf, wanted: &'static str },
    #[error("{path} holds an encrypted private key; remove its passphrase (openssl pkey)")]
    EncryptedKey { path: PathBuf },
}

/// Reads the whole file, up to the size limit.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, PemFileError> {
    let mut bytes = Vec::new();
    read_into(path, &mut bytes)?;
    Ok(bytes)
}

/// Reads the whole file like [`read`], into memory that is wiped.
pub(crate) fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, PemFileError> {
    let mut bytes = Zeroizing::new(Vec::new());
    read_into(path, &mut bytes)?;
    Ok(bytes)
}

fn read_into(path: &Path, bytes: &mut Vec<u8>) -> Result<(), PemFileError> {
    let failed = |source: io::Error| {
        let path = path.to_owned();
        let is_denied = source.kind() == io::ErrorKind::PermissionDenied;
        let denial = is_denied
            .then(|| Denial::find(&path, FileUse::Read))
            .flatten();
        match denial {
            Some(denial) => PemFileError::Denied {
                path,
                denial: Box::new(denial),
            },
            None => PemFileError::Read { path, source },
        }
    };
    let file = File::open(path).map_err(failed)?;
    // A buffer that grows leaves copies behind, which cannot be wiped. The end of the file is found in
    // one more byte.
    let length = file.metadata().map_err(failed)?.len().min(MAX_PEM_BYTES);
    bytes.reserve_exact(usize::try_from(length + 1).unwrap_or(0));
    file.take(MAX_PEM_BYTES + 1)
        .read_to_end(bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_PEM_BYTES {
        return Err(PemFileError::TooLarge {
            path: path.to_owned(),
            limit: MAX_PEM_BYTES,
        });
    }
    Ok(())
}

/// All certificates of the file, in their order; at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemFileError> {
    items(path, &read(path)?, "certificate")
}

/// All revocation lists of the file; at least one.
pub(crate) fn crls(
    path: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, PemFileError> {
    items(path, &read(path)?, "certificate revocation list")
}

/// The first private key of the file. The caller wipes it; rustls does so itself. The Base64 text that the
/// PEM reader collects is not wiped: rustls-pki-types does not allow that.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PemFileError> {
    let bytes = read_secret(path)?;
    // OpenSSL has two markers for an encrypted key.
    for marker in ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"] {
        if contains(&bytes, marker.as_bytes()) {
            return Err(PemFileError::EncryptedKey {
                path: path.to_owned(),
            });
        }
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => PemFileError::Missing {
            path: path.to_owned(),
            wanted: "private key",
        },
        other => PemFileError::Malformed {
            path: path.to_owned(),
            what: other.to_string(),
        },
    })
}

fn items<T: PemObject>(
    path: &Path,
    bytes: &[u8],
    wanted: &'static str,
) -> Result<Vec<T>, PemFileError> {
    let items: Vec<T> = T::pem_slice_iter(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| PemFileError::Malformed {
            path: path.to_owned(),
            what: error.to_string(),
        })?;
    if items.is_empty() {
        return Err(PemFileError::Missing {
            path: path.to_owned(),
            wanted,
        });
    }
    Ok(items)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use zeroize::ZeroizeOnDrop;

    use super::*;

    fn assert_wiped_on_drop(_: &impl ZeroizeOnDrop) {}

    #[test]
    fn a_key_is_read_into_memory_that_is_wiped_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        for length in [1, 31, 32, 33, 3_243, 100_000] {
            let text = "k".repeat(length);
            std::fs::write(&path, &text).unwrap();
            let bytes = read_secret(&path).unwrap();
            assert_wiped_on_drop(&bytes);
            assert_eq!(*bytes, text.as_bytes());
            assert_eq!(bytes.capacity(), length + 1, "the buffer has not grown");
        }
    }
}
