//! An environment's own files, resolved: [`FixedControl`].

use crate::git::Commit;
use crate::source::{Base, FoundEnvironment};
use crate::svn::Address;
use code_store::lock::{ControlKind, LockedControl};

/// The exact version of an environment's own files, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixedControl {
    /// A commit of a git repository.
    Git {
        /// The repository's address.
        remote: String,
        commit: Commit,
    },
    /// A revision of a Subversion repository.
    Svn { address: Address, revision: u64 },
    /// An archive with this checksum.
    Tarball { location: String, sha256: String },
    /// The environment has no files of its own.
    Plain,
}

// === impl FixedControl ===

impl FixedControl {
    /// A unique text for this version.
    pub fn id(&self) -> String {
        match self {
            Self::Git { commit, .. } => commit.to_string(),
            Self::Svn { address, revision } => format!("svn {} {revision}", address.shown()),
            Self::Tarball { sha256, .. } => format!("tarball {sha256}"),
            Self::Plain => String::new(),
        }
    }

    /// The version in a lock; `None` if the lock is damaged.
    pub fn of(found: &FoundEnvironment, control: &LockedControl) -> Option<Self> {
        match &found.base {
            Base::Commit(commit) => Some(Self::Git {
                remote: found.source.remote.clone(),
                commit: commit.clone(),
            }),
            Base::Git { remote, .. } => Some(Self::Git {
                remote: remote.clone(),
                commit: control.commit.parse().ok()?,
            }),
            Base::Svn { address, .. } => Some(Self::Svn {
                address: address.clone(),
                revision: control.commit.parse().ok()?,
            }),
            Base::Tarball { location, .. } => Some(Self::Tarball {
                location: location.clone(),
                sha256: control.commit.clone(),
            }),
            Base::Plain => Some(Self::Plain),
        }
    }

    pub fn control(&self, found: &FoundEnvironment) -> LockedControl {
        match self {
            Self::Git { remote, commit } => LockedControl {
                kind: ControlKind::Git,
                remote: crate::remote_address::without_credentials(remote),
                branch: match &found.base {
                    Base::Git { wanted, .. } => wanted.name().to_owned(),
                    _ => found.branch.clone(),
                },
                commit: commit.to_string(),
            },
            Self::Svn { address, revision } => LockedControl {
                kind: ControlKind::Svn,
                remote: address.shown(),
                branch: found.branch.clone(),
                commit: revision.to_string(),
            },
            Self::Tarball { location, sha256 } => LockedControl {
                kind: ControlKind::Tarball,
                remote: crate::remote_address::without_credentials(location),
                branch: String::new(),
                commit: sha256.clone(),
            },
            Self::Plain => LockedControl {
                kind: ControlKind::Plain,
                ..LockedControl::default()
            },
        }
    }
}
