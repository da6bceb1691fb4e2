//! Metadata of files of a mount, alone or with all below them.
//!
//! Invariant: nothing outside of a module is described, wherever links lead; a link that leads out
//! of its module and is to be followed is no file.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::contained_open::{self, PermittedFileKind};
use super::modules::{ModuleDirectory, check_relative};
use super::mounted_directory::MountedDirectory;
use super::{DirectoryVersion, is_absent, list_names};
use crate::defaults::DIRECTORY_DEPTH;
use crate::file_hashes::FileHashCache;
use crate::{
    CodeError, FileMetadata, FileTreeOptions, FileTreeRequest, LinkHandling, ServedFileKind,
};

/// Permission bits of a file's mode.
const PERMISSION_BITS: u32 = 0o7777;

/// A tree that is being read: files by their relative path, parents before children.
struct FileTree<'r> {
    options: FileTreeOptions<'r>,
    /// Directory in each module; empty for the module's own.
    base: &'static str,
    hashes: &'r FileHashCache,
    files: BTreeMap<String, FileMetadata>,
}

impl DirectoryVersion {
    /// The requested file and those below it.
    pub(super) fn read_file_tree(
        &self,
        request: &FileTreeRequest<'_>,
    ) -> Result<Vec<FileMetadata>, CodeError> {
        let mut tree = FileTree::new(request.tree, request.mount.directory(), &self.hashes)?;
        for module in self.modules_of(request)? {
            tree.add(&module, "", 0)?;
        }
        let is_whole_mount = !request.mount.has_modules() && request.tree.path.is_empty();
        if tree.files.is_empty() && is_whole_mount {
            // agents take an absent mount for an error, and would keep files that are gone
            let metadata = fs::metadata(&self.directory);
            let metadata = metadata.map_err(|error| CodeError::io(&self.directory, error))?;
            return Ok(vec![metadata_of(
                "",
                self.directory.clone(),
                &metadata,
                ServedFileKind::Directory,
            )]);
        }
        match tree.files.is_empty() {
            true => Err(CodeError::UnknownFile {
                mount: request.mount,
            }),
            false => Ok(tree.files.into_values().collect()),
        }
    }

    fn modules_of(&self, request: &FileTreeRequest<'_>) -> Result<Vec<ModuleDirectory>, CodeError> {
        match (request.mount.has_modules(), request.module) {
            (false, None) => self.modules.list_modules(),
            (true, Some(name)) => Ok(self.modules.find_module(name).into_iter().collect()),
            _ => Err(CodeError::InvalidPath {
                problem: "the mounts `plugins`, `pluginfacts` and `locales` have no modules, the others have",
            }),
        }
    }
}

impl<'r> FileTree<'r> {
    fn new(
        options: FileTreeOptions<'r>,
        base: &'static str,
        hashes: &'r FileHashCache,
    ) -> Result<Self, CodeError> {
        if !options.path.is_empty() {
            check_relative(options.path).map_err(|problem| CodeError::InvalidPath { problem })?;
        }
        Ok(Self {
            options,
            base,
            hashes,
            files: BTreeMap::new(),
        })
    }

    /// Adds a file of a module, unless an earlier module has one of the same path, and all below it.
    fn add(
        &mut self,
        module: &ModuleDirectory,
        relative: &str,
        depth: usize,
    ) -> Result<(), CodeError> {
        let below = join(self.base, &join(self.options.path, relative));
        let path = match below.is_empty() {
            true => module.directory.clone(),
            false => module.directory.join(&below),
        };
        let Some(found) = self.describe(module, relative, path)? else {
            return Ok(());
        };
        let is_directory = found.kind == ServedFileKind::Directory;
        let directory = found.path.clone();
        let known = self.files.entry(relative.to_owned()).or_insert(found);
        let merges = known.kind == ServedFileKind::Directory;
        if self.files.len() > self.options.files_max {
            return Err(CodeError::TooManyFiles {
                files_max: self.options.files_max,
            });
        }
        let is_deepest = self.options.depth_max.is_some_and(|max| depth >= max);
        if !is_directory || !merges || is_deepest {
            return Ok(());
        }
        if depth >= DIRECTORY_DEPTH {
            let problem = format!("more than {DIRECTORY_DEPTH} directories deep");
            return Err(CodeError::refuse(directory, problem));
        }
        for name in list_names(&directory)? {
            if !(self.options.is_ignored)(&name) {
                self.add(module, &join(relative, &name), depth + 1)?;
            }
        }
        Ok(())
    }

