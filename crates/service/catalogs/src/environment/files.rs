//! The files of an environment on disk, as data and as code: [`EnvironmentFiles`].

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use lookup::{DirectoryEntry, FileIdentity, HostError, LookupFiles};
use ruby_workers::HiddenPaths;
use zeroize::Zeroizing;

use super::text_file::{EnvironmentReadError, read_bytes_unless_hidden, read_unless_hidden};
use super::{EnvironmentOnDisk, OutsideFiles};

const NANOSECONDS: i128 = 1_000_000_000;

/// Reads the files of an environment at each call, except those that are hidden from it.
#[derive(Debug)]
pub struct EnvironmentFiles {
    pub(super) environment: EnvironmentOnDisk,
    hidden_paths: HiddenPaths,
    outside_files: Arc<OutsideFiles>,
}

impl EnvironmentFiles {
    /// The files of an environment; none of them is read yet.
    #[must_use]
    pub fn new(environment: EnvironmentOnDisk, hidden_paths: HiddenPaths) -> Self {
        Self {
            environment,
            hidden_paths,
            outside_files: Arc::default(),
        }
    }

    /// Notes the files that are read outside of the environment.
    pub(crate) fn noting(self, outside_files: Arc<OutsideFiles>) -> Self {
        Self {
            outside_files,
            ..self
        }
    }

    /// Reads a text file that code or a setting of the environment names.
    pub(super) fn read_text(&self, path: &Path) -> Result<String, EnvironmentReadError> {
        self.noting_read(path, read_unless_hidden(path, |real| self.note_hides(real)))
    }

    fn read_bytes(&self, path: &Path) -> Result<Vec<u8>, EnvironmentReadError> {
        let read = read_bytes_unless_hidden(path, |real| self.note_hides(real));
        self.noting_read(path, read)
    }

    /// Notes a path that could not be read.
    fn noting_read<T>(
        &self,
        path: &Path,
        read: Result<T, EnvironmentReadError>,
    ) -> Result<T, EnvironmentReadError> {
        if read.is_err() {
            self.outside_files.note(path);
        }
        read
    }

    fn note_hides(&self, real: &Path) -> bool {
        self.outside_files.note(real);
        self.hides(real)
    }

    fn hides(&self, real: &Path) -> bool {
        self.hidden_paths.hides(real, &self.environment.root)
    }

    /// Name of the environment.
    #[must_use]
    pub fn environment(&self) -> &str {
        &self.environment.name
    }
}

impl LookupFiles for EnvironmentFiles {
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        self.outside_files.note(path);
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
        self.read_text(path)
            .map_err(|failure| HostError(failure.into()))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        self.outside_files.note(directory);
        if directory.canonicalize().is_ok_and(|real| self.hides(&real)) {
            return Vec::new();
        }
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
        let metadata = self.read_text(&root.join("metadata.json")).ok();
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
        match self.read_bytes(&path) {
            Ok(bytes) => Ok(Some(SourceFile {
                path: path.to_string_lossy().into(),
                bytes: bytes.into(),
            })),
            Err(EnvironmentReadError::Io { source, .. }) if is_absence(source.kind()) => Ok(None),
            Err(failure) => Err(failure.into()),
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

    use ruby_workers::HiddenPaths;

    use super::{EnvironmentFiles, EnvironmentOnDisk};

    #[test]
    fn a_path_that_leads_out_of_its_owner_is_no_file() {
        // the root is a directory of this crate, so that `..` and the absolute path exist
        let root = env!("CARGO_MANIFEST_DIR");
        let on_disk = EnvironmentOnDisk {
            name: "production".to_owned(),
            root: format!("{root}/src").into(),
            modulepath: vec![root.into()],
            hiera_config: root.into(),
        };
        let files = EnvironmentFiles::new(on_disk, HiddenPaths::default());
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

    #[test]
    fn no_path_link_or_setting_leads_to_hidden_files() {
        let root = tempfile::tempdir().unwrap();
        let path = |below: &str| root.path().join(below);
        for directory in [
            "server/data/files",
            "code/modules/own/files",
            "server/modules/shipped/files",
        ] {
            std::fs::create_dir_all(path(directory)).unwrap();
        }
        for file in [
            "server/data/files/key",
            "code/modules/own/files/file",
            "server/modules/shipped/files/f",
        ] {
            std::fs::write(path(file), "text").unwrap();
        }
        let link = |name: &str| path("code/modules/own/files").join(name);
        std::os::unix::fs::symlink(path("server/data/files/key"), link("link")).unwrap();
        std::os::unix::fs::symlink(path("server"), link("directory")).unwrap();
        let hidden = HiddenPaths {
            hidden: vec![path("server")],
            except: vec![path("server/modules")],
        };
        let on_disk = EnvironmentOnDisk {
            name: "production".to_owned(),
            root: path("code"),
            // the second one as a modulepath of environment.conf may name it
            modulepath: vec![path("code/modules"), path("server"), path("server/modules")],
            hiera_config: path("none"),
        };
        let files = EnvironmentFiles::new(on_disk, hidden);
        let read = |module: &str, path: &str| files.read(CodeOwner::Module(module), path);
        for (module, file) in [
            ("own", "files/link"),
            ("own", "files/directory/data/files/key"),
            ("data", "files/key"),
        ] {
            let error = read(module, file).unwrap_err();
            assert!(
                error.cause.contains("belongs to this server"),
                "{file}: {}",
                error.cause
            );
        }
        let data = lookup::LookupFiles::read(&files, &path("server/data/files/key"));
        assert!(data.is_err());
        assert!(lookup::LookupFiles::entries(&files, &path("server/data/files")).is_empty());
        assert!(read("own", "files/file").unwrap().is_some());
        assert!(read("shipped", "files/f").unwrap().is_some());
    }
}
