//! The supporting files of a task: `files` of the metadata and of its implementations.
//!
//! An entry is `<module>/files/…`, `<module>/lib/…`, `<module>/scripts/…`, `<module>/tasks/…` or
//! `<module>/facts.d/…`;
//! one that ends with `/` stands for everything below.
//!
//! Invariant: an entry without any file is an error, because without it the task would fail on
//! every node.

use std::collections::HashSet;

use pxp::action::FilePath;
use pxp::task::TaskName;

use super::contained_open::PermittedFileKind;
use super::modules::{ModuleDirectory, check_relative};
use super::{DirectoryVersion, list_names};
use crate::defaults::{DIRECTORY_DEPTH, TASK_FILES};
use crate::{CodeError, EnvironmentTask, FileMount, TaskMetadata, TaskSourceFile};

impl DirectoryVersion {
    /// Adds the supporting files, each once.
    pub(super) fn supporting_files(
        &self,
        task: &TaskName,
        metadata: &TaskMetadata,
        files: &mut Vec<TaskSourceFile>,
    ) -> Result<(), CodeError> {
        let of_implementations = metadata.implementations.iter().flat_map(|one| &one.files);
        let mut seen = HashSet::new();
        for entry in metadata.files.iter().chain(of_implementations) {
            if seen.insert(entry) {
                self.add_entry(task, entry, files)?;
            }
        }
        Ok(())
    }

    /// Adds further files, whose entries become a part of the metadata too.
    pub(super) fn add_files(
        &self,
        task: &mut EnvironmentTask,
        entries: &[String],
    ) -> Result<(), CodeError> {
        for entry in entries {
            let entry = match self.kind_of_entry(entry)? {
                Some(PermittedFileKind::Directory) => format!("{}/", entry.trim_end_matches('/')),
                Some(PermittedFileKind::File) => entry.clone(),
                None => continue,
            };
            self.add_entry(&task.name, &entry, &mut task.files)?;
            if !task.metadata.files.contains(&entry) {
                task.metadata.files.push(entry);
            }
        }
        Ok(())
    }

    /// The kind of the file that an entry names; `None` if it names none.
    fn kind_of_entry(&self, entry: &str) -> Result<Option<PermittedFileKind>, CodeError> {
        let place = entry.trim_end_matches('/');
        let found = place
            .split_once('/')
            .filter(|_| check_relative(place).is_ok());
        let Some((module, below)) = found else {
            return Ok(None);
        };
        match self.modules.find_module(module) {
            Some(module) => module.kind_inside(&module.directory.join(below)),
            None => Ok(None),
        }
    }

    fn add_entry(
        &self,
        task: &TaskName,
        entry: &str,
        files: &mut Vec<TaskSourceFile>,
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
        let mount = FileMount::from_directory(directory).ok_or_else(|| {
            problem("an entry is <module>/files/…, <module>/lib/…, <module>/scripts/… or <module>/tasks/…")
        })?;
        let module = self
            .modules
            .find_module(module)
            .ok_or_else(|| problem("there is no such module"))?;
        let below = parts.next().unwrap_or("");
        let is_directory = entry.ends_with('/');
        let path = module.directory.join(directory).join(below);
        let kind = module
            .kind_inside(&path)?
            .ok_or_else(|| problem("there is no such file"))?;
        match (kind, is_directory) {
            (PermittedFileKind::Directory, true) => {
                let before = files.len();
                self.add_directory(task, &module, mount, below, 0, files)?;
                if files.len() == before && !has_files(files, &module, directory, below) {
                    return Err(problem("there is no file in it"));
                }
                Ok(())
            }
            (PermittedFileKind::File, false) => {
                self.read_supporting_file(task, &module, mount, below, files)
            }
            (PermittedFileKind::Directory, false) => {
                Err(problem("it is a directory; end the entry with `/`"))
            }
            (PermittedFileKind::File, true) => {
                Err(problem("it is a file; end the entry without `/`"))
            }
        }
    }

    fn add_directory(
        &self,
        task: &TaskName,
        module: &ModuleDirectory,
        mount: FileMount,
        below: &str,
        depth: usize,
        files: &mut Vec<TaskSourceFile>,
    ) -> Result<(), CodeError> {
        let directory = module.directory.join(mount.directory()).join(below);
        if depth > DIRECTORY_DEPTH {
            let problem = format!("more than {DIRECTORY_DEPTH} directories deep");
            return Err(CodeError::refuse(directory, problem));
        }
        for name in list_names(&directory)? {
            let below = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let path = module.directory.join(mount.directory()).join(&below);
            match module.kind_inside(&path)? {
                Some(PermittedFileKind::Directory) => {
                    self.add_directory(task, module, mount, &below, depth + 1, files)?;
                }
                Some(PermittedFileKind::File) => {
                    self.read_supporting_file(task, module, mount, &below, files)?
                }
                None => return Err(CodeError::refuse(path, "it is a link to nothing")),
            }
        }
        Ok(())
    }

    fn read_supporting_file(
        &self,
        task: &TaskName,
        module: &ModuleDirectory,
        mount: FileMount,
        below: &str,
        files: &mut Vec<TaskSourceFile>,
    ) -> Result<(), CodeError> {
        let in_module = format!("{}/{below}", mount.directory());
        let filename = format!("{}/{in_module}", module.name);
        let path = module.directory.join(&in_module);
        let filename: FilePath = filename
            .parse()
            .map_err(|_| CodeError::refuse(&path, "its name cannot be sent to an agent"))?;
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
        let (path, mut content) = opened.ok_or_else(|| CodeError::refuse(path, "it is no file"))?;
        let hashed = self.hashes.hash_file(&path, &mut content)?;
        files.push(TaskSourceFile {
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
fn has_files(
    files: &[TaskSourceFile],
    module: &ModuleDirectory,
    directory: &str,
    below: &str,
) -> bool {
    let mut prefix = format!("{}/{directory}/", module.name);
    if !below.is_empty() {
        prefix.push_str(below);
        prefix.push('/');
    }
    files
        .iter()
        .any(|file| file.filename.as_str().starts_with(&prefix))
}
