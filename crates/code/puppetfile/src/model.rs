//! What a Puppetfile says. Main type: [`Puppetfile`].
//!
//! The forms are those of r10k 3 to 5. The rule that must hold: no two modules have the same directory.

use std::fmt;

use crate::{InnerPath, Position};

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Puppetfile {
    /// The address of the Forge that the file names; r10k ignores it unless its settings allow it.
    pub forge: Option<String>,
    /// Where modules go that do not say otherwise.
    pub moduledir: InnerPath,
    /// In the order of the file.
    pub mods: Vec<Mod>,
}

/// A module that is to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mod {
    /// Its name.
    pub name: ModName,
    /// Where it comes from.
    pub source: Source,
    /// The directory, relative to the environment, that its own directory goes into instead of
    /// `moduledir`.
    pub install_path: Option<InnerPath>,
    /// Whether its `spec` directory is left out; `None`: as the settings say.
    pub exclude_spec: Option<bool>,
    /// Where it stands in the file.
    pub at: Position,
}

/// `owner/name`, `owner-name` or `name`: letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModName {
    /// Of the Forge.
    pub owner: Option<String>,
    /// Also the name of its directory.
    pub name: String,
}

/// Where a module comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A Forge.
    Forge(ForgeVersion),
    /// A repository.
    Git {
        /// Its address.
        remote: String,
        /// What of it.
        reference: GitRef,
        /// Taken where the control branch is not in this repository, or `reference` cannot be found.
        default_branch: Option<String>,
    },
    /// A Subversion repository.
    Svn {
        /// Its address.
        remote: String,
        /// `None`: the newest.
        revision: Option<String>,
        /// Who asks.
        username: Option<String>,
        /// A secret.
        password: Option<String>,
    },
    /// An archive at an address, or a file.
    Tarball {
        /// Where it is.
        location: String,
        /// Of the archive, in hexadecimal.
        sha256: Option<String>,
    },
    /// It stands in the control repository.
    Local,
}

/// Which release of a Forge's module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeVersion {
    /// The newest, whenever it is deployed.
    Latest,
    /// None is named: the newest when it was first deployed.
    Unpinned,
    /// This one.
    Exact(String),
}

/// What of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRef {
    /// Whatever it is: branch, tag or commit.
    Any(String),
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// A commit, whole or shortened.
    Commit(String),
    /// The branch of the environment's own repository.
    ControlBranch,
    /// None is named: as the settings say.
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
    pub fn directory(&self, module: &Mod) -> String {
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

/// Never a password.
impl fmt::Debug for Source {
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
