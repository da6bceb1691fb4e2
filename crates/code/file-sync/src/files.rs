//! The list of files of a version on the disk, as it is offered to followers: [`manifest`].
//!
//! Most files of a version are hard links to contents of the store. Files that were written for the
//! version (its lock, generated types) are linked into the store too, so that all can be served by
//! hash; they are removed with the version. Invariant: the list of a version matches its files.

use std::fs::{self};
use std::io::{self};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use environments::EnvironmentName;

use code_store::content::{
    ContentError, ContentHash, ContentStore, TreeId, TreeManifest, content_error,
};
use code_store::integrity::{differing_paths, named_paths};
use code_store::notes::{read_note, write_note};
use code_store::version::{ReadManifestError, VersionSignature, VersionStore, read_manifest};

/// Cause for which a version's list of files cannot be offered to followers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Read(#[from] ReadManifestError),
    #[error(
        "the version {version} is damaged and is not handed out: {paths}; run `tutti code verify --repair` on \
         the server"
    )]
    Damaged { version: String, paths: String },
}

/// Returns the files of a version and the id of their list. Blocks.
pub(super) fn manifest(
    versions: &VersionStore,
    environment: &EnvironmentName,
    signature: &VersionSignature,
) -> Result<(TreeId, TreeManifest), FilesError> {
    let content = versions.content();
    let root = versions.path(environment, signature);
    let note = content.root().join("versions");
    let note = note.join(format!("{environment}_{signature}"));
    let known: Option<TreeId> = read_note(&note).and_then(|text| text.parse().ok());
    if let Some(id) = known
        && let Some(manifest) = content.read_tree(id)?
        && content.has_all_contents(&manifest)
    {
        return Ok((id, manifest));
    }
    let manifest = read_manifest(&root, &|path, sha256, executable| {
        link_or_copy(content, path, sha256, executable).map_err(content_error("keep", path))
    })?;
    let damaged = differing_paths(versions, environment, signature, &manifest);
    if !damaged.is_empty() {
        return Err(FilesError::Damaged {
            version: format!("{environment}_{signature}"),
            paths: named_paths(&damaged),
        });
    }
    let id = content.store_tree(&manifest)?;
    write_note(content, &note, &id.to_string());
    Ok((id, manifest))
}

/// Makes the file a content of the store: a link in one direction or the other.
fn link_or_copy(
    content: &ContentStore,
    path: &Path,
    sha256: ContentHash,
    executable: bool,
) -> io::Result<()> {
    let object = content.object_path(sha256, executable);
    let mode = ContentStore::file_mode(executable);
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
        // The store has the same content in another file: replace this one by a link to it.
        Ok(_) => {
            let staged = tempfile::tempdir_in(content.incoming_directory())?;
            let link = staged.path().join("link");
            fs::hard_link(&object, &link)?;
            fs::rename(&link, path)
        }
    }
}
