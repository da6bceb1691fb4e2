//! Following a job: its events and output as it goes on, or only its end.
//!
//! Invariant: a caller that waits for the end alone costs the job nothing; no agent is asked to
//! send output for it, and no event is read.

use store::JobNumber;
use tokio::sync::oneshot;

use crate::engine::EngineCommand;
use crate::handle::Jobs;
use crate::live::LiveSubscription;

/// The engine no longer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is shutting down; the job goes on when it is back")]
pub struct FollowError;

// === impl Jobs ===

impl Jobs {
    /// Follows a job from the event `from_event` (inclusive; 0 for all); its live output from now on.
    pub async fn subscribe_live(&self, job: JobNumber, from_event: i64) -> LiveSubscription {
        let (reply, answer) = oneshot::channel();
        let feed = match self.send_command(EngineCommand::Watch { job, reply }).await {
            Some(()) => answer.await.ok().flatten(),
            None => None,
        };
        LiveSubscription::new(self.store().clone(), job, from_event, feed)
    }

    /// Returns when the job is over, and at once if it is or never was: the store then has all of
    /// it. When the engine breaks down it may return before: check the job's state.
    pub async fn wait_until_over(&self, job: JobNumber) -> Result<(), FollowError> {
        let (reply, answer) = oneshot::channel();
        self.send_command(EngineCommand::Follow { job, reply })
            .await
            .ok_or(FollowError)?;
        let Some(mut commits) = answer.await.map_err(|_| FollowError)? else {
            return Ok(());
        };
        // The sender is dropped with the job, and with the engine.
        while commits.changed().await.is_ok() {}
        match self.is_stopping() {
            true => Err(FollowError),
            false => Ok(()),
        }
    }
}
