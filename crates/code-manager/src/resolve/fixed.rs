//! An environment's own files, looked up: [`Fixed`].

use crate::git::Commit;
use crate::lock::{Control, ControlKind};
use crate::source::{Base, Found};
use crate::svn::Address;

/// What an environment's own files are, and will be whenever it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fixed {
    /// A commit.
    Git {
        /// The repository's address.
        remote: String,
        commit: Commit,
    },
    /// A revision.
    Svn { address: Address, revision: u64 },
    /// It has none.
    Plain,
}

// === impl Fixed ===

impl Fixed {
    /// What names it among all that there are.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Git { commit, .. } => commit.to_string(),
            Self::Svn { address, revision } => format!("svn {} {revision}", address.shown()),
            Self::Plain => String::new(),
        }
    }

    /// What it was in a version; `None`: a lock that somebody damaged.
    pub(crate) fn of(found: &Found, control: &Control) -> Option<Self> {
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
            Base::Plain => Some(Self::Plain),
        }
    }

    pub(crate) fn control(&self, found: &Found) -> Control {
        match self {
            Self::Git { remote, commit } => Control {
                kind: ControlKind::Git,
                remote: crate::git::shown(remote),
                branch: match &found.base {
                    Base::Git { wanted, .. } => wanted.name().to_owned(),
                    _ => found.branch.clone(),
                },
                commit: commit.to_string(),
            },
            Self::Svn { address, revision } => Control {
                kind: ControlKind::Svn,
                remote: address.shown(),
                branch: found.branch.clone(),
                commit: revision.to_string(),
            },
            Self::Plain => Control {
                kind: ControlKind::Plain,
                ..Control::default()
            },
        }
    }
}
