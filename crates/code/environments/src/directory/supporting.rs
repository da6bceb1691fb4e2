//! The supporting files of a task: `files` of the metadata and of its implementations.
//!
//! An entry is `<module>/files/…`, `<module>/lib/…`, `<module>/scripts/…` or `<module>/tasks/…`;
//! one that ends with `/` stands for everything below. Invariant: an entry without any file is an
//! error, because without it the task would fail on every node.

use std::collections::HashSet;

use pxp::action::FilePath;
use pxp::task::TaskName;

use super::modules::{Module, check_relative};
use super::within::Kind;
use super::{Version, names_in};
use crate::defaults::{DIRECTORY_DEPTH, TASK_FILES};
use crate::{CodeError, Mount, TaskFile, TaskMetadata};

impl Version {
    /// Adds the supporting files, each once.
    pub(super) fn supporting_files(
        &self,
        task: &TaskName,
        metadata: &TaskMetadata,
        files: &mut Vec<TaskFile>,
    ) -> Result<(), CodeError> {
        let of_implementations = metadata.implementations.iter().flat_map(|one| &one.files);
        let mut seen = HashSet::new();
        for entry in metadata.files.iter().chain(of_implementations) {
            if seen.insert(entry) {
                self.entry(task, entry, files)?;
            }
        }
        Ok(())
    }

    fn entry(
        &self,
        task: &TaskName,
        entry: &str,
        files: &mut Vec<TaskFile>,
    ) -> Result<(), CodeError> {
        let problem = |problem: &str| CodeError::FileEntry {
            task: task.clone(),
            entry: entry.to_owned(),
            problem: problem.to_owned(),
        };
        let place = entry.strip_suffix('/').unwrap_or(entry);
        check_relative(place).map_err(problem)?;
        let mut parts = place.splitn(3, '/');
        let (module, directory) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let mount = Mount::of_directory(directory).ok_or_else(|| {
            problem("an entry is <module>/files/…, <module>/lib/…, <module>/scripts/… or <module>/tasks/…")
        })?;
        let module = self
            .modules
            .find(module)
            .ok_or_else(|| problem("there is no such module"))?;
        let below = parts.next().unwrap_or("");
        let is_directory = entry.ends_with('/');
        let path = module.directory.join(directory).join(below);
        let kind = module
            .inside(&path)?
            .ok_or_else(|| problem("there is no such file"))?;
        match (kind, is_directory) {
            (Kind::Directory, true) => {
                let before = files.len();
                self.directory(task, &module, mount, below, 0, files)?;
                if files.len() == before && !has_files(files, &module, directory, below) {
                    return Err(problem("there is no file in it"));
                }
                Ok(())
            }
            (Kind::File, false) => self.supporting_file(task, &module, mount, below, files),
            (Kind::Directory, false) => Err(problem("it is a directory; end the entry with `/`")),
            (Kind::File, true) => Err(problem("it is a file; end the entry without `/`")),
        }
    }

    fn directory(
        &self,
        task: &TaskName,
        module: &Module,
        mount: Mount,
        below: &str,
        depth: usize,
        files: &mut Vec<TaskFile>,
    ) -> Result<(), CodeError> {
        let directory = module.directory.join(mount.directory()).join(below);
        if depth > DIRECTORY_DEPTH {
            let problem = format!("more than {DIRECTORY_DEPTH} directories deep");
            return Err(CodeError::refused(directory, problem));
        }
        for name in names_in(&directory)? {
            let below = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let path = module.directory.join(mount.directory()).join(&below);
            match module.inside(&path)? {
                Some(Kind::Directory) => {
                    self.directory(task, module, mount, &below, depth + 1, files)?;
                }
                Some(Kind::File) => self.supporting_file(task, module, mount, &below, files)?,
                None => return Err(CodeError::refused(path, "it is a link to nothing")),
            }
        }
        Ok(())
    }

    fn supporting_file(
        &self,
        task: &TaskName,
        module: &Module,
        mount: Mount,
        below: &str,
        files: &mut Vec<TaskFile>,
    ) -> Result<(), CodeError> {
        let in_module = format!("{}/{below}", mount.directory());
        let filename = format!("{}/{in_module}", module.name);
        let path = module.directory.join(&in_module);
        let filename: FilePath = filename
            .parse()
            .map_err(|_| CodeError::refused(&path, "its name cannot be sent to an agent"))?;
        if files.iter().any(|file| file.filename == filename) {
            return Ok(());
        }
        if files.len() >= TASK_FILES {
            return Err(CodeError::FileEntry {
                task: task.clone(),
                entry: in_module,
                problem: format!("a task may have {TASK_FILES} files"),
            });
        }
        let opened = module.open(&in_module)?;
        let (path, mut content) =
            opened.ok_or_else(|| CodeError::refused(path, "it is no file"))?;
        let hashed = self.hashes.of(&path, &mut content)?;
        files.push(TaskFile {
            filename,
            sha256: hashed.sha256,
            size_bytes: hashed.size_bytes,
            uri_path: mount.uri_path(&module.name, below),
            path,
        });
        Ok(())
    }
}

/// True if files of a directory were added by an earlier entry.
fn has_files(files: &[TaskFile], module: &Module, directory: &str, below: &str) -> bool {
    let mut prefix = format!("{}/{directory}/", module.name);
    if !below.is_empty() {
        prefix.push_str(below);
        prefix.push('/');
    }
    files
        .iter()
        .any(|file| file.filename.as_str().starts_with(&prefix))
}
