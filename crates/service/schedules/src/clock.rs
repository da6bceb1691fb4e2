//! The time of day, passed in as a dependency: [`ScheduleClock`].
//!
//! Invariant: no other code in this crate reads the system time.

use std::fmt;

/// A source of the current time.
pub trait ScheduleClock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;
}

/// The system clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemScheduleClock;

impl ScheduleClock for SystemScheduleClock {
    fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }
}
