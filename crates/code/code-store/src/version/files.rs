//! Reading of a directory as a manifest. Main function: [`read_manifest`].

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::Digest as _;

use crate::content::{
    ContentError, ContentHash, ManifestError, TreeEntry, TreeManifest, TreePath, TreePathError,
    content_error,
};

/// The reason that the files of a directory cannot be a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ReadManifestError {
    /// The disk cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A path is not allowed in a tree.
    #[error(transparent)]
    Path(#[from] TreePathError),
    /// The files together exceed a limit, or a link leaves the tree.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// There is a device, a socket or a pipe.
    #[error("{} is neither a file, a directory nor a link", .0.display())]
    Special(PathBuf),
}

/// Callback for each file, with its hash and true if it is executable.
pub type FileReadCallback<'a> = &'a dyn Fn(&Path, ContentHash, bool) -> Result<(), ContentError>;

/// Reads and hashes the files and links below a directory; `is_read` is called for each file.
/// Blocks.
pub fn read_manifest(
    root: &Path,
    is_read: FileReadCallback<'_>,
) -> Result<TreeManifest, ReadManifestError> {
    let mut manifest = TreeManifest::default();
    add_directory(root, root, &mut manifest, is_read)?;
    manifest.check_paths()?;
    Ok(manifest)
}

fn add_directory(
    root: &Path,
    directory: &Path,
    manifest: &mut TreeManifest,
    is_read: FileReadCallback<'_>,
) -> Result<(), ReadManifestError> {
    for entry in fs::read_dir(directory).map_err(content_error("read", directory))? {
        let path = entry.map_err(content_error("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(content_error("read", &path))?;
        if metadata.is_dir() {
            add_directory(root, &path, manifest, is_read)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let name = TreePath::new(relative.as_os_str().as_bytes())?;
        let entry = if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(content_error("read", &path))?;
            TreeEntry::Link {
                target: target.as_os_str().as_bytes().into(),
            }
        } else if metadata.is_file() {
            let executable = metadata.mode() & 0o111 != 0;
            let (sha256, size_bytes) = hash_file(&path).map_err(content_error("read", &path))?;
            is_read(&path, sha256, executable)?;
            TreeEntry::File {
                sha256,
                size_bytes,
                executable,
            }
        } else {
            return Err(ReadManifestError::Special(path));
        };
        manifest.add(name, entry)?;
    }
    Ok(())
}

/// Returns the hash of a file's bytes, and their number. Blocks.
pub fn hash_file(path: &Path) -> io::Result<(ContentHash, u64)> {
    let mut file = File::open(path)?;
    let mut sha256 = sha2::Sha256::new();
    let mut buffer = [0; 16 << 10];
    let mut size_bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => {
                sha256.update(&buffer[..count]);
                size_bytes += count as u64;
            }
        }
    }
    let digest: [u8; 32] = sha256.finalize().into();
    Ok((ContentHash::from(digest), size_bytes))
}
