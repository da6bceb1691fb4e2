//! Start time of each running job by a clock that is never set: [`RunningJobs`].
//!
//! Invariant: an entry ends with its job, so there are as many entries as running jobs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::JobNumber;
use tokio::time::Instant;

/// Running jobs, shared by the engine and the handles that list jobs.
#[derive(Debug, Default)]
pub(crate) struct RunningJobs {
    begins: Mutex<HashMap<JobNumber, Instant>>,
}

// === impl RunningJobs ===

impl RunningJobs {
    pub(crate) fn begin(&self, job: JobNumber, at: Instant) {
        self.lock_begins().insert(job, at);
    }

    /// Removes the entry of a job; returns the time that the job took, `None` if it never ran.
    pub(crate) fn end(&self, job: JobNumber) -> Option<Duration> {
        let begin = self.lock_begins().remove(&job)?;
        Some(begin.elapsed())
    }

    /// Time since the start of a job; `None` if it is not running.
    pub(crate) fn elapsed(&self, job: JobNumber) -> Option<Duration> {
        let begin = self.lock_begins().get(&job).copied()?;
        Some(begin.elapsed())
    }

    fn lock_begins(&self) -> MutexGuard<'_, HashMap<JobNumber, Instant>> {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
