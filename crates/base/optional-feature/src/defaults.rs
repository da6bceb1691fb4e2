//! Bounds of this crate.

use std::time::Duration;

/// The pause between attempts to start a feature: soon after a file was repaired, and a few system calls each.
pub const START_RETRY: Duration = Duration::from_secs(10);
