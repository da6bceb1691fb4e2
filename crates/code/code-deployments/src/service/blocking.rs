//! Disk work on blocking threads, outside the runtime's worker threads: [`blocking`].

use super::error::SubmitError;

/// Runs `work` on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SubmitError> + Send + 'static,
) -> Result<T, SubmitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(SubmitError::Stopping))
}
