//! The code of an environment on disk for a compiler of catalogs: site manifests, `environment.conf`.
//!
//! Invariant: manifests of a directory are read in the order of their paths, as Puppet reads them.

use std::path::{Path, PathBuf};

use compiler::CompilerSource;
use evaluator::{CodeReadError, CodeSource, SourceFile};
use lookup::LookupFiles;

use super::EnvironmentFiles;
use super::on_disk::setting;
use super::text_file::read_if_exists;
use crate::defaults::{MANIFEST_DEPTH_MAX, MANIFESTS_MAX};

impl CompilerSource for EnvironmentFiles {
    fn as_code(&self) -> &dyn CodeSource {
        self
    }

    fn as_files(&self) -> &dyn LookupFiles {
        self
    }

    fn site_manifests(&self) -> Result<Vec<SourceFile>, CodeReadError> {
        let paths = self.site_manifest_paths()?;
        paths.iter().map(|path| self.read_manifest(path)).collect()
    }

    fn directory(&self) -> String {
        self.environment.root.display().to_string()
    }
}

impl EnvironmentFiles {
    /// The paths of the site manifests, in the order in which they are read.
    pub(super) fn site_manifest_paths(&self) -> Result<Vec<PathBuf>, CodeReadError> {
        let manifest = self.manifest_path()?;
        let mut paths = Vec::new();
        if manifest.is_dir() {
            find_manifests(&manifest, MANIFEST_DEPTH_MAX, &mut paths)?;
            // as texts: `a.pp` comes before `a/b.pp`
            paths.sort_by_cached_key(|path| path.to_string_lossy().into_owned());
        } else if manifest.exists() {
            paths.push(manifest);
        }
        Ok(paths)
    }

    fn read_manifest(&self, path: &Path) -> Result<SourceFile, CodeReadError> {
        match self.read_text(path) {
            Ok(text) => Ok(SourceFile {
                path: path.to_string_lossy().into(),
                bytes: text.into_bytes().into(),
            }),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The manifest that `environment.conf` names, or the directory `manifests`.
    fn manifest_path(&self) -> Result<PathBuf, CodeReadError> {
        let root = &self.environment.root;
        let path = root.join("environment.conf");
        let settings = read_if_exists(&path)?;
        let manifest = settings
            .as_deref()
            .and_then(|text| setting(text, "manifest"));
        Ok(root.join(manifest.unwrap_or("manifests")))
    }
}

/// Adds the manifests below a directory.
pub(super) fn find_manifests(
    directory: &Path,
    depth_left: usize,
    paths: &mut Vec<PathBuf>,
) -> Result<(), CodeReadError> {
    let unreadable = |cause: String| CodeReadError {
        path: directory.display().to_string(),
        cause,
    };
    if depth_left == 0 {
        return Err(unreadable(
            "directories are too deep inside each other".to_owned(),
        ));
    }
    let entries = std::fs::read_dir(directory).map_err(|error| unreadable(error.to_string()))?;
    for entry in entries {
        let path = entry.map_err(|error| unreadable(error.to_string()))?.path();
        let name = path
            .file_name()
            .map(|it| it.to_string_lossy().to_lowercase());
        if name.as_ref().is_some_and(|name| name.starts_with('.')) {
            continue;
        }
        if path.is_dir() {
            find_manifests(&path, depth_left - 1, paths)?;
        } else if name.is_some_and(|name| name.ends_with(".pp")) {
            paths.push(path);
        }
        if paths.len() > MANIFESTS_MAX {
            return Err(unreadable(format!("more than {MANIFESTS_MAX} manifests")));
        }
    }
    Ok(())
}
