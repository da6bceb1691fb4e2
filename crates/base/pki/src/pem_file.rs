//! Reading of PEM files, with errors that name the file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use file_access::{Denial, FileUse};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

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
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_PEM_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_PEM_BYTES {
        return Err(PemFileError::TooLarge {
            path: path.to_owned(),
            limit: MAX_PEM_BYTES,
        });
    }
    Ok(bytes)
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

/// The first private key of the file.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PemFileError> {
    private_key_from(path, &read(path)?)
}

/// The first private key of `bytes`, which were read from `path`.
pub(crate) fn private_key_from(
    path: &Path,
    bytes: &[u8],
) -> Result<PrivateKeyDer<'static>, PemFileError> {
    // OpenSSL has two markers for an encrypted key.
    for marker in ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"] {
        if contains(bytes, marker.as_bytes()) {
            return Err(PemFileError::EncryptedKey {
                path: path.to_owned(),
            });
        }
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
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
