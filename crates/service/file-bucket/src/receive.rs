//! Receives a file and checks its hash: [`receive`].
//!
//! Invariant: the result has the content whose hash was announced, and is on the disk.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;

use md5::Md5;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::defaults::{COPY_BYTES, FILE_BYTES};
use crate::error::FileBucketError;
use crate::key::{BucketKey, DigestAlgorithm};

/// A content that is not yet in the bucket.
#[derive(Debug)]
pub(crate) struct ReceivedContent {
    pub(crate) file: NamedTempFile,
    /// SHA-256 in hexadecimal digits.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// Receives the file of `key` into a new file in `directory`.
pub(crate) fn receive(
    directory: &Path,
    key: &BucketKey,
    source: &mut dyn Read,
) -> Result<ReceivedContent, FileBucketError> {
    let io = || FileBucketError::at(directory);
    let mut file = NamedTempFile::new_in(directory).map_err(io())?;
    let (mut sha256, mut md5) = (Sha256::new(), Md5::new());
    let is_md5 = key.algorithm == DigestAlgorithm::Md5;
    let mut buffer = vec![0_u8; COPY_BYTES];
    let mut bytes = 0_u64;
    loop {
        let read = source.read(&mut buffer).map_err(FileBucketError::Source)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > FILE_BYTES {
            return Err(FileBucketError::TooLarge);
        }
        let chunk = &buffer[..read];
        sha256.update(chunk);
        if is_md5 {
            md5.update(chunk);
        }
        file.write_all(chunk).map_err(io())?;
    }
    let sha256 = hex(&sha256.finalize());
    let announced = match is_md5 {
        true => hex(&md5.finalize()) == key.hash,
        false => sha256 == key.hash,
    };
    if !announced {
        let key = key.to_string();
        return Err(FileBucketError::Mismatch { key });
    }
    file.as_file().sync_all().map_err(io())?;
    Ok(ReceivedContent {
        file,
        sha256,
        bytes,
    })
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(digest.len() * 2);
    for byte in digest {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
