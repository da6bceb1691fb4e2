//! Settings of an environment as Puppet lists them: [`ListedSettings`].
//!
//! They come from `environment.conf`, or are Puppet's defaults. Invariant: nothing is run, and paths are only
//! made absolute.

use std::path::{Component, Path, PathBuf};

use super::module_directories;
use super::on_disk::setting;
use super::text_file::{EnvironmentReadError, read_if_exists};

/// The settings of an environment, with absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSettings {
    pub modulepath: Vec<PathBuf>,
    /// The site manifest, or the directory of manifests.
    pub manifest: PathBuf,
    pub environment_timeout: EnvironmentTimeout,
    /// Command line of the program that gives the version of catalogs; empty without one.
    pub config_version: String,
}

/// The time for which Puppet keeps an environment in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentTimeout {
    Seconds(u64),
    Unlimited,
}

/// An `environment.conf` that Puppet refuses.
#[derive(Debug, thiserror::Error)]
pub enum ListedSettingsError {
    #[error(transparent)]
    Read(#[from] EnvironmentReadError),
    #[error(
        "environment_timeout in {}: {value:?} is no duration; give seconds, 10m, 2h, 1d, 1y or unlimited",
        path.display()
    )]
    Timeout { path: PathBuf, value: String },
}

impl ListedSettings {
    /// Reads the settings of the environment `name` in `root`. `base` are the directories of `$basemodulepath`.
    ///
    /// # Errors
    /// `environment.conf` cannot be read, or has a duration that is none.
    pub fn read(
        name: &str,
        root: &Path,
        codedir: &Path,
        base: &[PathBuf],
    ) -> Result<Self, ListedSettingsError> {
        let path = root.join("environment.conf");
        let text = read_if_exists(&path)?.unwrap_or_default();
        let environmentpath = codedir.join("environments");
        let variables = [
            ("environmentpath", environmentpath.to_string_lossy()),
            ("environment", name.into()),
            ("codedir", codedir.to_string_lossy()),
        ];
        let absolute = |value: &str| normalize(&root.join(value));
        let modulepath = module_directories(root, codedir, base)?;
        let manifest = setting(&text, "manifest").unwrap_or("manifests");
        // as in Puppet: only commands have the name of the environment
        let manifest = manifest.replace("$codedir", &codedir.to_string_lossy());
        let config_version = setting(&text, "config_version").unwrap_or_default();
        let config_version = variables
            .iter()
            .fold(config_version.to_owned(), |text, (variable, value)| {
                text.replace(&format!("${variable}"), value)
            });
        let timeout = setting(&text, "environment_timeout").unwrap_or("0");
        Ok(Self {
            modulepath: modulepath.iter().map(|it| normalize(it)).collect(),
            manifest: absolute(&manifest),
            environment_timeout: EnvironmentTimeout::parse(timeout).ok_or_else(|| {
                ListedSettingsError::Timeout {
                    value: timeout.to_owned(),
                    path,
                }
            })?,
            config_version: match config_version.is_empty() {
                true => config_version,
                false => absolute(&config_version).to_string_lossy().into_owned(),
            },
        })
    }
}

impl EnvironmentTimeout {
    fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let seconds = match &text[digits.len()..] {
            "" | "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            "y" => 365 * 24 * 60 * 60,
            _ => return None,
        };
        let number: u64 = digits.parse().ok()?;
        number.checked_mul(seconds).map(Self::Seconds)
    }
}

/// The path without `.` and `..`, which are taken as texts.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The settings that puppetserver 7.9.5 lists for these files.
    #[test]
    fn settings_are_those_that_puppetserver_lists() {
        let code = tempfile::tempdir().unwrap();
        let codedir = code.path();
        let root = codedir.join("environments/v1");
        fs::create_dir_all(&root).unwrap();
        let read = |conf: &str| {
            fs::write(root.join("environment.conf"), conf).unwrap();
            ListedSettings::read("v1", &root, codedir, &[codedir.join("modules")])
        };
        let manifest = |conf: &str| read(conf).unwrap().manifest;
        let timeout = |conf: &str| read(conf).unwrap().environment_timeout;
        let version = |conf: &str| read(conf).unwrap().config_version;
        let below = |path: &str| root.join(path).to_string_lossy().into_owned();

        let defaults = read("").unwrap();
        assert_eq!(
            defaults.modulepath,
            [root.join("modules"), codedir.join("modules")]
        );
        assert_eq!(defaults.manifest, root.join("manifests"));
        assert_eq!(defaults.environment_timeout, EnvironmentTimeout::Seconds(0));
        assert_eq!(defaults.config_version, "");

        for (conf, path) in [
            ("manifest = site.pp", root.join("site.pp")),
            ("manifest = /abs/dir", "/abs/dir".into()),
            ("manifest = $codedir/x", codedir.join("x")),
            ("manifest = manifests # hi", root.join("manifests # hi")),
            ("manifest = \"x.pp\"", root.join("x.pp")),
            ("[main]\nmanifest = x", root.join("x")),
            ("manifest = a\nmanifest = b", root.join("a")),
            ("manifest = ./a/../b", root.join("b")),
            ("manifest = x$environment", root.join("x$environment")),
        ] {
            assert_eq!(manifest(conf), path, "{conf}");
        }
        for (conf, seconds) in [
            ("90", 90),
            ("5m", 300),
            ("2h", 7200),
            ("1d", 86_400),
            ("1y", 31_536_000),
        ] {
            let found = timeout(&format!("environment_timeout = {conf}"));
            assert_eq!(found, EnvironmentTimeout::Seconds(seconds), "{conf}");
        }
        assert_eq!(
            timeout("environment_timeout = unlimited"),
            EnvironmentTimeout::Unlimited
        );
        for refused in ["abc", "UNLIMITED", "-5", "5 m", "", "99999999999999999999y"] {
            let error = read(&format!("environment_timeout = {refused}")).unwrap_err();
            assert!(
                error.to_string().contains("environment_timeout in"),
                "{error}"
            );
        }
        assert_eq!(version("config_version = bin/x.sh"), below("bin/x.sh"));
        assert_eq!(
            version("config_version = /bin/x arg $environment"),
            "/bin/x arg v1"
        );
        assert_eq!(
            version("config_version = ./git rev-parse HEAD"),
            below("git rev-parse HEAD")
        );
        assert_eq!(
            version("config_version = $codedir/x arg"),
            format!("{}/x arg", codedir.display())
        );
        let modulepath = read("modulepath = ./m:../x:$basemodulepath")
            .unwrap()
            .modulepath;
        let expected = [
            root.join("m"),
            codedir.join("environments/x"),
            codedir.join("modules"),
        ];
        assert_eq!(modulepath, expected);
    }
}
