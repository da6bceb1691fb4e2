//! A clock that is never set, for locks and delays after failed logins: [`SteadyClock`].
//!
//! The rule: what lasts while the process lives goes by this clock. The time of day is for what is stored
//! (when a token ends), since after a restart nothing else is there. A lock is not stored with a time: one
//! that a new process finds begins anew, so it is never shorter than promised.

use std::fmt;
use std::time::{Duration, Instant};

/// Time that passes.
pub trait SteadyClock: fmt::Debug + Send + Sync + 'static {
    /// The time since a moment that stays the same for the life of the process.
    fn elapsed(&self) -> Duration;
}

/// The monotonic clock of the machine, since this was made. While the machine is suspended it stands still
/// (`CLOCK_MONOTONIC`), so a suspended server keeps its locks for longer.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    start: Instant,
}

// === impl MachineClock ===

impl MachineClock {
    /// Begins at zero.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl SteadyClock for MachineClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
