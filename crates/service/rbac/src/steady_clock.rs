//! Monotonic clock for locks and delays after failed logins: [`SteadyClock`].
//!
//! Invariant: durations within one process use this clock. The time of day is only for stored
//! times, such as the expiry of a token, because no other time survives a restart. A lock is stored
//! without a time: it restarts after a restart of the server, so it is never shorter than
//! configured.

use std::fmt;
use std::time::{Duration, Instant};

/// A monotonic clock, which tests can replace.
pub trait SteadyClock: fmt::Debug + Send + Sync + 'static {
    /// Time since a fixed moment in the life of the process.
    fn elapsed(&self) -> Duration;
}

/// The monotonic clock of the machine (`CLOCK_MONOTONIC`), counted from its creation. It stops
/// while the machine is suspended, so locks then last longer.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    start: Instant,
}

// === impl MachineClock ===

impl MachineClock {
    /// Creates a clock that starts at zero.
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
