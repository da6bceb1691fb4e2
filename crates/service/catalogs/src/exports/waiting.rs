//! Asynchronous work for threads that compile: [`wait_for`].
//!
//! Invariant: the work runs in the runtime of the server, and the thread waits for a bounded time.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use tokio::runtime::Handle;

use crate::defaults::ANSWER_WAIT_MAX;

/// Reason that a thread waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum WaitEnd {
    #[error("no answer within {} s", ANSWER_WAIT_MAX.as_secs())]
    Timeout,
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A defect of the caller: the runtime could wait for itself.
    #[error("a thread of the server's runtime must not wait for it")]
    InRuntime,
}

/// Runs `work` in the runtime. The calling thread waits for it, so a thread of a runtime is refused.
pub(super) fn wait_for<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, WaitEnd> {
    if Handle::try_current().is_ok() {
        return Err(WaitEnd::InRuntime);
    }
    let (sender, receiver) = sync_channel(1);
    let task = runtime.spawn(async move {
        // the thread that waits may have given up
        let _ = sender.send(work.await);
    });
    match receiver.recv_timeout(ANSWER_WAIT_MAX) {
        Ok(answer) => Ok(answer),
        Err(RecvTimeoutError::Timeout) => {
            task.abort();
            Err(WaitEnd::Timeout)
        }
        Err(RecvTimeoutError::Disconnected) => Err(WaitEnd::ShuttingDown),
    }
}
