//! The time of day, handed in.
//!
//! [`Clock`] gives the milliseconds that are stored; timers go by tokio's clock. The rules: nothing
//! in this crate asks the system for the time elsewhere; and no duration or deadline within a process is
//! a difference of two times of day, since the machine's clock may be set meanwhile.

use std::fmt;
use std::sync::LazyLock;
use std::time::Instant;

/// The time of day.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;

    /// Milliseconds since 1970 at the start of the process, counted on by a clock that is never set: for deadlines
    /// that are stored. After a restart it begins with the time of day again.
    fn steady_ms(&self) -> i64 {
        self.now_ms()
    }
}

/// The machine's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// One moment by both clocks.
static START: LazyLock<(i64, Instant)> = LazyLock::new(|| (SystemClock.now_ms(), Instant::now()));

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }

    fn steady_ms(&self) -> i64 {
        let (start_ms, start) = *START;
        let passed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        start_ms.saturating_add(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steady_clock_starts_at_the_time_of_day_and_goes_on() {
        let first = SystemClock.steady_ms();
        let later = SystemClock.steady_ms();
        assert!(later >= first);
        let hour_ms = 3_600_000;
        assert!((SystemClock.now_ms() - later).abs() < hour_ms);
    }
}
