//! Status of a follower for its subscribers: [`FollowerStatus`].
//!
//! Invariant: it is computed from the state that the follower decides by.

use std::collections::BTreeMap;

use environments::EnvironmentName;
use tokio::sync::watch;

use super::Follower;
use crate::combined_commit;
use code_store::version::VersionSignature;

/// Status of a follower and its environments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowerStatus {
    /// Time of the last answer of the server, in milliseconds since 1970; `None` if there was none.
    pub heard_ms: Option<i64>,
    /// Knowledge of the server's live versions.
    pub knowledge: LeaseKnowledge,
    /// The live version of each environment, and its difference to the server's.
    pub environments: BTreeMap<EnvironmentName, FollowedVersion>,
}

/// Knowledge of a follower about the live versions of its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseKnowledge {
    /// The server has not answered since the start.
    #[default]
    Unknown,
    /// The lease is valid.
    Current,
    /// The server has been silent for longer than the lease.
    Expired,
}

/// State of an environment on a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedVersion {
    /// Generation of the last switch here.
    pub generation: i64,
    /// The live version; `None` if the environment was removed.
    pub live: Option<VersionSignature>,
    /// True if the server announced a different version.
    pub is_behind: bool,
    /// Cause for which the announced version cannot be used; `None` if there was no failure.
    pub cause: Option<String>,
}

/// Sync state, in Puppet Enterprise's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncState {
    /// The live version is that of the server.
    Ok,
    /// The live version is not yet that of the server.
    NewCommits,
    /// The server's version cannot be used, or the lease has expired.
    Error,
}

// === impl Follower ===

impl Follower {
    /// Subscribes to changes of the status.
    pub fn subscribe(&self) -> watch::Receiver<FollowerStatus> {
        self.status.subscribe()
    }

    /// Publishes the current status, if it changed.
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

// === impl FollowerStatus ===

impl FollowerStatus {
    /// The worst state of all environments.
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

    /// One name for all live versions, equal to that of the server if all versions are.
    pub fn combined_commit(&self) -> VersionSignature {
        let live = self.environments.iter();
        combined_commit(live.filter_map(|(of, it)| Some((of.as_str(), it.live.as_ref()?.as_str()))))
    }
}

// === impl FollowedVersion ===

impl FollowedVersion {
    /// Sync state of the environment, given the follower's knowledge.
    pub fn sync_state_with(&self, knows: LeaseKnowledge) -> SyncState {
        match (knows, self.is_behind, &self.cause) {
            (LeaseKnowledge::Expired, ..) | (_, true, Some(_)) => SyncState::Error,
            (LeaseKnowledge::Unknown, ..) | (_, true, None) => SyncState::NewCommits,
            (LeaseKnowledge::Current, false, _) => SyncState::Ok,
        }
    }
}
