//! Access to files below a directory that neither paths nor links may leave: [`open`],
//! [`path_kind`].
//!
//! The kernel resolves the paths (`openat2` with `RESOLVE_BENEATH`), which takes three calls
//! however deep a path is. If the kernel cannot decide, real paths are compared: for an absolute
//! link into the same directory, and on systems without `openat2`.
//!
//! Invariant: the result is below the directory, and is a file or a directory.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use super::is_absent;
use crate::CodeError;

/// The kinds of files that are permitted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermittedFileKind {
    File,
    Directory,
}

/// Opens the file or directory at a path below a directory for reading; `None` if there is nothing.
pub(super) fn open(
    root: &Path,
    path: &Path,
) -> Result<Option<(File, PermittedFileKind)>, CodeError> {
    // Opening a pipe must not block until its other end is opened.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    match open_beneath(root, path, flags) {
        PathResolution::Found(file) => open_file_kind(path, &file).map(|kind| Some((file, kind))),
        PathResolution::Absent => Ok(None),
        PathResolution::Unsure => open_by_real_path(root, path, |real| File::open(real)),
    }
}

/// The kind of the file at a path below a directory, without opening it; `None` if there is
/// nothing.
pub(super) fn path_kind(root: &Path, path: &Path) -> Result<Option<PermittedFileKind>, CodeError> {
    match open_beneath(root, path, OFlags::PATH) {
        PathResolution::Found(file) => open_file_kind(path, &file).map(Some),
        PathResolution::Absent => Ok(None),
        PathResolution::Unsure => {
            Ok(open_by_real_path(root, path, |_| Ok(()))?.map(|((), kind)| kind))
        }
    }
}

/// The kernel's result of resolving a path.
enum PathResolution {
    Found(File),
    Absent,
    /// The path leads outside, or through a link that cannot be distinguished from one that does.
    Unsure,
}

fn open_beneath(root: &Path, path: &Path, flags: OFlags) -> PathResolution {
    let Ok(relative) = path.strip_prefix(root) else {
        return PathResolution::Unsure;
    };
    let relative = match relative.as_os_str().is_empty() {
        true => Path::new("."),
        false => relative,
    };
    let found = openat(
        CWD,
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(|root| {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        openat2(
            root,
            relative,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )
    });
    match found.map_err(io::Error::from) {
        Ok(found) => PathResolution::Found(File::from(found)),
        Err(error) if is_absent(&error) => PathResolution::Absent,
        Err(_) => PathResolution::Unsure,
    }
}

fn open_file_kind(path: &Path, file: &File) -> Result<PermittedFileKind, CodeError> {
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| CodeError::io(path, error))?;
    permitted_kind(path, &metadata)
}

fn permitted_kind(path: &Path, metadata: &Metadata) -> Result<PermittedFileKind, CodeError> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(PermittedFileKind::File),
        (_, true) => Ok(PermittedFileKind::Directory),
        _ => Err(CodeError::refuse(
            path,
            "it is neither a file nor a directory",
        )),
    }
}

/// Resolves a path by comparing real paths.
fn open_by_real_path<T>(
    root: &Path,
    path: &Path,
    open: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<Option<(T, PermittedFileKind)>, CodeError> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Ok(None),
        Err(error) => return Err(CodeError::io(path, error)),
    };
    let root = root
        .canonicalize()
        .map_err(|error| CodeError::io(root, error))?;
    if !real.starts_with(&root) {
        return Err(CodeError::refuse(
            path,
            "it is a link to outside of its module",
        ));
    }
    // Checked before opening: opening a pipe would block until its other end is opened.
    let metadata = real
        .metadata()
        .map_err(|error| CodeError::io(path, error))?;
    let kind = permitted_kind(path, &metadata)?;
    let opened = open(&real).map_err(|error| CodeError::io(path, error))?;
    Ok(Some((opened, kind)))
}
