//! `file download`: installs files, directories and links from the primary server. [`plan`] checks
//! the request, [`install_item`] installs one item.
//!
//! Invariants: a file appears whole or not at all, with content that was hashed on its way there;
//! an existing file keeps its mode (pxp-agent forces 0750 on everything), and a new one gets the
//! mode that the request names; nothing is ever changed through a symbolic link.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pxp::action::{FileEntry, FileKind, FileParams, FileSpec, Sha256};
use serde_json::value::RawValue;
use tempfile::NamedTempFile;

use super::request_plan::{
    ActionPlan, FileItem, FilePlan, ItemKind, RequestPlan, RequestRefusal, parse, without_nul,
};
use crate::process::copy_hashed;

/// Mode that pxp-agent gives to all files.
const STOCK_MODE: u32 = 0o750;
/// Mode bits that a request may set: set-user-id and the like are excluded.
const PERMISSIONS: u32 = 0o777;

/// Reason for which an item could not be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemInstallError {
    #[error("cannot create {destination}: {source}")]
    Io {
        destination: PathBuf,
        source: io::Error,
    },
    #[error("{destination} exists and is not a {wanted}")]
    OtherKind {
        destination: PathBuf,
        wanted: &'static str,
    },
    #[error("the cached file for {destination} has changed: its sha256 is {found}")]
    Changed { destination: PathBuf, found: Sha256 },
}

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let params: FileParams = parse(params)?;
    let mode = params.mode.unwrap_or(STOCK_MODE);
    let items = params
        .files
        .into_iter()
        .map(|file| item(file, mode))
        .collect::<Result<_, _>>()?;
    Ok(RequestPlan::Work(ActionPlan::Files(FilePlan { items })))
}

fn item(file: FileEntry, mode: u32) -> Result<FileItem, RequestRefusal> {
    without_nul("`destination`", &file.destination)?;
    let destination = PathBuf::from(&file.destination);
    if !destination.is_absolute() || destination.file_name().is_none() {
        let named = &file.destination;
        return Err(RequestRefusal::Input(format!(
            "`destination` {named:?} is no absolute path"
        )));
    }
    let kind = match file.kind {
        FileKind::Directory => ItemKind::Directory,
        FileKind::Symlink => {
            without_nul("`link_source`", &file.link_source)?;
            ItemKind::Symlink {
                target: file.link_source,
            }
        }
        FileKind::File => ItemKind::File(FileSpec {
            filename: basename(&destination).parse()?,
            sha256: file
                .sha256
                .ok_or_else(|| RequestRefusal::Input(format!("{destination:?} has no `sha256`")))?,
            uri: file.uri,
        }),
    };
    let of_kind = match kind {
        ItemKind::File(_) => mode,
        ItemKind::Directory | ItemKind::Symlink { .. } => STOCK_MODE,
    };
    Ok(FileItem {
        destination,
        mode: file.mode.unwrap_or(of_kind) & PERMISSIONS,
        kind,
    })
}

/// The name in the cache, which contains no colons or backslashes.
fn basename(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.replace(['\\', ':'], "_")
}

/// Installs one item; `cached` is the path of a file's fetched content, with its digest.
pub(crate) fn install_item(
    item: &FileItem,
    cached: Option<(&Path, Sha256)>,
) -> Result<(), ItemInstallError> {
    let destination = &item.destination;
    let placed = match (&item.kind, cached) {
        (ItemKind::Directory, _) => directory(destination, item.mode),
        (ItemKind::Symlink { target }, _) => symlink(destination, target),
        (ItemKind::File(_), Some((cached, sha256))) => match file(item, cached, sha256) {
            Ok(None) => Ok(true),
            Ok(Some(found)) => {
                return Err(ItemInstallError::Changed {
                    destination: destination.clone(),
                    found,
                });
            }
            Err(FileInstallError::OtherKind) => Ok(false),
            Err(FileInstallError::Io(error)) => Err(error),
        },
        (ItemKind::File(_), None) => Err(io::Error::other("its content was not fetched")),
    };
    match placed {
        Ok(true) => Ok(()),
        Ok(false) => Err(ItemInstallError::OtherKind {
            destination: destination.clone(),
            wanted: match item.kind {
                ItemKind::File(_) => "file",
                ItemKind::Directory => "directory",
                ItemKind::Symlink { .. } => "symbolic link",
            },
        }),
        Err(source) => Err(ItemInstallError::Io {
            destination: destination.clone(),
            source,
        }),
    }
}

