//! Durations in the unit of stored times. Main function: [`to_ms`].

use std::time::Duration;

/// The duration in milliseconds, or `i64::MAX` if it does not fit.
pub(crate) fn to_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
