//! Code in a directory with Puppet's layout: `<codedir>/environments/<environment>`.
//!
//! [`EnvironmentDir`] resolves the link of an environment once, when a version of it is opened:
//! that version reads the same directory from then on, even if the link is switched meanwhile. An
//! environment that is a plain directory has no versions: each call reads its current content, and
//! [`CodeVersion::code_id`] is `None`.

mod contained_open;
mod environment_conf;
mod file_trees;
mod modules;
mod mounted_directory;
mod plans;
mod sources;
mod supporting_files;
mod tasks;
mod type_aliases;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::Type;
use pxp::task::TaskName;

pub use self::environment_conf::environment_conf_setting;
use self::modules::ModulepathDirectories;
pub use self::mounted_directory::{MountedDirectory, MountedFileHashes};
use self::type_aliases::TypeAliases;
use crate::file_hashes::FileHashCache;
use crate::{
    CodeDirectoryEntry, CodeError, CodeFile, CodeReader, CodeVersion, EnvironmentModule,
    EnvironmentName, EnvironmentPlanSource, EnvironmentTask, EvaluationSource, FileMetadata,
    FileMount, FileTreeRequest, PlanName, PlanSummary, TaskSummary,
};

/// Length of the signature in a version's directory name, as in Puppet Enterprise.
const SIGNATURE_DIGITS: usize = 40;

/// The environments of one code directory.
#[derive(Clone, Debug)]
pub struct EnvironmentDir {
    codedir: PathBuf,
    basemodulepath: Vec<PathBuf>,
    shipped: Vec<PathBuf>,
    versions: Option<PathBuf>,
    hashes: Arc<FileHashCache>,
}

/// One version of an environment, with its `environment.conf` as of opening.
#[derive(Debug)]
struct DirectoryVersion {
    environment: EnvironmentName,
    directory: PathBuf,
    code_id: Option<String>,
    modules: ModulepathDirectories,
    hashes: Arc<FileHashCache>,
}

// === impl EnvironmentDir ===

impl EnvironmentDir {
    /// The code below `codedir`; modules of all environments are in `<codedir>/modules`.
    pub fn new(codedir: impl Into<PathBuf>) -> Self {
        let codedir = codedir.into();
        let basemodulepath = vec![codedir.join("modules")];
        Self {
            codedir,
            basemodulepath,
            shipped: Vec::new(),
            versions: None,
            hashes: Arc::default(),
        }
    }

    /// Adds a directory with modules that every environment has, regardless of its modulepath, after
    /// all others.
    #[must_use]
    pub fn with_modules(mut self, directory: impl Into<PathBuf>) -> Self {
        self.shipped.push(directory.into());
        self
    }

    /// Sets the directory of versions. The directory of the live version is searched too, while
    /// there is one.
    #[must_use]
    pub fn with_versions(mut self, directory: impl Into<PathBuf>) -> Self {
        self.versions = Some(directory.into());
        self
    }

    fn environments_dir(&self) -> PathBuf {
        self.codedir.join("environments")
    }

    /// The directory of the live version: the link is followed one level, as in Puppet.
    fn live_directory(&self, environment: &EnvironmentName) -> PathBuf {
        let live = self.environments_dir().join(environment.as_str());
        fs::read_link(&live).map_or(live, |target| self.environments_dir().join(target))
    }

    fn existing_live_directory(&self, environment: &EnvironmentName) -> Result<PathBuf, CodeError> {
        let directory = self.live_directory(environment);
        match fs::metadata(&directory) {
            Ok(found) if found.is_dir() => Ok(directory),
            // A directory that exists but is not accessible is not an error in its name.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(CodeError::io(directory, error))
            }
            _ => Err(CodeError::UnknownEnvironment {
                environment: environment.clone(),
                path: directory,
            }),
        }
    }

    /// The directory of the version with a code id; `None`: it does not exist, or the id is not of
    /// a version of this environment.
    fn version_directory(&self, environment: &EnvironmentName, code_id: &str) -> Option<PathBuf> {
        let (signature, of) = code_id.strip_prefix(CODE_ID)?.split_once(';')?;
        if of != environment.as_str() || !is_signature(signature) {
            return None;
        }
        let name = format!("{environment}_{signature}");
        // Another tool may keep its versions in a different directory, side by side.
        let beside = self
            .live_directory(environment)
            .parent()
            .map(Path::to_owned);
        let mut places = self.versions.iter().cloned().chain(beside);
        places.find_map(|versions| Some(versions.join(&name)).filter(|version| version.is_dir()))
    }

    /// Opens a version of an environment in this directory, live or not.
    pub fn open(
        &self,
        environment: &EnvironmentName,
        directory: PathBuf,
    ) -> Result<Arc<dyn CodeVersion>, CodeError> {
        let surroundings = environment_conf::ModulepathContext {
            codedir: &self.codedir,
            environment,
            directory: &directory,
            basemodulepath: &self.basemodulepath,
        };
        let mut modulepath = environment_conf::resolve_modulepath(&surroundings)?;
        modulepath.extend_from_slice(&self.shipped);
        Ok(Arc::new(DirectoryVersion {
            environment: environment.clone(),
            code_id: code_id_of(environment, &directory),
            directory,
            modules: ModulepathDirectories::new(modulepath),
            hashes: Arc::clone(&self.hashes),
        }))
    }
}

