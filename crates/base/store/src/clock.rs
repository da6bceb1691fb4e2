//! The clock of the columns `*_ms`: [`Clock`], which callers may replace, and [`now_ms`].
//!
//! Invariant: no duration or deadline is a difference of two times of day, since the machine's clock
//! may be set meanwhile. [`Clock::steady_ms`] is for them.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Source of the time of day and of a steady time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;

    /// Milliseconds since 1970 at some moment, counted on by a clock that is never set: for
    /// deadlines and ages.
    fn steady_ms(&self) -> i64;
}

/// The machine's clock. Its steady clock begins with the time of day in each process, and stops
/// while the machine is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// One moment by both clocks.
static START: LazyLock<(i64, Instant)> = LazyLock::new(|| (now_ms(), Instant::now()));

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        now_ms()
    }

    fn steady_ms(&self) -> i64 {
        let (start_ms, start) = *START;
        let passed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        start_ms.saturating_add(passed)
    }
}

/// The current time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
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
