//! The clock of the columns `*_ms`: [`now_ms`].

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
