//! The content of a Puppetfile. Main type: [`Puppetfile`].
//!
//! The forms are those of r10k 3 to 5.
//!
//! Invariant: no two modules have the same directory.

use std::fmt;

use crate::{InnerPath, PuppetfilePosition};

/// The content of a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Puppetfile {
    /// URL of the Forge in the file; r10k ignores it unless its settings permit it.
    pub forge: Option<String>,
    /// Directory of modules without an `install_path`, relative to the environment.
    pub moduledir: InnerPath,
    /// Modules in the order of the file.
    pub mods: Vec<ModuleDeclaration>,
}

/// The declaration of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleDeclaration {
    /// Name of the module.
    pub name: ModName,
    /// Source of the module.
    pub source: ModuleSource,
    /// The directory, relative to the environment, that contains the module's own directory instead
    /// of `moduledir`.
    pub install_path: Option<InnerPath>,
    /// True if its `spec` directory is omitted; `None`: as in the settings.
    pub exclude_spec: Option<bool>,
    /// Position of the declaration in the file.
    pub at: PuppetfilePosition,
}

/// `owner/name`, `owner-name` or `name`: letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModName {
    /// Owner on the Forge; `None` if none is given.
    pub owner: Option<String>,
    /// Name of the module, which is also the name of its directory.
    pub name: String,
}

/// The source of a module.
#[derive(Clone, PartialEq, Eq)]
pub enum ModuleSource {
    /// A release on a Forge.
    Forge(ForgeVersion),
    /// A git repository.
    Git {
        /// Address of the repository.
        remote: String,
        /// Reference in the repository.
        reference: GitRef,
        /// Branch that is used if the control branch is not in this repository, or `reference` is
        /// not found.
        default_branch: Option<String>,
    },
    /// A Subversion repository.
    Svn {
        /// Address of the repository.
        remote: String,
        /// Revision of the repository; `None`: the newest.
        revision: Option<String>,
        /// User name for the repository.
        username: Option<String>,
        /// Password for the repository, a secret.
        password: Option<String>,
    },
    /// An archive at a URL, or a local file.
    Tarball {
        /// URL or path of the archive.
        location: String,
        /// SHA-256 of the archive, in hexadecimal.
        sha256: Option<String>,
    },
    /// A directory of the control repository.
    Local,
}

/// The release of a module on a Forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeVersion {
    /// The newest release at each deployment.
    Latest,
    /// No version is given: the newest release at the first deployment.
    Unpinned,
    /// The release of this version.
    Exact(String),
}

/// A reference in a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRef {
    /// A branch, tag or commit; the kind is not given.
    Any(String),
    /// Name of a branch.
    Branch(String),
    /// Name of a tag.
    Tag(String),
    /// Digits of a commit, complete or abbreviated.
    Commit(String),
    /// The branch of the environment's own repository.
    ControlBranch,
    /// No reference is given: the default of the settings applies.
    Unnamed,
}

impl Default for Puppetfile {
    fn default() -> Self {
        Self {
            forge: None,
            moduledir: InnerPath::MODULES,
            mods: Vec::new(),
        }
    }
}

impl Puppetfile {
    /// The directory of a module, relative to the environment.
    pub fn module_directory(&self, module: &ModuleDeclaration) -> String {
        let parent = module.install_path.as_ref().unwrap_or(&self.moduledir);
        format!("{parent}/{}", module.name.name)
    }
}

impl fmt::Display for ModName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "{owner}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Omits the password.
impl fmt::Debug for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forge(version) => f.debug_tuple("Forge").field(version).finish(),
            Self::Git {
                remote,
                reference,
                default_branch,
            } => f
                .debug_struct("Git")
                .field("remote", remote)
                .field("reference", reference)
                .field("default_branch", default_branch)
                .finish(),
            Self::Svn {
                remote, revision, ..
            } => f
                .debug_struct("Svn")
                .field("remote", remote)
                .field("revision", revision)
                .finish_non_exhaustive(),
            Self::Tarball { location, sha256 } => f
                .debug_struct("Tarball")
                .field("location", location)
                .field("sha256", sha256)
                .finish(),
            Self::Local => f.write_str("Local"),
        }
    }
}
