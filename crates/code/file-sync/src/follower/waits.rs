//! What a follower waits for: [`Waits`].

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use api_types::{CheckedIn, FollowedEnvironment};
use environments::EnvironmentName;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::kept::Kept;
use super::remote::RemoteError;
use crate::defaults::{FOLLOWER_BACKOFF, FOLLOWER_BACKOFF_MAX, FOLLOWER_LEASE, FOLLOWER_STAGES};
use code_store::version::VersionSignature;
use store::now_ms;

type Asking = Pin<Box<dyn Future<Output = Result<CheckedIn, RemoteError>> + Send>>;
pub(super) type Staged = (EnvironmentName, VersionSignature, Result<(), String>);

/// What the task waits for.
pub(super) struct Waits {
    /// The question that is under way, and what it tells.
    pub(super) asking: Option<(BTreeMap<String, FollowedEnvironment>, Asking)>,
    pub(super) staging: JoinSet<Staged>,
    pub(super) places: Arc<Semaphore>,
    /// When the server is asked again that could not be.
    pub(super) ask_at: Option<Instant>,
    pub(super) backoff: Duration,
    pub(super) retry_at: Option<Instant>,
    /// When it is not known any more what is live.
    pub(super) lease_ends: Option<Instant>,
}

// === impl Waits ===

impl Waits {
    pub(super) fn new(kept: &Kept) -> Self {
        // What is left of the lease, but long enough to ask once.
        let left = kept.lease_left(now_ms()).unwrap_or(FOLLOWER_LEASE);
        Self {
            asking: None,
            staging: JoinSet::new(),
            places: Arc::new(Semaphore::new(FOLLOWER_STAGES)),
            ask_at: None,
            backoff: FOLLOWER_BACKOFF,
            retry_at: None,
            lease_ends: Some(Instant::now() + left.max(FOLLOWER_BACKOFF_MAX)),
        }
    }

    /// When something is due.
    pub(super) fn wakes(&self) -> Instant {
        let due = [self.ask_at, self.retry_at, self.lease_ends];
        let never = Instant::now() + FOLLOWER_LEASE;
        due.into_iter().flatten().fold(never, Instant::min)
    }
}

/// The answer to the question that is under way; none comes where there is none.
pub(super) async fn answer(
    asking: &mut Option<(BTreeMap<String, FollowedEnvironment>, Asking)>,
) -> Result<CheckedIn, RemoteError> {
    match asking {
        Some((_, asking)) => asking.as_mut().await,
        None => std::future::pending().await,
    }
}
