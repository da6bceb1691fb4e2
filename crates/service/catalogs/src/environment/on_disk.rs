//! The location of an environment on disk: [`EnvironmentOnDisk`].

use std::path::{Path, PathBuf};

use super::text_file::{EnvironmentReadError, read_if_exists};

/// An environment on disk.
#[derive(Debug, Clone)]
pub struct EnvironmentOnDisk {
    /// Name of the environment.
    pub name: String,
    /// Directory of the environment.
    pub root: PathBuf,
    /// Directories of modules, the first one that has a module counts.
    pub modulepath: Vec<PathBuf>,
    /// The `hiera.yaml` of the global layer, which need not exist.
    pub hiera_config: PathBuf,
}

impl EnvironmentOnDisk {
    /// The environment in a directory, with the modules that its `environment.conf` names.
    /// `base_modules` are the directories of `$basemodulepath`.
    pub fn open(
        name: &str,
        root: &Path,
        base_modules: &[PathBuf],
        hiera_config: &Path,
    ) -> Result<Self, EnvironmentReadError> {
        let codedir = root.parent().and_then(Path::parent).unwrap_or(root);
        Ok(Self {
            name: name.to_owned(),
            root: root.to_owned(),
            modulepath: module_directories(root, codedir, base_modules)?,
            hiera_config: hiera_config.to_owned(),
        })
    }

    /// True if the manifests may define applications.
    #[must_use]
    pub fn has_applications(&self) -> bool {
        enables_applications(&self.root)
    }
}

/// True if the `environment.conf` in a directory has `applications = true`: manifests may define
/// applications then. A file that cannot be read has no settings here; it is an error wherever its modules
/// are looked for.
#[must_use]
pub fn enables_applications(root: &Path) -> bool {
    let settings = read_if_exists(&root.join("environment.conf"));
    let settings = settings.ok().flatten().unwrap_or_default();
    setting(&settings, "applications").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The directories of modules that `environment.conf` names, or Puppet's own. `base` are those of
/// `$basemodulepath`.
pub fn module_directories(
    root: &Path,
    codedir: &Path,
    base: &[PathBuf],
) -> Result<Vec<PathBuf>, EnvironmentReadError> {
    let settings = read_if_exists(&root.join("environment.conf"))?;
    let configured = settings
        .as_deref()
        .and_then(|text| setting(text, "modulepath"));
    let configured = configured.unwrap_or("modules:$basemodulepath");
    let configured = configured.replace("$codedir", &codedir.to_string_lossy());
    let mut directories = Vec::new();
    for path in configured.split(':').filter(|path| !path.is_empty()) {
        match path {
            "$basemodulepath" => directories.extend(base.iter().cloned()),
            path => directories.push(root.join(path)),
        }
    }
    Ok(directories)
}

/// The value of a setting of an `environment.conf`.
pub(super) fn setting<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    environments::environment_conf_setting(text, name).map(|(_, value)| value)
}