/// Prefix of code ids.
const CODE_ID: &str = "urn:puppet:code-id:1:";

fn is_signature(text: &str) -> bool {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    text.len() == SIGNATURE_DIGITS && text.bytes().all(is_digit)
}

/// The code id of a version's directory, `<environment>_<40 hexadecimal digits>`; `None` for
/// others.
fn code_id_of(environment: &EnvironmentName, directory: &Path) -> Option<String> {
    let name = directory.file_name()?.to_str()?;
    let signature = name.strip_prefix(environment.as_str())?.strip_prefix('_')?;
    is_signature(signature).then(|| format!("{CODE_ID}{signature};{environment}"))
}

impl CodeReader for EnvironmentDir {
    fn environments(&self) -> Result<Vec<EnvironmentName>, CodeError> {
        let directory = self.environments_dir();
        let mut names: Vec<EnvironmentName> = list_names(&directory)?
            .iter()
            // An entry without a valid name, or not a directory, is not an environment:
            // puppetserver ignores it, too.
            .filter(|name| directory.join(name).is_dir())
            .filter_map(|name| name.parse().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    fn directory_of(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<PathBuf, CodeError> {
        let Some(code_id) = code_id else {
            return self.existing_live_directory(environment);
        };
        self.version_directory(environment, code_id)
            .ok_or_else(|| CodeError::UnknownVersion {
                environment: environment.clone(),
                code_id: code_id.to_owned(),
            })
    }

    fn version_of(
        &self,
        environment: &EnvironmentName,
        code_id: Option<&str>,
    ) -> Result<Arc<dyn CodeVersion>, CodeError> {
        self.open(environment, self.directory_of(environment, code_id)?)
    }
}

impl CodeVersion for DirectoryVersion {
    fn environment(&self) -> &EnvironmentName {
        &self.environment
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn code_id(&self) -> Option<&str> {
        self.code_id.as_deref()
    }

    fn tasks(&self) -> Result<Vec<TaskSummary>, CodeError> {
        self.list_tasks()
    }

    fn task(&self, name: &TaskName) -> Result<EnvironmentTask, CodeError> {
        self.read_task(name)
    }

    fn plans(&self) -> Result<Vec<PlanSummary>, CodeError> {
        self.list_plans()
    }

    fn plan(&self, name: &PlanName) -> Result<EnvironmentPlanSource, CodeError> {
        self.read_plan(name)
    }

    fn type_alias(&self, name: &str) -> Option<Type> {
        TypeAliases::new(self).find_alias(name)
    }

    fn modules(&self) -> Result<Vec<EnvironmentModule>, CodeError> {
        self.list_modules()
    }

    fn module(&self, name: &str) -> Result<Option<EnvironmentModule>, CodeError> {
        self.find_module(name)
    }

    fn source(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<EvaluationSource>, CodeError> {
        self.read_source(module, path)
    }

    fn entries(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Vec<CodeDirectoryEntry>, CodeError> {
        self.list_entries(module, path)
    }

    fn add_task_files(
        &self,
        task: &mut EnvironmentTask,
        entries: &[String],
    ) -> Result<(), CodeError> {
        self.add_files(task, entries)
    }

    fn file_tree(&self, request: &FileTreeRequest<'_>) -> Result<Vec<FileMetadata>, CodeError> {
        self.read_file_tree(request)
    }

    fn file(
        &self,
        mount: FileMount,
        module: Option<&str>,
        path: &str,
    ) -> Result<CodeFile, CodeError> {
        let found = self.modules.open_file(mount, module, path)?;
        let (path, mut content) = found.ok_or(CodeError::UnknownFile { mount })?;
        let hashed = self.hashes.hash_file(&path, &mut content)?;
        Ok(CodeFile {
            sha256: hashed.sha256,
            size_bytes: hashed.size_bytes,
            content,
        })
    }
}

/// The names in a directory, sorted; empty if it does not exist. A name that is not UTF-8 cannot be
/// the name of anything here, and is omitted.
fn list_names(directory: &Path) -> Result<Vec<String>, CodeError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(CodeError::io(directory, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| CodeError::io(directory, error))?;
        match entry.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(name) => tracing::debug!(?directory, ?name, "ignored: its name is not UTF-8"),
        }
    }
    names.sort();
    Ok(names)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
