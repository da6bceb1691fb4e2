//! Limits and defaults, each with its reason.

use std::time::Duration;

/// Environments that are worked on at once: Code Manager's `deploy_pool_size` is 2, since each of its
/// has a copy of everything; here they share all, and [`FETCHES`](code_sources::defaults::FETCHES) bounds the network.
/// One that waits for plans or jobs takes a place, too.
pub const DEPLOYS_AT_ONCE: usize = 16;

/// And at the most: GitHub takes none that is good for longer.
pub const GITHUB_TTL_MAX: Duration = Duration::from_secs(600);

/// Bytes of an `r10k.yaml`: 1,000 sources of 500 bytes each, twice.
pub const R10K_BYTES: u64 = 1 << 20;

/// An `r10k.yaml` that was written within this time may not be whole: an editor that writes in place does so
/// within milliseconds.
pub const R10K_SETTLES: Duration = Duration::from_millis(250);

/// How often it is looked at one that changes: with [`R10K_SETTLES`] within 1 s.
pub const R10K_ATTEMPTS: u32 = 5;
