//! What was resolved for a version: [`VersionLock`].
//!
//! It is kept in the version as `.tutti-version.json`. The rule that must hold: the same lock means the
//! same content, so the [`VersionSignature`] of a version is made of it alone.

mod staged;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use staged::{STAGED, staged_lock};

use crate::version::VersionSignature;

/// Where a version keeps it.
pub const LOCK_FILE: &str = ".tutti-version.json";

/// What a version is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionLock {
    /// The environment that it was made for. Not part of the signature: a promoted version keeps its own.
    pub environment: String,
    /// The control repository.
    pub control: LockedControl,
    /// The modules, by their directories.
    pub modules: Vec<LockedModule>,
    /// Whether `puppet generate types` made its types.
    #[serde(default)]
    pub generated_types: bool,
}

/// The control repository of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedControl {
    /// What it is; a lock that does not say is of git.
    #[serde(default, skip_serializing_if = "ControlKind::is_git")]
    pub kind: ControlKind,
    /// Its address, without credentials; empty if there is none.
    pub remote: String,
    /// The branch, or what else of it was asked for; empty if there is none.
    pub branch: String,
    /// What that was at; empty if there is none.
    pub commit: String,
}

/// What a control repository is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    /// A git repository.
    #[default]
    Git,
    /// A directory in Subversion; the commit is the revision's number.
    Svn,
    /// An archive; the commit is its SHA-256.
    Tarball,
    /// There is none: the environment has modules only.
    Plain,
}

/// A module of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedModule {
    /// `owner/name` or `name`.
    pub name: String,
    /// Relative to the environment.
    pub directory: String,
    /// Where it came from, and what of it.
    #[serde(flatten)]
    pub origin: ModuleOrigin,
    /// Whether its `spec` directory was left out.
    #[serde(default)]
    pub exclude_spec: bool,
}

/// What a module is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModuleOrigin {
    /// A commit.
    Git {
        /// The address, without credentials.
        remote: String,
        /// What the Puppetfile asked for.
        wanted: String,
        /// What it came to.
        commit: String,
    },
    /// A release of a Forge.
    Forge {
        /// The Forge's address.
        forge: String,
        /// The release's.
        version: String,
        /// Of its archive.
        sha256: String,
    },
    /// An archive from an address.
    Tarball {
        /// The address, without credentials.
        source: String,
        /// Of the archive.
        sha256: String,
    },
    /// A revision of a directory in Subversion.
    Svn {
        /// The address, without credentials.
        remote: String,
        /// Its number.
        revision: u64,
    },
    /// It stands in the control repository.
    Local,
}

/// True if `name` means the module `owner/name` or `name`: the whole name, with a slash or a hyphen, or its last part.
pub fn is_module_name(module: &str, name: &str) -> bool {
    let last = module.rsplit('/').next().unwrap_or(module);
    name == last || name.replacen('-', "/", 1) == module
}

// === impl LockedModule ===

impl LockedModule {
    /// The repository that it comes from, without credentials.
    pub fn remote(&self) -> Option<&str> {
        match &self.origin {
            ModuleOrigin::Git { remote, .. } => Some(remote),
            _ => None,
        }
    }
}

// === impl ModuleOrigin ===

impl ModuleOrigin {
    /// What people know it by: a commit, a release's version, an archive's checksum, a revision, or `local`.
    pub fn version(&self) -> Cow<'_, str> {
        match self {
            Self::Git { commit, .. } => commit.into(),
            Self::Forge { version, .. } => version.into(),
            Self::Tarball { sha256, .. } => sha256.into(),
            Self::Svn { revision, .. } => format!("r{revision}").into(),
            Self::Local => "local".into(),
        }
    }
}

// === impl LockedControl ===

impl LockedControl {
    /// What it was at; `None`: there is none.
    pub fn at(&self) -> Option<&str> {
        Some(self.commit.as_str()).filter(|commit| !commit.is_empty())
    }
}

impl ControlKind {
    fn is_git(&self) -> bool {
        *self == Self::Git
    }
}

// === impl VersionLock ===

impl VersionLock {
    /// What names the version.
    pub fn signature(&self) -> VersionSignature {
        let control = match self.control.kind {
            ControlKind::Git => self.control.commit.clone(),
            ControlKind::Svn => format!("svn {} {}", self.control.remote, self.control.commit),
            ControlKind::Tarball => format!("tarball {}", self.control.commit),
            ControlKind::Plain => "plain".to_owned(),
        };
        let mut text = format!("tutti-version 1\ncontrol {control}\n");
        for module in &self.modules {
            let LockedModule {
                directory,
                exclude_spec,
                ..
            } = module;
            let origin = match &module.origin {
                ModuleOrigin::Git { commit, .. } => format!("git {commit}"),
                ModuleOrigin::Forge {
                    version, sha256, ..
                } => format!("forge {} {version} {sha256}", module.name),
                ModuleOrigin::Tarball { sha256, .. } => format!("tarball {sha256}"),
                ModuleOrigin::Svn { remote, revision } => format!("svn {remote} {revision}"),
                ModuleOrigin::Local => "local".to_owned(),
            };
            text.extend([
                directory.as_str(),
                " ",
                origin.as_str(),
                if *exclude_spec { " -\n" } else { "\n" },
            ]);
        }
        if self.generated_types {
            text.push_str("types\n");
        }
        VersionSignature::of(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(control: LockedControl) -> VersionLock {
        VersionLock {
            environment: "production".to_owned(),
            control,
            modules: Vec::new(),
            generated_types: false,
        }
    }

    #[test]
    fn versions_keep_their_names() {
        // As it was written by those that knew git only.
        let text = r#"{"environment": "production", "control": {"remote": "https://git.example.com/x.git",
            "branch": "production", "commit": "2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e"}, "modules": [
            {"name": "apt", "directory": "modules/apt", "type": "git", "remote": "r", "wanted": "branch main",
            "commit": "1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f", "exclude_spec": true}]}"#;
        let read: VersionLock = serde_json::from_str(text).unwrap();
        let named = "tutti-version 1\ncontrol 2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e\n\
                     modules/apt git 1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f -\n";
        assert_eq!(read.signature(), VersionSignature::of(named.as_bytes()));
        let written = serde_json::to_string(&read.control).unwrap();
        assert!(!written.contains("kind"), "{written}");
    }

    #[test]
    fn what_has_no_control_repository_is_another_version() {
        let git = lock(LockedControl::default());
        let plain = lock(LockedControl {
            kind: ControlKind::Plain,
            ..LockedControl::default()
        });
        assert_ne!(git.signature(), plain.signature());
        assert_eq!(plain.control.at(), None);
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(serde_json::from_str::<VersionLock>(&text).unwrap(), plain);
    }
}
