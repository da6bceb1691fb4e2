//! What a version on the disk is made of, as followers are told: [`manifest`].
//!
//! Most files of a version are links to contents of the store. Those that were written for it (its lock,
//! generated types) are made such, so that all can be handed out by their hashes, and go when the version
//! does. The rule that must hold: what is told of a version is what its files are.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use environments::EnvironmentName;
use sha2::Digest as _;

use crate::archive::{read_note, write_note};
use crate::content::{
    Content, ContentError, ContentHash, Entry, Manifest, ManifestError, TreeId, TreePath,
    TreePathError, failed,
};
use crate::integrity::{differences, named_paths};
use crate::version::{Signature, Versions};

/// Why followers cannot be told what a version is made of.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Path(#[from] TreePathError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("{} is neither a file, a directory nor a link", .0.display())]
    Special(PathBuf),
    #[error(
        "the version {version} is damaged and is not handed out: {paths}; run `tutti code verify --repair` on \
         the server"
    )]
    Damaged { version: String, paths: String },
}

/// The files of a version. Blocks.
pub(super) fn manifest(
    versions: &Versions,
    environment: &EnvironmentName,
    signature: &Signature,
) -> Result<(TreeId, Manifest), FilesError> {
    let content = versions.content();
    let root = versions.path(environment, signature);
    let note = content.root().join("versions");
    let note = note.join(format!("{environment}_{signature}"));
    let known: Option<TreeId> = read_note(&note).and_then(|text| text.parse().ok());
    if let Some(id) = known
        && let Some(manifest) = content.tree(id)?
        && content.is_whole(&manifest)
    {
        return Ok((id, manifest));
    }
    let manifest = read_files(&root, &|path, sha256, executable| {
        own(content, path, sha256, executable).map_err(failed("keep", path))
    })?;
    let damaged = differences(versions, environment, signature, &manifest);
    if !damaged.is_empty() {
        return Err(FilesError::Damaged {
            version: format!("{environment}_{signature}"),
            paths: named_paths(&damaged),
        });
    }
    let id = content.keep_tree(&manifest)?;
    write_note(content, &note, &id.to_string());
    Ok((id, manifest))
}

/// The files and links below a directory, each hashed. Blocks.
pub(crate) fn manifest_of(root: &Path) -> Result<Manifest, FilesError> {
    read_files(root, &|_, _, _| Ok(()))
}

/// Called with each file, its hash, and whether it can be run.
type FileRead<'a> = &'a dyn Fn(&Path, ContentHash, bool) -> Result<(), ContentError>;

fn read_files(root: &Path, is_read: FileRead<'_>) -> Result<Manifest, FilesError> {
    let mut manifest = Manifest::default();
    add_directory(root, root, &mut manifest, is_read)?;
    manifest.check()?;
    Ok(manifest)
}

fn add_directory(
    root: &Path,
    directory: &Path,
    manifest: &mut Manifest,
    is_read: FileRead<'_>,
) -> Result<(), FilesError> {
    for entry in fs::read_dir(directory).map_err(failed("read", directory))? {
        let path = entry.map_err(failed("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
        if metadata.is_dir() {
            add_directory(root, &path, manifest, is_read)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let name = TreePath::new(relative.as_os_str().as_bytes())?;
        let entry = if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(failed("read", &path))?;
            Entry::Link {
                target: target.as_os_str().as_bytes().into(),
            }
        } else if metadata.is_file() {
            let executable = metadata.mode() & 0o111 != 0;
            let (sha256, size_bytes) = hash(&path).map_err(failed("read", &path))?;
            is_read(&path, sha256, executable)?;
            Entry::File {
                sha256,
                size_bytes,
                executable,
            }
        } else {
            return Err(FilesError::Special(path));
        };
        manifest.add(name, entry)?;
    }
    Ok(())
}

/// What is in a file, and how much. Blocks.
pub(super) fn hash(path: &Path) -> io::Result<(ContentHash, u64)> {
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

/// The file is a content of the store after it, under a link of its own.
fn own(content: &Content, path: &Path, sha256: ContentHash, executable: bool) -> io::Result<()> {
    let object = content.object(sha256, executable);
    let mode = Content::mode(executable);
    match fs::symlink_metadata(&object) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            match fs::hard_link(path, &object) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        }
        Err(error) => Err(error),
        Ok(kept) if kept.ino() == fs::symlink_metadata(path)?.ino() => Ok(()),
        // The same content by another name: from now on they are one.
        Ok(_) => {
            let staged = tempfile::tempdir_in(content.incoming())?;
            let link = staged.path().join("link");
            fs::hard_link(&object, &link)?;
            fs::rename(&link, path)
        }
    }
}
