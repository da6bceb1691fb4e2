//! The code of a plan, read once and pinned. Main type: [`PinnedCode`].
//!
//! If the environment has code versions, a plan reads from the version with which it was started.
//! Each read is a step: the journal stores the hash, the blob store the content. Invariant: a plan
//! that is evaluated again reads the same code, even if the environment was deployed or removed
//! meanwhile.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use environments::{BlobStore, CodeVersion, EnvironmentName, Sha256, TaskMetadata};
use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use jobs::TreeItem;
use plans::{PlanBranch, StepOutcome};
use pxp::task::TaskName;
use serde_json::{Value as Json, json};

use crate::global_layer;
use crate::run::PlanEvaluation;
use crate::task_name::parse_task_name;
use crate::tree;
use crate::world::PlanServices;

/// The environment of a plan; reads are steps of the branch.
pub(crate) struct PinnedCode<'b> {
    branch: &'b PlanBranch<'b>,
    run: &'b PlanEvaluation,
}

/// The locations of data, as they were when the plan first read them.
#[derive(Debug, Default)]
pub(crate) struct DataRoots {
    /// The directory of the environment; `None` if it has none or is unknown.
    pub(crate) environment: Option<PathBuf>,
    /// The configuration file of Hiera's global layer; `None` if there is no such layer.
    pub(crate) hiera_config: Option<PathBuf>,
}

impl DataRoots {
    /// Reads the form in the journal. Journals from before the global layer existed contain only
    /// the environment's directory, as a string.
    fn from_journal(told: &Json) -> Self {
        let directory = told.as_str().or_else(|| told["directory"].as_str());
        Self {
            environment: directory.map(PathBuf::from),
            hiera_config: told["hiera_config"].as_str().map(PathBuf::from),
        }
    }
}

impl<'b> PinnedCode<'b> {
    pub(crate) fn new(branch: &'b PlanBranch<'b>, run: &'b PlanEvaluation) -> Self {
        Self { branch, run }
    }

    /// A step that reads from the code version of the environment.
    fn step(
        &self,
        kind: &'static str,
        arguments: Json,
        read: impl FnOnce(&dyn CodeVersion, &BlobStore) -> Result<Json, String> + 'static,
    ) -> Result<Json, String> {
        let PlanServices { code, blobs, .. } = self.run.world.clone();
        let environment = self.run.launch.environment.clone();
        let code_id = self.run.launch.code_id.clone();
        let compute = move || {
            let version = || -> Result<Json, String> {
                let name: EnvironmentName =
                    environment.parse().map_err(|error| format!("{error}"))?;
                let version = code.version_of(&name, code_id.as_deref());
                let version = version.map_err(|error| error.to_string())?;
                read(&*version, &blobs)
            };
            match version() {
                Ok(value) => StepOutcome::ok(value),
                Err(why) => StepOutcome::failed(Json::from(why)),
            }
        };
        let outcome = self.branch.note(kind, "", arguments, compute);
        let outcome = outcome.map_err(|fault| fault.to_string())?;
        match outcome.ok {
            true => Ok(Json::clone(&outcome.value)),
            false => Err(outcome.value.as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Returns the locations of data.
    pub(crate) fn roots(&self) -> DataRoots {
        let global = self.run.world.hiera_config.clone();
        let told = self.step("environment", Json::Null, move |version, _| {
            Ok(json!({"directory": version.directory(), "hiera_config": global}))
        });
        DataRoots::from_journal(&told.unwrap_or_default())
    }

    /// Returns the content of a file of Hiera's global layer; `None` if it does not exist.
    pub(crate) fn read_global(&self, path: &Path) -> Result<Option<Arc<[u8]>>, String> {
        let wanted = path.to_owned();
        let told = self.step(
            "global_data",
            json!(path),
            move |_, blobs| match global_layer::read(&wanted)? {
                Some(content) => {
                    let kept = blobs.store_content(&content, &wanted.display().to_string());
                    Ok(json!(kept.map_err(|error| error.to_string())?.to_string()))
                }
                None => Ok(Json::Null),
            },
        )?;
        let bytes = told.as_str().map(|it| content(&self.run.world.blobs, it));
        Ok(bytes.transpose()?.map(Into::into))
    }

    /// Returns the entries of a directory of Hiera's global layer: names, and true for directories.
    pub(crate) fn global_entries(&self, directory: &Path) -> Vec<(String, bool)> {
        let wanted = directory.to_owned();
        let told = self.step("global_directory", json!(directory), move |_, _| {
            Ok(json!(global_layer::entries(&wanted)))
        });
        pairs(&told.unwrap_or_default())
    }

    /// Returns the entries of a directory of the environment or of a module: names, and true for
    /// directories.
    pub(crate) fn entries(&self, owner: CodeOwner<'_>, path: &str) -> Vec<(String, bool)> {
        let (of, wanted) = (module_of(owner).map(str::to_owned), path.to_owned());
        let arguments = json!({"module": of, "path": path});
        let told = self.step("directory", arguments, move |version, _| {
            let entries = version.entries(of.as_deref(), &wanted);
            let entries = entries.map_err(|error| error.to_string())?;
            let pairs = entries
                .into_iter()
                .map(|it| json!([it.name, it.is_directory]));
            Ok(pairs.collect())
        });
        pairs(&told.unwrap_or_default())
    }

    /// Returns what `tell` makes of a task's metadata, or the error of a task that does not exist,
    /// both as JSON.
    pub(crate) fn task(
        &self,
        task: &str,
        tell: impl FnOnce(&TaskName, &TaskMetadata) -> Json + 'static,
    ) -> Result<Json, String> {
        let wanted = task.to_owned();
        self.step("task_metadata", json!(task), move |version, _| {
            let found = parse_task_name(&wanted).and_then(|name| {
                let task = version.task(&name);
                let task = task.map_err(|error| plans::task_refusal_error(&error.into()))?;
                Ok((name, task.metadata))
            });
            Ok(match found {
                Ok((name, metadata)) => tell(&name, &metadata),
                Err(error) => json!({"error": error}),
            })
        })
    }

    /// Returns everything below a directory, each directory before its content, with file contents
    /// in the blob store. `None` if the path is not a directory.
    pub(crate) fn read_tree(
        &self,
        module: &str,
        path: &str,
    ) -> Result<Option<Vec<TreeItem>>, String> {
        let (of, wanted) = (module.to_owned(), path.to_owned());
        let arguments = json!({"module": module, "path": path});
        let told = self.step("tree", arguments, move |version, blobs| {
            let items = tree::read(version, blobs, &of, &wanted)?;
            Ok(items.map_or(Json::Null, |items| tree::to_journal_json(&items)))
        })?;
        tree::from_journal_json(&told)
    }

    fn read_pinned(&self, module: Option<&str>, path: &str) -> Result<Option<SourceFile>, String> {
        let arguments = json!({"module": module, "path": path});
        let (of, wanted) = (module.map(str::to_owned), path.to_owned());
        let told = self.step("code", arguments, move |version, blobs| {
            let source = version.source(of.as_deref(), &wanted);
            let Some(source) = source.map_err(|error| error.to_string())? else {
                return Ok(Json::Null);
            };
            let path = source.path.display().to_string();
            let kept = blobs.store_content(&source.content, &path);
            let sha256 = kept.map_err(|error| error.to_string())?;
            Ok(json!({"sha256": sha256.to_string(), "path": path}))
        })?;
        if told.is_null() {
            return Ok(None);
        }
        let text = |key: &str| told[key].as_str().unwrap_or_default();
        let bytes = content(&self.run.world.blobs, text("sha256"))?;
        Ok(Some(SourceFile {
            path: text("path").into(),
            bytes: bytes.into(),
        }))
    }
}

/// Reads the entries of a directory from a step's result: names, and true for directories.
fn pairs(told: &Json) -> Vec<(String, bool)> {
    let pairs = told.as_array().into_iter().flatten();
    pairs
        .filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].as_bool()?)))
        .collect()
}

