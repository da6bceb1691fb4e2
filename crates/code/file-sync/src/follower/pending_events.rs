//! What a follower waits for: [`PendingEvents`].

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

/// What the task waits for.
pub(super) struct PendingEvents {
    /// The question that is under way, and what it tells.
    pub(super) check_in: Option<(BTreeMap<String, FollowedEnvironment>, CheckInFuture)>,
    pub(super) staging: JoinSet<StagedVersion>,
    pub(super) stage_permits: Arc<Semaphore>,
    /// When the server is asked again that could not be.
    pub(super) check_in_at: Option<Instant>,
    pub(super) backoff: Duration,
    pub(super) retry_at: Option<Instant>,
    /// When it is not known any more what is live.
    pub(super) lease_ends: Option<Instant>,
}

// === impl Waits ===

impl PendingEvents {
    pub(super) fn new(kept: &SavedFollowerState) -> Self {
        // What is left of the lease, but long enough to ask once.
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

    /// When something is due.
    pub(super) fn next_deadline(&self) -> Instant {
        let due = [self.check_in_at, self.retry_at, self.lease_ends];
        let never = Instant::now() + FOLLOWER_LEASE;
        due.into_iter().flatten().fold(never, Instant::min)
    }
}

/// The answer to the question that is under way; none comes where there is none.
pub(super) async fn wait_for_check_in(
    asking: &mut Option<(BTreeMap<String, FollowedEnvironment>, CheckInFuture)>,
) -> Result<CheckedIn, RemoteServerError> {
    match asking {
        Some((_, asking)) => asking.as_mut().await,
        None => std::future::pending().await,
    }
}
