//! Download of an archive. Main type: [`DownloadedArchive`].
//!
//! Invariant: checksums are computed from exactly the bytes on the disk, from the first to the
//! last.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use md5::Md5;
use reqwest::Url;
use sha2::{Digest as _, Sha256};

use super::ArchiveError;
use crate::defaults::ARCHIVE_BYTES;
use crate::http::ResponseSink;
use code_store::content::{ContentHash, ContentStore, content_error};
use code_store::disk_work::on_disk;

/// An expected checksum.
#[derive(Clone, Debug)]
pub(super) enum ExpectedChecksum {
    Sha256(String),
    Md5(String),
    /// No checksum is known.
    None,
}

/// An archive on the disk.
pub(super) struct DownloadedArchive {
    file: tempfile::NamedTempFile,
    sha256: Sha256,
    md5: Md5,
}

// === impl DownloadedArchive ===

impl DownloadedArchive {
    /// Creates an empty file for a download.
    pub(super) fn create_staged(content: &ContentStore) -> Result<Self, ArchiveError> {
        let incoming = content.incoming_directory();
        let file = tempfile::NamedTempFile::new_in(&incoming);
        Ok(Self {
            file: file.map_err(content_error("write to", &incoming))?,
            sha256: Sha256::new(),
            md5: Md5::new(),
        })
    }

    /// The file and its SHA-256, if the checksum is as expected.
    pub(super) fn verify_checksum(
        self,
        wanted: &ExpectedChecksum,
        what: &str,
    ) -> Result<(tempfile::NamedTempFile, String), ArchiveError> {
        let sha256 = ContentHash::from(<[u8; 32]>::from(self.sha256.finalize())).to_string();
        let md5: [u8; 16] = self.md5.finalize().into();
        let md5: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
        let (found, wanted) = match wanted {
            ExpectedChecksum::Sha256(wanted) => (&sha256, wanted),
            ExpectedChecksum::Md5(wanted) => (&md5, wanted),
            ExpectedChecksum::None => (&sha256, &sha256),
        };
        match found == wanted {
            true => Ok((self.file, sha256)),
            false => Err(ArchiveError::Checksum {
                what: what.to_owned(),
                found: found.clone(),
                wanted: wanted.clone(),
            }),
        }
    }
}

impl ResponseSink for DownloadedArchive {
    fn restart(&mut self) -> io::Result<()> {
        on_disk(|| {
            self.file.as_file().set_len(0)?;
            self.file.rewind()
        })?;
        (self.sha256, self.md5) = (Sha256::new(), Md5::new());
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sha256.update(bytes);
        self.md5.update(bytes);
        on_disk(|| self.file.write_all(bytes))
    }
}

/// The path of a local file, in the forms that r10k accepts: `file:///x`, or a path; `None` for
/// others.
pub(super) fn to_local_path(location: &str) -> Option<PathBuf> {
    if location.starts_with('/') {
        return Some(location.into());
    }
    let url: Url = location.parse().ok()?;
    (url.scheme() == "file").then(|| url.to_file_path().ok())?
}

pub(super) fn copy(
    path: &Path,
    mut staged: DownloadedArchive,
) -> Result<DownloadedArchive, ArchiveError> {
    let failed = |source| ArchiveError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let mut file = file.take(ARCHIVE_BYTES);
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes).map_err(failed)? {
            0 => break,
            count => staged.add(&bytes[..count]).map_err(failed)?,
        }
    }
    match file.limit() {
        0 => Err(failed(io::ErrorKind::FileTooLarge.into())),
        _ => Ok(staged),
    }
}