fn kind_of(path: &Path) -> io::Result<Option<std::fs::Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parent(path: &Path) -> io::Result<&Path> {
    let parent = path
        .parent()
        .expect("an absolute path with a file name has a parent");
    DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(parent)?;
    Ok(parent)
}

/// Creates a directory. False if another kind of file has that path.
fn directory(path: &Path, mode: u32) -> io::Result<bool> {
    // A link to a directory counts as a directory: nothing is changed through it.
    if kind_of(path)?.is_some() {
        return Ok(path.is_dir());
    }
    parent(path)?;
    DirBuilder::new().mode(mode).create(path)?;
    // Set explicitly, independent of the agent's umask.
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(true)
}

fn symlink(path: &Path, target: &str) -> io::Result<bool> {
    if kind_of(path)?.is_some_and(|existing| !existing.is_symlink()) {
        return Ok(false);
    }
    // Created beside the target and renamed over it, so that the link is never missing.
    let made = tempfile::Builder::new()
        .prefix(".tutti-")
        .make_in(parent(path)?, |temporary| {
            std::os::unix::fs::symlink(target, temporary)
        })?;
    made.into_temp_path()
        .persist(path)
        .map_err(|error| error.error)?;
    Ok(true)
}

enum FileInstallError {
    OtherKind,
    Io(io::Error),
}

impl From<io::Error> for FileInstallError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Installs a file. Returns the digest of the content if it is not `sha256`.
fn file(
    item: &FileItem,
    cached: &Path,
    sha256: Sha256,
) -> Result<Option<Sha256>, FileInstallError> {
    let new = FileReplacement::of(&item.destination, item.mode)?;
    let found = copy_hashed(&mut File::open(cached)?, &mut &new.temporary)?;
    if found != sha256 {
        return Ok(Some(found));
    }
    new.persist()?;
    Ok(None)
}

/// Writes a whole file with these bytes; it gets `mode` if it did not exist.
pub(super) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ItemInstallError> {
    let written = FileReplacement::of(path, mode & PERMISSIONS).and_then(|new| {
        (&new.temporary).write_all(bytes)?;
        Ok(new.persist()?)
    });
    let destination = path.to_owned();
    written.map_err(|error| match error {
        FileInstallError::OtherKind => ItemInstallError::OtherKind {
            destination,
            wanted: "file",
        },
        FileInstallError::Io(source) => ItemInstallError::Io {
            destination,
            source,
        },
    })
}

/// A temporary file beside the file that it replaces.
struct FileReplacement<'a> {
    path: &'a Path,
    temporary: NamedTempFile,
    mode: u32,
}

impl<'a> FileReplacement<'a> {
    /// Creates the temporary file; `mode` applies if the target does not exist yet.
    fn of(path: &'a Path, mode: u32) -> Result<Self, FileInstallError> {
        let mode = match kind_of(path)? {
            Some(existing) if !existing.is_file() => return Err(FileInstallError::OtherKind),
            Some(existing) => existing.permissions().mode() & 0o7777,
            None => mode,
        };
        let beside = tempfile::Builder::new()
            .prefix(".tutti-")
            .tempfile_in(parent(path)?)?;
        Ok(Self {
            path,
            temporary: beside,
            mode,
        })
    }

    fn persist(self) -> io::Result<()> {
        let file = self.temporary.as_file();
        file.set_permissions(Permissions::from_mode(self.mode))?;
        file.sync_all()?;
        self.temporary
            .persist(self.path)
            .map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
