//! The options that name an environment on disk: [`EnvironmentLocation`].

use std::path::{Path, PathBuf};

use catalogs::{EnvironmentOnDisk, EnvironmentReadError, module_directories};
use cli::CommandFailure;

/// Code directories with their configuration directories; the first that exists is used.
const DIRECTORIES: [(&str, &str); 2] = [
    ("/etc/puppetlabs/code", "/etc/puppetlabs/puppet"),
    ("/etc/puppet/code", "/etc/puppet"),
];
/// Module directories in addition to those of the code directory.
const VENDOR_MODULES: [&str; 2] = [
    "/opt/puppetlabs/puppet/modules",
    "/usr/share/puppet/modules",
];

/// Options for the directories, named as in Puppet.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentLocation {
    /// Name of the environment [default: production]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Directories of environments, separated by colons
    #[arg(long, value_name = "DIR:DIR", value_delimiter = ':')]
    environmentpath: Vec<PathBuf>,
    /// Directory that contains `environments` and `modules`
    #[arg(long, value_name = "DIR")]
    codedir: Option<PathBuf>,
    /// Directories of modules, separated by colons, instead of those in environment.conf
    #[arg(long, value_name = "DIR:DIR", value_delimiter = ':')]
    modulepath: Vec<PathBuf>,
    /// The hiera.yaml of the global layer
    #[arg(long = "hiera_config", alias = "hiera-config", value_name = "FILE")]
    hiera_config: Option<PathBuf>,
}

/// Puppet's default environment.
const DEFAULT_ENVIRONMENT: &str = "production";

impl EnvironmentLocation {
    /// Name of the environment, if it was given.
    pub(crate) fn given_name(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    fn name(&self) -> &str {
        self.given_name().unwrap_or(DEFAULT_ENVIRONMENT)
    }

    /// Finds the environment; an error names the directories that were searched.
    pub(crate) fn find(&self) -> Result<EnvironmentOnDisk, CommandFailure> {
        let name = self.name();
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(word) {
            return Err(CommandFailure::Usage(format!(
                "Invalid environment name '{name}'"
            )));
        }
        let there = |it: &&(&str, &str)| Path::new(it.0).is_dir();
        let (codedir, confdir) = *DIRECTORIES.iter().find(there).unwrap_or(&DIRECTORIES[0]);
        let codedir = self.codedir.clone().unwrap_or_else(|| codedir.into());
        let environmentpath = match self.environmentpath.as_slice() {
            [] => vec![codedir.join("environments")],
            given => given.to_vec(),
        };
        let mut roots = environmentpath.iter().map(|path| path.join(name));
        let Some(root) = roots.find(|root| root.is_dir()) else {
            return Err(CommandFailure::Usage(format!(
                "Could not find a directory environment named '{name}' anywhere in the path: {}. \
                 Does the directory exist?",
                join_paths(&environmentpath)
            )));
        };
        let root = std::path::absolute(&root).unwrap_or(root);
        let global = codedir.join("hiera.yaml");
        let hiera_config = match &self.hiera_config {
            Some(given) => given.clone(),
            None if global.exists() => global,
            None => Path::new(confdir).join("hiera.yaml"),
        };
        Ok(EnvironmentOnDisk {
            name: name.to_owned(),
            modulepath: self.modules(&root, &codedir)?,
            hiera_config: std::path::absolute(&hiera_config).unwrap_or(hiera_config),
            root,
        })
    }

    /// The environment in a directory of any place, such as a checkout of a control repository.
    pub(crate) fn in_directory(
        &self,
        directory: &Path,
    ) -> Result<EnvironmentOnDisk, CommandFailure> {
        if !directory.is_dir() {
            return Err(CommandFailure::Usage(format!(
                "{} is no directory",
                directory.display()
            )));
        }
        let root = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Ok(EnvironmentOnDisk {
            name: self.name().to_owned(),
            modulepath: self.modules(&root, &root)?,
            hiera_config: match &self.hiera_config {
                Some(given) => given.clone(),
                None => Path::new(DIRECTORIES[0].1).join("hiera.yaml"),
            },
            root,
        })
    }

    fn modules(&self, root: &Path, codedir: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
        if !self.modulepath.is_empty() {
            return Ok(self.modulepath.clone());
        }
        let mut base = vec![codedir.join("modules")];
        base.extend(VENDOR_MODULES.map(PathBuf::from));
        module_directories(root, codedir, &base).map_err(failure)
    }
}

/// The failure of a command whose environment cannot be read.
fn failure(error: EnvironmentReadError) -> CommandFailure {
    match error {
        EnvironmentReadError::Io { path, source } => CommandFailure::Read { path, source },
        // this program hides nothing from the environments of its user
        error @ EnvironmentReadError::Hidden { .. } => CommandFailure::Usage(error.to_string()),
        EnvironmentReadError::TooLarge { path, .. } => CommandFailure::Content {
            place: path.display().to_string(),
            what: "it is too large".to_owned(),
        },
    }
}

fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
    paths.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_say_where_their_modules_are() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("environments/test");
        std::fs::create_dir_all(&root).expect("an environment");
        let conf = "# modulepath = no\nmanifest = x\nmodulepath = site:/abs:$basemodulepath\n";
        std::fs::write(root.join("environment.conf"), conf).expect("a file");
        let place = EnvironmentLocation {
            environment: Some("test".to_owned()),
            environmentpath: Vec::new(),
            codedir: Some(directory.path().to_owned()),
            modulepath: Vec::new(),
            hiera_config: None,
        };
        let found = place.find().expect("an environment");
        let expected = [
            root.join("site"),
            "/abs".into(),
            directory.path().join("modules"),
        ];
        assert_eq!(found.modulepath[..3], expected);
        let missing = EnvironmentLocation {
            environment: Some("gone".to_owned()),
            ..place
        };
        let fault = missing.find().expect_err("it is not there").to_string();
        assert!(fault.starts_with("Could not find a directory environment named 'gone'"));
    }
}
