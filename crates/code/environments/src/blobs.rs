//! Storage of file contents by their hash.
//!
//! [`BlobStore`] is a directory `ab/<sha256>`.
//!
//! Invariant: from the moment that its name exists, a blob is complete and durable and its content
//! has the hash in its name, because it is hashed while it is copied and renamed once it is on the
//! disk. A blob that was damaged later is replaced by the next job that needs it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pxp::action::Sha256;
use sha2::Digest;

use crate::TaskSourceFile;
use crate::defaults::{COPY_BYTES, FILE_BYTES};
use crate::file_hashes::FileHashCache;

/// The directory of blobs; cheap to clone.
#[derive(Clone, Debug)]
pub struct BlobStore {
    directory: Arc<Path>,
    hashes: Arc<FileHashCache>,
}

/// A blob, opened at its beginning.
#[derive(Debug)]
pub struct OpenBlob {
    /// Size of the content in bytes.
    pub size_bytes: u64,
    /// The blob's content, open for reading.
    pub content: File,
}

/// The error of storing or reading a blob.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The content exceeds the maximum size of a blob.
    #[error("{what} has more than {FILE_BYTES} bytes")]
    TooLarge {
        /// Name of the file or content.
        what: String,
    },
    /// The file has changed since its hash was computed.
    #[error("{} changed since it was looked up; try again", path.display())]
    Changed {
        /// Path of the changed file.
        path: PathBuf,
    },
    /// The source of the content cannot be read.
    #[error("cannot read {what}")]
    Read {
        /// Name of the file or content.
        what: String,
        /// The error of the read.
        source: io::Error,
    },
    /// The directory of blobs cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the operation.
        source: io::Error,
    },
}

impl BlobStore {
    /// Opens the directory and creates it if it does not exist; only its owner may read it.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, BlobError> {
        let directory = directory.into();
        let io = |source| BlobError::Io {
            path: directory.clone(),
            source,
        };
        fs::create_dir_all(&directory).map_err(io)?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).map_err(io)?;
        Ok(Self {
            directory: directory.into(),
            hashes: Arc::default(),
        })
    }

    /// Stores a file of a task, which must still have the hash that it had when the task was read.
    pub fn store_task_file(&self, file: &TaskSourceFile) -> Result<(), BlobError> {
        if self.is_intact(&file.sha256)? {
            return Ok(());
        }
        let path = &file.path;
        let what = path.display().to_string();
        let mut source = File::open(path).map_err(|source| BlobError::Read {
            what: what.clone(),
            source,
        })?;
        if self.store_stream(&mut source, &what)? != file.sha256 {
            return Err(BlobError::Changed { path: path.clone() });
        }
        Ok(())
    }

    /// Stores a content in memory. `what` names it in errors.
    pub fn store_content(&self, content: &[u8], what: &str) -> Result<Sha256, BlobError> {
        let digest: [u8; 32] = sha2::Sha256::digest(content).into();
        let sha256 = Sha256::from(digest);
        if self.is_intact(&sha256)? {
            return Ok(sha256);
        }
        let mut source = content;
        self.store_stream(&mut source, what)
    }

    /// Stores the bytes of `source`, up to its end. `what` names it in errors.
    pub fn store_stream(&self, source: &mut dyn Read, what: &str) -> Result<Sha256, BlobError> {
        let io = |source| BlobError::Io {
            path: self.directory.to_path_buf(),
            source,
        };
        let mut temporary = tempfile::Builder::new()
            .prefix(".incoming-")
            .tempfile_in(&self.directory)
            .map_err(io)?;
        let sha256 = copy(source, temporary.as_file_mut(), what).map_err(|error| match error {
            CopyError::Write(source) => io(source),
            CopyError::Other(error) => error,
        })?;
        temporary.as_file().sync_all().map_err(io)?;
        let path = self.blob_path(&sha256);
        let parent = path.parent().unwrap_or(&self.directory);
        let io = |source| BlobError::Io {
            path: path.clone(),
            source,
        };
        make_directory(parent, &self.directory).map_err(io)?;
        // An existing blob of the same name is replaced: it has the same content.
        temporary.persist(&path).map_err(|error| io(error.error))?;
        sync_directory(parent).map_err(io)?;
        Ok(sha256)
    }

    /// True if the blob is stored.
    pub fn contains(&self, sha256: &Sha256) -> Result<bool, BlobError> {
        let path = self.blob_path(sha256);
        path.try_exists()
            .map_err(|source| BlobError::Io { path, source })
    }

    /// True if the blob is stored and its content still has the hash in its name.
    fn is_intact(&self, sha256: &Sha256) -> Result<bool, BlobError> {
        let path = self.blob_path(sha256);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(BlobError::Io { path, source }),
        };
        // A blob that cannot be read is replaced as well.
        let hashed = self.hashes.hash_file(&path, &mut file);
        Ok(hashed.is_ok_and(|hashed| hashed.sha256 == *sha256))
    }

    /// Opens a blob; `None` if it is not stored.
    pub fn open_blob(&self, sha256: &Sha256) -> Result<Option<OpenBlob>, BlobError> {
        let path = self.blob_path(sha256);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((size_bytes, content)) => Ok(Some(OpenBlob {
                size_bytes,
                content,
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(BlobError::Io { path, source }),
        }
    }

    fn blob_path(&self, sha256: &Sha256) -> PathBuf {
        let name = sha256.to_string();
        self.directory.join(&name[..2]).join(name)
    }
}

enum CopyError {
    Write(io::Error),
    Other(BlobError),
}

fn copy(source: &mut dyn Read, target: &mut File, what: &str) -> Result<Sha256, CopyError> {
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut size_bytes = 0;
    loop {
        let read = source.read(&mut buffer).map_err(|source| {
            CopyError::Other(BlobError::Read {
                what: what.to_owned(),
                source,
            })
        })?;
        if read == 0 {
            return Ok(Sha256::from(<[u8; 32]>::from(hasher.finalize())));
        }
        size_bytes += read as u64;
        if size_bytes > FILE_BYTES {
            return Err(CopyError::Other(BlobError::TooLarge {
                what: what.to_owned(),
            }));
        }
        hasher.update(&buffer[..read]);
        target
            .write_all(&buffer[..read])
            .map_err(CopyError::Write)?;
    }
}

/// Creates the directory and makes its name durable.
fn make_directory(directory: &Path, parent: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Ok(()) => sync_directory(parent),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
