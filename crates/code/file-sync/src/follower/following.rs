//! How a follower is, for those who watch it: [`Following`].
//!
//! The rule that must hold: it is made of what the follower decides by, so it says nothing else.

use std::collections::BTreeMap;

use environments::EnvironmentName;
use tokio::sync::watch;

use super::Follower;
use crate::commit_of;
use code_store::version::VersionSignature;

/// How a follower is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// When its server was heard last, in milliseconds since 1970.
    pub heard_ms: Option<i64>,
    /// Whether it knows what is live.
    pub knows: Knows,
    /// What it has, and what it should have.
    pub environments: BTreeMap<EnvironmentName, Followed>,
}

/// Whether a follower knows what is live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knows {
    /// It has not heard its server since it started.
    #[default]
    NotYet,
    /// It does.
    Yes,
    /// Its server has been silent for longer than the lease.
    NoMore,
}

/// An environment of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The last switch that it made.
    pub generation: i64,
    /// To which version; `None`: it was taken away.
    pub live: Option<VersionSignature>,
    /// Whether the server says that something else is live.
    pub is_behind: bool,
    /// Why it cannot have that.
    pub cause: Option<String>,
}

/// How something is, in Puppet Enterprise's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncState {
    /// It is what the server has.
    Ok,
    /// It is not yet.
    NewCommits,
    /// It cannot be, or nobody knows.
    Error,
}

// === impl Follower ===

impl Follower {
    /// How it is, from now on.
    pub fn watch(&self) -> watch::Receiver<Following> {
        self.watched.subscribe()
    }

    /// Lets them see how it is now.
    pub(super) fn show(&self) {
        let following = Following {
            heard_ms: self.kept.heard_ms,
            knows: match (self.kept.is_stale, self.core.is_told()) {
                (true, _) => Knows::NoMore,
                (false, true) => Knows::Yes,
                (false, false) => Knows::NotYet,
            },
            environments: self.core.following(),
        };
        self.watched.send_if_modified(|shown| {
            let is_other = *shown != following;
            *shown = following;
            is_other
        });
    }
}

// === impl Following ===

impl Following {
    /// The worst of all environments.
    pub fn sync(&self) -> SyncState {
        let each = self.environments.values().map(|it| it.sync(self.knows));
        let none = match self.knows {
            Knows::NotYet => SyncState::NewCommits,
            Knows::Yes => SyncState::Ok,
            Knows::NoMore => SyncState::Error,
        };
        each.fold(none, SyncState::max)
    }

    /// What is live here, in one name: that of the server if all is as it is there.
    pub fn commit(&self) -> VersionSignature {
        let live = self.environments.iter();
        commit_of(live.filter_map(|(of, it)| Some((of.as_str(), it.live.as_ref()?.as_str()))))
    }
}

// === impl Followed ===

impl Followed {
    /// How it is.
    pub fn sync(&self, knows: Knows) -> SyncState {
        match (knows, self.is_behind, &self.cause) {
            (Knows::NoMore, ..) | (_, true, Some(_)) => SyncState::Error,
            (Knows::NotYet, ..) | (_, true, None) => SyncState::NewCommits,
            (Knows::Yes, false, _) => SyncState::Ok,
        }
    }
}
