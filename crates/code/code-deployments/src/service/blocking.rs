//! Disk work on blocking threads, outside the runtime's worker threads: [`run_blocking`].

use super::error::DeploymentSubmitError;

/// Runs `work` on a thread that may block.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DeploymentSubmitError> + Send + 'static,
) -> Result<T, DeploymentSubmitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(DeploymentSubmitError::Stopping))
}
