//! An environment's own files, resolved: [`ResolvedControl`].

use crate::git::CommitHash;
use crate::source::{EnvironmentBase, FoundEnvironment};
use crate::svn::SvnAddress;
use code_store::version_lock::{ControlKind, LockedControl};

/// The exact version of an environment's own files, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedControl {
    /// A commit of a git repository.
    Git {
        /// The repository's address.
        remote: String,
        commit: CommitHash,
    },
    /// A revision of a Subversion repository.
    Svn { address: SvnAddress, revision: u64 },
    /// An archive with this checksum.
    Tarball { location: String, sha256: String },
    /// The environment has no files of its own.
    NoFiles,
}

// === impl ResolvedControl ===

impl ResolvedControl {
    /// A unique text for this version.
    pub fn id(&self) -> String {
        match self {
            Self::Git { commit, .. } => commit.to_string(),
            Self::Svn { address, revision } => {
                format!("svn {} {revision}", address.to_public_url())
            }
            Self::Tarball { sha256, .. } => format!("tarball {sha256}"),
            Self::NoFiles => String::new(),
        }
    }

    /// The version in a lock; `None` if the lock is damaged.
    pub fn from_lock(found: &FoundEnvironment, control: &LockedControl) -> Option<Self> {
        match &found.base {
            EnvironmentBase::Commit(commit) => Some(Self::Git {
                remote: found.source.remote.clone(),
                commit: commit.clone(),
            }),
            EnvironmentBase::Git { remote, .. } => Some(Self::Git {
                remote: remote.clone(),
                commit: control.commit.parse().ok()?,
            }),
            EnvironmentBase::Svn { address, .. } => Some(Self::Svn {
                address: address.clone(),
                revision: control.commit.parse().ok()?,
            }),
            EnvironmentBase::Tarball { location, .. } => Some(Self::Tarball {
                location: location.clone(),
                sha256: control.commit.clone(),
            }),
            EnvironmentBase::NoFiles => Some(Self::NoFiles),
        }
    }

    pub fn to_locked_control(&self, found: &FoundEnvironment) -> LockedControl {
        match self {
            Self::Git { remote, commit } => LockedControl {
                kind: ControlKind::Git,
                remote: crate::remote_address::strip_credentials(remote),
                branch: match &found.base {
                    EnvironmentBase::Git { wanted, .. } => wanted.name().to_owned(),
                    _ => found.branch.clone(),
                },
                commit: commit.to_string(),
            },
            Self::Svn { address, revision } => LockedControl {
                kind: ControlKind::Svn,
                remote: address.to_public_url(),
                branch: found.branch.clone(),
                commit: revision.to_string(),
            },
            Self::Tarball { location, sha256 } => LockedControl {
                kind: ControlKind::Tarball,
                remote: crate::remote_address::strip_credentials(location),
                branch: String::new(),
                commit: sha256.clone(),
            },
            Self::NoFiles => LockedControl {
                kind: ControlKind::Plain,
                ..LockedControl::default()
            },
        }
    }
}
