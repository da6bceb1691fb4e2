//! The files of an environment on disk, as data and as code: [`EnvironmentFiles`].

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use lookup::{DirectoryEntry, FileIdentity, HostError, LookupFiles};
use zeroize::Zeroizing;

use super::EnvironmentOnDisk;
use super::text_file::{EnvironmentReadError, read_if_exists, read_limited};

const NANOSECONDS: i128 = 1_000_000_000;

/// Reads the files of an environment at each call.
#[derive(Debug)]
pub struct EnvironmentFiles {
    pub(super) environment: EnvironmentOnDisk,
}

impl EnvironmentFiles {
    /// The files of an environment; none of them is read yet.
    #[must_use]
    pub fn from_environment(environment: EnvironmentOnDisk) -> Self {
        Self { environment }
    }

    /// Name of the environment.
    #[must_use]
    pub fn environment(&self) -> &str {
        &self.environment.name
    }
}

impl LookupFiles for EnvironmentFiles {
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        let metadata = std::fs::metadata(path).ok()?;
        let seconds = i128::from(metadata.ctime());
        Some(FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed_nanoseconds: seconds * NANOSECONDS + i128::from(metadata.ctime_nsec()),
        })
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        read_limited(path).map_err(|failure| HostError(failure.into()))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        let entry = |entry: std::fs::DirEntry| DirectoryEntry {
            name: entry.file_name().to_string_lossy().into_owned(),
            is_directory: entry.path().is_dir(),
        };
        entries.filter_map(Result::ok).map(entry).collect()
    }

    fn module_root(&self, module: &str) -> Option<PathBuf> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if module.is_empty() || !module.chars().all(is_name) {
            return None;
        }
        let modulepath = self.environment.modulepath.iter();
        let mut roots = modulepath.map(|path| path.join(module));
        roots.find(|root| root.is_dir())
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        LookupFiles::read(self, path).map(Zeroizing::new)
    }
}

impl CodeSource for EnvironmentFiles {
    fn module(&self, name: &str) -> Option<CodeModule> {
        let root = self.module_root(name)?;
        let metadata = read_if_exists(&root.join("metadata.json")).ok().flatten();
        Some(CodeModule {
            name: name.into(),
            path: root.to_string_lossy().into(),
            dependencies: metadata.as_deref().and_then(dependencies),
        })
    }

    fn modules(&self) -> Vec<Arc<str>> {
        let modulepath = self.environment.modulepath.iter();
        let entries = modulepath.flat_map(|path| self.entries(path));
        let mut names: Vec<Arc<str>> = entries
            .filter(|entry| entry.is_directory)
            .map(|entry| entry.name.into())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        // a manifest may name the file, so the path is never one that leads out of its owner
        let mut parts = Path::new(path).components();
        if !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Ok(None);
        }
        let root = match owner {
            CodeOwner::Environment => Some(self.environment.root.clone()),
            CodeOwner::Module(name) => self.module_root(name),
        };
        let Some(path) = root.map(|root| root.join(path)) else {
            return Ok(None);
        };
        match read_limited(&path) {
            Ok(text) => Ok(Some(SourceFile {
                path: path.to_string_lossy().into(),
                bytes: text.into_bytes().into(),
            })),
            Err(EnvironmentReadError::Io { source, .. }) if is_absence(source.kind()) => Ok(None),
            Err(failure) => Err(CodeReadError {
                path: path.display().to_string(),
                cause: failure.to_string(),
            }),
        }
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The modules named in a metadata.json, without their owners.
fn dependencies(metadata: &str) -> Option<Vec<Arc<str>>> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).ok()?;
    let dependencies = metadata.get("dependencies")?.as_array()?;
    let name = |dependency: &serde_json::Value| {
        let name = dependency.get("name")?.as_str()?;
        name.rsplit(['-', '/']).next().map(Arc::from)
    };
    Some(dependencies.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use evaluator::{CodeOwner, CodeSource as _};

    use super::{EnvironmentFiles, EnvironmentOnDisk};

    #[test]
    fn a_path_that_leads_out_of_its_owner_is_no_file() {
        // the root is a directory of this crate, so that `..` and the absolute path exist
        let root = env!("CARGO_MANIFEST_DIR");
        let files = EnvironmentFiles::from_environment(EnvironmentOnDisk {
            name: "production".to_owned(),
            root: format!("{root}/src").into(),
            modulepath: vec![root.into()],
            hiera_config: root.into(),
        });
        let read = |path: &str| {
            let found = files.read(CodeOwner::Environment, path).unwrap();
            let in_module = files.read(CodeOwner::Module("src"), path).unwrap();
            assert_eq!(found.is_some(), in_module.is_some(), "{path}");
            found.is_some()
        };
        assert!(read("lib.rs"));
        for path in ["../Cargo.toml", "environment/../lib.rs", "./lib.rs"] {
            assert!(!read(path), "{path}");
        }
        assert!(!read(&format!("{root}/Cargo.toml")));
    }
}
