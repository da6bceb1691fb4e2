//! Limits and defaults, each with its reason.

use std::time::Duration;

/// Environments that are deployed at once: Code Manager's `deploy_pool_size` is 2, since each of
/// its workers has a copy of everything; here they share all data, and
/// [`FETCHES`](code_sources::defaults::FETCHES) limits the network. A deployment that waits for
/// plans or jobs counts, too.
pub const DEPLOYS_AT_ONCE: usize = 16;

/// Longest `github_app_ttl`: GitHub accepts no JWT with a longer validity.
pub const GITHUB_TTL_MAX: Duration = Duration::from_secs(600);

/// Most bytes of an `r10k.yaml`: 1,000 sources of 500 bytes each, doubled.
pub const R10K_BYTES: u64 = 1 << 20;

/// An `r10k.yaml` that was written more recently than this may be incomplete: an editor that writes
/// in place finishes within milliseconds.
pub const R10K_SETTLES: Duration = Duration::from_millis(250);

/// Attempts to read a file that changes: with [`R10K_SETTLES`] within 1 s.
pub const R10K_ATTEMPTS: u32 = 5;
