//! File operations of asynchronous tasks: [`on_disk`].
//!
//! A thread that writes to a disk may stand still for long: the disk is full of other work, is frozen for a snapshot, or is a
//! file server that is away. Invariant: no other task waits for that thread.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs `work`, which may wait for a disk. Meanwhile another thread runs the other tasks of this one, such as the request of
/// an agent.
pub fn on_disk<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // a runtime of one thread has no other one, and without a runtime there are no tasks
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::on_disk;

    /// With one thread for all tasks, the second one could not run while the first one waits.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn another_task_runs_while_one_waits_for_a_disk() {
        let (sender, receiver) = channel();
        let waiting = tokio::spawn(async move { on_disk(|| receiver.recv().unwrap()) });
        let other = tokio::spawn(async move { sender.send(7).unwrap() });
        assert_eq!(waiting.await.unwrap(), 7);
        other.await.unwrap();
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_the_work_itself() {
        assert_eq!(on_disk(|| 7), 7);
    }

    #[test]
    fn no_runtime_is_needed() {
        assert_eq!(on_disk(|| 7), 7);
    }
}
