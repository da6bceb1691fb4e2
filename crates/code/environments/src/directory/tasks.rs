//! Tasks of a module: `tasks/<task>.json` and the executable files.
//!
//! Invariant: the executable file is never guessed. Several files with the task's name and no
//! `implementations` in the metadata are an error that names them.

use std::collections::BTreeMap;
use std::io::Read;

use pxp::action::FilePath;
use pxp::task::TaskName;

use super::modules::{ModuleDirectory, check_relative};
use super::type_aliases::TypeAliases;
use super::{DirectoryVersion, list_names};
use crate::defaults::METADATA_BYTES;
use crate::{CodeError, EnvironmentTask, FileMount, TaskMetadata, TaskSourceFile, TaskSummary};

const METADATA: &str = "json";

/// Extensions of files that Puppet does not treat as tasks.
const NOT_RUN: [&str; 3] = [METADATA, "conf", "md"];

/// The files in `tasks/` with a task's name.
#[derive(Debug, Default)]
struct TaskNameFiles {
    metadata: Option<String>,
    executables: Vec<String>,
}

// === impl DirectoryVersion ===

impl DirectoryVersion {
    pub(super) fn list_tasks(&self) -> Result<Vec<TaskSummary>, CodeError> {
        let mut summaries = Vec::new();
        let aliases = TypeAliases::new(self);
        for module in self.modules.list_modules()? {
            let found = list_files_by_task(&module).unwrap_or_else(|problem| {
                // A module that cannot be read does not hide tasks of the others, and is listed
                // itself.
                summaries.extend(module.name.parse().ok().map(|name| TaskSummary {
                    name,
                    description: None,
                    private: false,
                    problem: Some(problem),
                }));
                BTreeMap::new()
            });
            for (task, files) in found {
                if let Ok(name) = TaskName::from_parts(&module.name, &task) {
                    summaries.push(self.task_summary(&module, name, &files, &aliases));
                }
            }
        }
        summaries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(summaries)
    }

    pub(super) fn read_task(&self, name: &TaskName) -> Result<EnvironmentTask, CodeError> {
        let unknown = || CodeError::UnknownTask {
            task: name.clone(),
            environment: self.environment.clone(),
        };
        let module = self
            .modules
            .find_module(name.module())
            .ok_or_else(unknown)?;
        let found = list_files_by_task(&module)?.remove(name.task());
        let own = found.unwrap_or_default();
        if own.metadata.is_none() && own.executables.is_empty() {
            return Err(unknown());
        }
        let metadata = read_metadata(&module, &own, &TypeAliases::new(self))?;
        let mut files = Vec::new();
        for executable in find_executables(&module, name, &own, &metadata)? {
            files.push(self.find_executable(&module, name, &executable)?);
        }
        self.supporting_files(name, &metadata, &mut files)?;
        Ok(EnvironmentTask {
            name: name.clone(),
            metadata,
            files,
        })
    }

    fn task_summary(
        &self,
        module: &ModuleDirectory,
        name: TaskName,
        files: &TaskNameFiles,
        aliases: &TypeAliases<'_>,
    ) -> TaskSummary {
        let read = read_metadata(module, files, aliases);
        let problem = match &read {
            Ok(metadata) => find_executables(module, &name, files, metadata)
                .and_then(|_| self.supporting_files(&name, metadata, &mut Vec::new()))
                .err(),
            Err(error) => Some(error.clone()),
        };
        let metadata = read.unwrap_or_default();
        TaskSummary {
            name,
            description: metadata.description,
            private: metadata.private,
            problem,
        }
    }

    fn find_executable(
        &self,
        module: &ModuleDirectory,
        task: &TaskName,
        file: &str,
    ) -> Result<TaskSourceFile, CodeError> {
        let wanted = format!("tasks/{file}");
        let missing = || CodeError::NoExecutable {
            task: task.clone(),
            wanted: wanted.clone(),
        };
        let (path, mut content) = module.open(&wanted)?.ok_or_else(missing)?;
        let filename: FilePath = file
            .parse()
            .map_err(|_| CodeError::refuse(&path, "its name cannot be sent"))?;
        let hashed = self.hashes.hash_file(&path, &mut content)?;
        Ok(TaskSourceFile {
            filename,
            sha256: hashed.sha256,
            size_bytes: hashed.size_bytes,
            uri_path: FileMount::Tasks.uri_path(&module.name, file),
            path,
        })
    }
}

fn list_files_by_task(
    module: &ModuleDirectory,
) -> Result<BTreeMap<String, TaskNameFiles>, CodeError> {
    let directory = module.directory.join("tasks");
    if module.kind_inside(&directory)?.is_none() {
        return Ok(BTreeMap::new());
    }
    let mut tasks: BTreeMap<String, TaskNameFiles> = BTreeMap::new();
    for name in list_names(&directory)? {
        let (stem, extension) = name.split_once('.').unwrap_or((&name, ""));
        let task = stem.to_owned();
        if extension == METADATA {
            tasks.entry(task).or_default().metadata = Some(name);
        // Editors leave `init.sh~` and `init.sh.orig`; Puppet accepts one alphanumeric extension
        // only.
        } else if extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !NOT_RUN.contains(&extension)
            && !directory.join(&name).is_dir()
        {
            tasks.entry(task).or_default().executables.push(name);
        }
    }
    Ok(tasks)
}

fn read_metadata(
    module: &ModuleDirectory,
    files: &TaskNameFiles,
    aliases: &TypeAliases<'_>,
) -> Result<TaskMetadata, CodeError> {
    let Some(name) = &files.metadata else {
        return Ok(TaskMetadata::default());
    };
    let relative = format!("tasks/{name}");
    let path = module.directory.join(&relative);
    let Some((path, file)) = module.open(&relative)? else {
        return Err(CodeError::refuse(path, "it is not a file"));
    };
    let mut content = Vec::new();
    // One byte more than the limit is enough to detect an excess.
    let read = file.take(METADATA_BYTES + 1).read_to_end(&mut content);
    read.map_err(|error| CodeError::io(&path, error))?;
    TaskMetadata::parse(&content, &|name| aliases.find_alias(name))
        .map_err(|problem| CodeError::Metadata { path, problem })
}

/// The names of the executable files, in order of preference.
fn find_executables(
    module: &ModuleDirectory,
    task: &TaskName,
    files: &TaskNameFiles,
    metadata: &TaskMetadata,
) -> Result<Vec<String>, CodeError> {
    if metadata.implementations.is_empty() {
        return match files.executables.as_slice() {
            [only] => Ok(vec![only.clone()]),
            [] => {
                let wanted = format!("tasks/{} with any extension", task.task());
                Err(CodeError::NoExecutable {
                    task: task.clone(),
                    wanted,
                })
            }
            several => Err(CodeError::Ambiguous {
                task: task.clone(),
                files: several.iter().map(|name| format!("tasks/{name}")).collect(),
            }),
        };
    }
    let mut names: Vec<String> = Vec::new();
    for implementation in &metadata.implementations {
        let name = &implementation.name;
        if name.contains('/') || check_relative(name).is_err() {
            return Err(CodeError::FileEntry {
                task: task.clone(),
                entry: name.clone(),
                problem: "an implementation is the name of a file in the same directory".to_owned(),
            });
        }
        if !module.directory.join("tasks").join(name).is_file() {
            let wanted = format!("tasks/{name}");
            return Err(CodeError::NoExecutable {
                task: task.clone(),
                wanted,
            });
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}