fn module_of(owner: CodeOwner<'_>) -> Option<&str> {
    match owner {
        CodeOwner::Environment => None,
        CodeOwner::Module(name) => Some(name),
    }
}

fn content(blobs: &BlobStore, sha256: &str) -> Result<Vec<u8>, String> {
    let hash: Sha256 = sha256.parse().map_err(|_| format!("{sha256} is no hash"))?;
    let blob = blobs.open_blob(&hash).map_err(|error| error.to_string())?;
    let Some(mut blob) = blob else {
        return Err(format!(
            "the content that the plan read, {sha256}, is lost; start the plan again"
        ));
    };
    let mut bytes = Vec::new();
    let read = blob.content.read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

impl CodeSource for PinnedCode<'_> {
    fn module(&self, name: &str) -> Option<CodeModule> {
        if let Some(known) = self.run.modules.borrow().get(name) {
            return known.clone();
        }
        let wanted = name.to_owned();
        let told = self.step("module", json!(name), move |version, _| {
            let module = version.module(&wanted).map_err(|error| error.to_string())?;
            Ok(module.map_or(
                Json::Null,
                |module| json!({"path": module.directory, "dependencies": module.dependencies}),
            ))
        });
        let module = told.ok().filter(Json::is_object).map(|told| {
            let listed = told["dependencies"].as_array();
            CodeModule {
                name: name.into(),
                path: told["path"].as_str().unwrap_or_default().into(),
                dependencies: listed
                    .map(|all| all.iter().filter_map(Json::as_str).map(Arc::from).collect()),
            }
        });
        let known = &mut self.run.modules.borrow_mut();
        known.insert(name.into(), module.clone());
        module
    }

    fn modules(&self) -> Vec<Arc<str>> {
        let told = self.step("modules", Json::Null, |version, _| {
            let modules = version.modules().map_err(|error| error.to_string())?;
            Ok(modules
                .into_iter()
                .map(|module| Json::from(module.name))
                .collect())
        });
        let told = told.unwrap_or_default();
        let names = told.as_array().into_iter().flatten();
        names.filter_map(Json::as_str).map(Arc::from).collect()
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let module = module_of(owner);
        let key = (module.map(Arc::from), Arc::from(path));
        if let Some(known) = self.run.files.borrow().get(&key) {
            return Ok(known.clone());
        }
        let file = self
            .read_pinned(module, path)
            .map_err(|cause| CodeReadError {
                path: path.to_owned(),
                cause,
            })?;
        self.run.files.borrow_mut().insert(key, file.clone());
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::DataRoots;

    #[test]
    fn a_journal_of_before_the_global_layer_has_none() {
        let before = DataRoots::from_journal(&json!("/env"));
        assert_eq!(before.environment.as_deref(), Some(Path::new("/env")));
        assert_eq!(before.hiera_config, None);
        let now = DataRoots::from_journal(&json!({"directory": "/env", "hiera_config": "/h.yaml"}));
        assert_eq!(now.environment.as_deref(), Some(Path::new("/env")));
        assert_eq!(now.hiera_config.as_deref(), Some(Path::new("/h.yaml")));
    }
}
