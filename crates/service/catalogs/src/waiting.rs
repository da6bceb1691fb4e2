//! Asynchronous work for threads that compile: [`wait_for`].
//!
//! Invariant: the work runs in the runtime of the server, and the thread waits for a bounded time, and no
//! longer than its compilation goes on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};

use compiler::CompileInterrupt;
use tokio::runtime::Handle;

use crate::defaults::ANSWER_WAIT_MAX;

/// Reason that a thread waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WaitEnd {
    #[error("no answer within {} s", ANSWER_WAIT_MAX.as_secs())]
    Timeout,
    #[error("the compilation was interrupted")]
    Interrupted,
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A defect of the caller: the runtime could wait for itself.
    #[error("a thread of the server's runtime must not wait for it")]
    InRuntime,
}

/// Runs `work` in the runtime. The calling thread waits for it, so a thread of a runtime is refused.
/// `interrupt` ends the wait and the work.
pub(crate) fn wait_for<T: Send + 'static>(
    runtime: &Handle,
    interrupt: Option<&Arc<CompileInterrupt>>,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, WaitEnd> {
    if Handle::try_current().is_ok() {
        return Err(WaitEnd::InRuntime);
    }
    // room for the answer and for an interruption, so that neither sender waits
    let (sender, receiver) = sync_channel(2);
    let sender = Arc::new(sender);
    // weak, so that the thread notices that the runtime dropped the work
    let interrupting = Arc::downgrade(&sender);
    let _waiting = interrupt.map(|interrupt| {
        interrupt.begin_wait(move || {
            let sender = Weak::upgrade(&interrupting);
            // the answer may have come meanwhile
            let _ = sender.map(|sender| sender.try_send(None));
        })
    });
    let task = runtime.spawn(async move {
        let answer = work.await;
        // the thread that waits may have given up
        let _ = sender.try_send(Some(answer));
    });
    let answer = receive(&receiver);
    if matches!(answer, Err(WaitEnd::Timeout | WaitEnd::Interrupted)) {
        task.abort();
    }
    answer
}

fn receive<T>(receiver: &Receiver<Option<T>>) -> Result<T, WaitEnd> {
    match receiver.recv_timeout(ANSWER_WAIT_MAX) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(WaitEnd::Interrupted),
        Err(RecvTimeoutError::Timeout) => Err(WaitEnd::Timeout),
        Err(RecvTimeoutError::Disconnected) => Err(WaitEnd::ShuttingDown),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use compiler::CompileInterrupt;
    use tokio::runtime::Runtime;
    use tokio::sync::oneshot;

    use super::{WaitEnd, wait_for};

    #[test]
    fn an_interruption_ends_the_wait_and_the_work() {
        let runtime = Runtime::new().unwrap();
        let interrupt = Arc::new(CompileInterrupt::default());
        let since = Instant::now();
        std::thread::scope(|scope| {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let waiting = scope.spawn(|| {
                let (dropped, was_dropped) = oneshot::channel::<()>();
                let ended = wait_for(runtime.handle(), Some(&interrupt), async move {
                    let _dropped = dropped;
                    begun.send(()).unwrap();
                    std::future::pending::<()>().await;
                });
                (ended, was_dropped)
            });
            has_begun.recv().unwrap();
            interrupt.interrupt("the server is shutting down");
            let (ended, was_dropped) = waiting.join().unwrap();
            assert_eq!(ended, Err(WaitEnd::Interrupted));
            assert!(runtime.block_on(was_dropped).is_err(), "the work ended too");
        });
        let later = wait_for(
            runtime.handle(),
            Some(&interrupt),
            std::future::pending::<()>(),
        );
        assert_eq!(later, Err(WaitEnd::Interrupted));
        assert!(since.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn the_end_of_the_runtime_ends_the_wait() {
        let runtime = Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        let interrupt = Arc::new(CompileInterrupt::default());
        let (begun, has_begun) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            wait_for(&handle, Some(&interrupt), async move {
                begun.send(()).unwrap();
                std::future::pending::<()>().await;
            })
        });
        has_begun.recv().unwrap();
        runtime.shutdown_background();
        assert_eq!(waiting.join().unwrap(), Err(WaitEnd::ShuttingDown));
    }
}
