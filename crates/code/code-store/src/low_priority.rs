//! Work that leaves the processors to requests: [`run_at_low_priority`].
//!
//! A deployment reads, hashes and writes many files, while nodes request catalogs and files of the same server.
//! Invariant: a thread with low priority does nothing else, since only privileged processes may raise it again.

use std::panic::resume_unwind;
use std::thread;

use crate::defaults::BACKGROUND_NICENESS;

/// Does work on a thread of its own, to which the scheduler prefers others, and waits for it. To be called where
/// blocking is permitted.
pub fn run_at_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let lowered = || {
        // Linux applies it to the calling thread. If it is refused, the work has the usual priority.
        let _ = rustix::process::setpriority_process(None, BACKGROUND_NICENESS);
        work()
    };
    thread::scope(|scope| {
        let working = scope.spawn(lowered);
        working.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use rustix::process::getpriority_process;

    use super::{BACKGROUND_NICENESS, run_at_low_priority};

    #[test]
    fn only_the_thread_of_the_work_has_a_low_priority() {
        let before = getpriority_process(None).unwrap();
        let during = run_at_low_priority(|| getpriority_process(None).unwrap());
        assert_eq!(during, BACKGROUND_NICENESS);
        assert_eq!(getpriority_process(None).unwrap(), before);
    }

    #[test]
    #[should_panic(expected = "broken")]
    fn a_panic_of_the_work_is_one_of_the_caller() {
        run_at_low_priority(|| panic!("broken"));
    }
}
