//! How a follower is, for those who watch it: [`FollowerStatus`].
//!
//! The rule that must hold: it is made of what the follower decides by, so it says nothing else.

use std::collections::BTreeMap;

use environments::EnvironmentName;
use tokio::sync::watch;

use super::Follower;
use crate::combined_commit;
use code_store::version::VersionSignature;

/// How a follower is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowerStatus {
    /// When its server was heard last, in milliseconds since 1970.
    pub heard_ms: Option<i64>,
    /// Whether it knows what is live.
    pub knowledge: LeaseKnowledge,
    /// What it has, and what it should have.
    pub environments: BTreeMap<EnvironmentName, FollowedVersion>,
}

/// Whether a follower knows what is live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseKnowledge {
    /// It has not heard its server since it started.
    #[default]
    Unknown,
    /// It does.
    Current,
    /// Its server has been silent for longer than the lease.
    Expired,
}

/// An environment of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedVersion {
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
    pub fn subscribe(&self) -> watch::Receiver<FollowerStatus> {
        self.status.subscribe()
    }

    /// Lets them see how it is now.
    pub(super) fn publish_status(&self) {
        let following = FollowerStatus {
            heard_ms: self.saved.heard_ms,
            knowledge: match (self.saved.is_stale, self.core.has_announcements()) {
                (true, _) => LeaseKnowledge::Expired,
                (false, true) => LeaseKnowledge::Current,
                (false, false) => LeaseKnowledge::Unknown,
            },
            environments: self.core.environment_status(),
        };
        self.status.send_if_modified(|shown| {
            let is_other = *shown != following;
            *shown = following;
            is_other
        });
    }
}

// === impl Following ===

impl FollowerStatus {
    /// The worst of all environments.
    pub fn sync_state(&self) -> SyncState {
        let each = self
            .environments
            .values()
            .map(|it| it.sync_state_with(self.knowledge));
        let none = match self.knowledge {
            LeaseKnowledge::Unknown => SyncState::NewCommits,
            LeaseKnowledge::Current => SyncState::Ok,
            LeaseKnowledge::Expired => SyncState::Error,
        };
        each.fold(none, SyncState::max)
    }

    /// What is live here, in one name: that of the server if all is as it is there.
    pub fn combined_commit(&self) -> VersionSignature {
        let live = self.environments.iter();
        combined_commit(live.filter_map(|(of, it)| Some((of.as_str(), it.live.as_ref()?.as_str()))))
    }
}

// === impl Followed ===

impl FollowedVersion {
    /// How it is.
    pub fn sync_state_with(&self, knows: LeaseKnowledge) -> SyncState {
        match (knows, self.is_behind, &self.cause) {
            (LeaseKnowledge::Expired, ..) | (_, true, Some(_)) => SyncState::Error,
            (LeaseKnowledge::Unknown, ..) | (_, true, None) => SyncState::NewCommits,
            (LeaseKnowledge::Current, false, _) => SyncState::Ok,
        }
    }
}