    fn describe(
        &self,
        module: &ModuleDirectory,
        relative: &str,
        path: PathBuf,
    ) -> Result<Option<FileMetadata>, CodeError> {
        // a mounted directory itself may be a link
        if self.options.links == LinkHandling::Manage
            && path != module.directory
            && let Some(link) = describe_link(module, relative, &path)?
        {
            return Ok(Some(link));
        }
        let opened = match contained_open::open(&module.directory, &path) {
            Ok(opened) => opened,
            Err(error @ CodeError::Refused { .. }) => {
                tracing::warn!(%error, "a file is not served");
                None
            }
            Err(error) => return Err(error),
        };
        let Some((mut file, kind)) = opened else {
            return Ok(None);
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| CodeError::io(&path, error))?;
        let kind = match kind {
            PermittedFileKind::Directory => ServedFileKind::Directory,
            PermittedFileKind::File => {
                let hashed = self.hashes.hash_file(&path, &mut file)?;
                ServedFileKind::File {
                    sha256: hashed.sha256,
                    size_bytes: hashed.size_bytes,
                }
            }
        };
        Ok(Some(metadata_of(relative, path, &metadata, kind)))
    }
}

impl MountedDirectory {
    /// A file and those below it.
    ///
    /// # Errors
    /// There is no such file, there are too many, or one cannot be read.
    pub fn file_tree(&self, options: FileTreeOptions<'_>) -> Result<Vec<FileMetadata>, CodeError> {
        let mut tree = FileTree::new(options, "", &self.hashes)?;
        tree.add(&self.root, "", 0)?;
        match tree.files.is_empty() {
            true => Err(CodeError::UnknownMountedFile),
            false => Ok(tree.files.into_values().collect()),
        }
    }
}

/// The link at a path; `None` if there is something else, or nothing.
fn describe_link(
    module: &ModuleDirectory,
    relative: &str,
    path: &Path,
) -> Result<Option<FileMetadata>, CodeError> {
    let Some(parent) = path.parent() else {
        return Ok(None);
    };
    // the link itself is described, but it must be in the module
    if module.kind_inside(parent)?.is_none() {
        return Ok(None);
    }
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(CodeError::io(path, error)),
    };
    if !metadata.is_symlink() {
        return Ok(None);
    }
    let destination = fs::read_link(path).map_err(|error| CodeError::io(path, error))?;
    let Ok(destination) = destination.into_os_string().into_string() else {
        return Err(CodeError::refuse(
            path,
            "it is a link to a name that is not UTF-8",
        ));
    };
    let kind = ServedFileKind::Link { destination };
    Ok(Some(metadata_of(
        relative,
        path.to_owned(),
        &metadata,
        kind,
    )))
}

fn metadata_of(
    relative: &str,
    path: PathBuf,
    metadata: &Metadata,
    kind: ServedFileKind,
) -> FileMetadata {
    FileMetadata {
        relative_path: relative.to_owned(),
        path,
        mode: metadata.permissions().mode() & PERMISSION_BITS,
        changed_seconds: metadata.ctime(),
        kind,
    }
}

fn join(path: &str, below: &str) -> String {
    match (path.is_empty(), below.is_empty()) {
        (_, true) => path.to_owned(),
        (true, false) => below.to_owned(),
        (false, false) => format!("{path}/{below}"),
    }
}
