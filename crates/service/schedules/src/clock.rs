//! The time of day, handed in.
//!
//! [`Clock`]; the rule: nothing else in this crate asks the system for the time.

use std::fmt;

/// The time of day.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;
}

/// The machine's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }
}
