//! Limits of this crate.

use std::time::Duration;

/// Pause between attempts to start a feature: short enough to notice a repaired file soon, at the
/// cost of a few system calls each.
pub const START_RETRY: Duration = Duration::from_secs(10);
