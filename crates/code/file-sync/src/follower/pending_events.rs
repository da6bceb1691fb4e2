//! Events that a follower waits for: [`PendingEvents`].

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use api_types::{CheckedIn, FollowedEnvironment};
use environments::EnvironmentName;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::remote::RemoteServerError;
use super::saved_state::SavedFollowerState;
use crate::defaults::{FOLLOWER_BACKOFF, FOLLOWER_BACKOFF_MAX, FOLLOWER_LEASE, FOLLOWER_STAGES};
use code_store::version::VersionSignature;
use store::now_ms;

type CheckInFuture = Pin<Box<dyn Future<Output = Result<CheckedIn, RemoteServerError>> + Send>>;
pub(super) type StagedVersion = (EnvironmentName, VersionSignature, Result<(), String>);

/// Check-in, downloads and deadlines of the follower's task.
pub(super) struct PendingEvents {
    /// The check-in under way, with the report that it carries.
    pub(super) check_in: Option<(BTreeMap<String, FollowedEnvironment>, CheckInFuture)>,
    pub(super) staging: JoinSet<StagedVersion>,
    pub(super) stage_permits: Arc<Semaphore>,
    /// Time of the next check-in after a failed one.
    pub(super) check_in_at: Option<Instant>,
    pub(super) backoff: Duration,
    pub(super) retry_at: Option<Instant>,
    /// End of the lease, after which the live versions of the server are unknown.
    pub(super) lease_ends: Option<Instant>,
}

// === impl PendingEvents ===

impl PendingEvents {
    pub(super) fn new(kept: &SavedFollowerState) -> Self {
        // The rest of the lease, but long enough for one check-in.
        let left = kept.lease_left(now_ms()).unwrap_or(FOLLOWER_LEASE);
        Self {
            check_in: None,
            staging: JoinSet::new(),
            stage_permits: Arc::new(Semaphore::new(FOLLOWER_STAGES)),
            check_in_at: None,
            backoff: FOLLOWER_BACKOFF,
            retry_at: None,
            lease_ends: Some(Instant::now() + left.max(FOLLOWER_BACKOFF_MAX)),
        }
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Instant {
        let due = [self.check_in_at, self.retry_at, self.lease_ends];
        let never = Instant::now() + FOLLOWER_LEASE;
        due.into_iter().flatten().fold(never, Instant::min)
    }
}

/// Waits for the check-in under way; forever if there is none.
pub(super) async fn wait_for_check_in(
    asking: &mut Option<(BTreeMap<String, FollowedEnvironment>, CheckInFuture)>,
) -> Result<CheckedIn, RemoteServerError> {
    match asking {
        Some((_, asking)) => asking.as_mut().await,
        None => std::future::pending().await,
    }
}
