//! Modules on a modulepath, and files in them.
//!
//! [`ModulepathDirectories`] finds, as Puppet does, each module in the first directory that
//! contains it.
//!
//! Invariant: a file is read only if it is inside its module, wherever links lead
//! ([`contained_open`]).

use std::fs::File;
use std::path::{Path, PathBuf};

use super::contained_open::{self, PermittedFileKind};
use super::list_names;
use crate::{CodeError, FileMount};

/// The directories of a modulepath, in order.
#[derive(Debug)]
pub(super) struct ModulepathDirectories {
    modulepath: Vec<PathBuf>,
}

/// A module's directory, or the environment's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModuleDirectory {
    pub(super) name: String,
    pub(super) directory: PathBuf,
}

impl ModulepathDirectories {
    pub(super) fn new(modulepath: Vec<PathBuf>) -> Self {
        Self { modulepath }
    }

    /// All modules, sorted by name.
    pub(super) fn list_modules(&self) -> Result<Vec<ModuleDirectory>, CodeError> {
        let mut modules: Vec<ModuleDirectory> = Vec::new();
        for directory in &self.modulepath {
            for name in list_names(directory)?
                .into_iter()
                .filter(|name| is_module_name(name))
            {
                let directory = directory.join(&name);
                if directory.is_dir() && !modules.iter().any(|module| module.name == name) {
                    modules.push(ModuleDirectory { name, directory });
                }
            }
        }
        modules.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(modules)
    }

    pub(super) fn find_module(&self, name: &str) -> Option<ModuleDirectory> {
        if !is_module_name(name) {
            return None;
        }
        let mut candidates = self.modulepath.iter().map(|directory| directory.join(name));
        let directory = candidates.find(|directory| directory.is_dir())?;
        Some(ModuleDirectory {
            name: name.to_owned(),
            directory,
        })
    }

    /// Opens a file of a mount.
    pub(super) fn open_file(
        &self,
        mount: FileMount,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<(PathBuf, File)>, CodeError> {
        check_relative(path).map_err(|problem| CodeError::InvalidPath { problem })?;
        let candidates = match (mount, module) {
            (mount, None) if !mount.has_modules() => self.list_modules()?,
            (mount, module) if mount.has_modules() != module.is_some() => {
                let problem = "the mounts `plugins`, `pluginfacts` and `locales` have no modules, the others have";
                return Err(CodeError::InvalidPath { problem });
            }
            (_, None) => Vec::new(),
            (_, Some(name)) => self.find_module(name).into_iter().collect(),
        };
        for module in candidates {
            if let Some(found) = module.open(&[mount.directory(), path].join("/"))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl ModuleDirectory {
    /// Opens a regular file below the module; `None` if there is none. The path was checked.
    pub(super) fn open(&self, relative: &str) -> Result<Option<(PathBuf, File)>, CodeError> {
        let path = self.directory.join(relative);
        let found = contained_open::open(&self.directory, &path)?;
        Ok(match found {
            Some((file, PermittedFileKind::File)) => Some((path, file)),
            Some((_, PermittedFileKind::Directory)) | None => None,
        })
    }

    /// The kind of the file at a path in the module, which must not be a device, pipe or socket;
    /// `None` if it does not exist.
    pub(super) fn kind_inside(&self, path: &Path) -> Result<Option<PermittedFileKind>, CodeError> {
        contained_open::path_kind(&self.directory, path)
    }
}

/// Checks a path from outside: relative, without `..`, without empty parts.
pub(super) fn check_relative(path: &str) -> Result<(), &'static str> {
    if path.contains('\0') {
        return Err("it contains a NUL");
    }
    if path.starts_with('/') {
        return Err("it is not relative");
    }
    for part in path.split('/') {
        match part {
            "" => return Err("a part of it is empty"),
            "." | ".." => return Err("a part of it is `.` or `..`"),
            _ => {}
        }
    }
    Ok(())
}

fn is_module_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
