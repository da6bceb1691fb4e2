//! Limits and defaults, each with its reason.

use std::time::Duration;

use code_store::defaults::{KEEP_AT_LEAST, TREE_BYTES, TREE_FILES};

/// Longest time that a follower's check-in waits for a change. Proxies cut connections without
/// traffic after 30 s or more.
pub const FOLLOWER_POLL: Duration = Duration::from_secs(20);

/// Time after its last check-in during which a follower counts as connected: three check-ins, so
/// that two may be lost.
pub const FOLLOWER_LEASE: Duration = Duration::from_secs(60);

/// Followers without a check-in for this long are removed.
pub const FOLLOWER_FORGET: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most followers of one server, about 100 bytes each, and as much for each of their environments.
pub const FOLLOWERS: usize = 1_000;

/// Longest interval at which the time of a follower's last check-in is written to the database.
pub const FOLLOWER_NOTED: Duration = Duration::from_secs(60);

/// Highest generation that is accepted from a follower: a thousand a second for 285,000 years.
pub const GENERATION_MAX: i64 = 1 << 53;

/// Longest error of a follower that is kept, in bytes.
pub const FOLLOWER_ERROR_BYTES: usize = 1_024;

/// Longest time for the server's answer to a request that does not wait, and in addition to
/// [`FOLLOWER_POLL`] for a check-in.
pub const FOLLOWER_ANSWER: Duration = Duration::from_secs(15);

/// First pause of a follower after a failed check-in; it doubles with each further failure.
pub const FOLLOWER_BACKOFF: Duration = Duration::from_millis(250);

/// Longest pause after failed check-ins, so that a server that is back is found within its
/// [`FOLLOWER_LEASE`].
pub const FOLLOWER_BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Time after which a follower retries a version that it could not fetch.
pub const FOLLOWER_RETRY: Duration = Duration::from_secs(10);

/// Versions that a follower fetches at once.
pub const FOLLOWER_STAGES: usize = 4;

/// Contents that a follower fetches at once for a version: a compiler and its server have as many
/// cores.
pub const FOLLOWER_FETCHES: usize = 8;

/// Most immediate resumptions of a content whose connection broke off after progress: a proxy that
/// is restarted cuts each connection once. After that it is a failure, retried after
/// [`FOLLOWER_RETRY`].
pub const FOLLOWER_RESUMES: u32 = 3;

/// Time for which contents of a version that could not be completed are kept: long enough for a
/// server that is down overnight.
pub const FOLLOWER_LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// Most bytes of such contents: those of one tree.
pub const FOLLOWER_LEFT_BYTES: u64 = TREE_BYTES;

/// Most files of such contents: those of one tree.
pub const FOLLOWER_LEFT_FILES: usize = TREE_FILES;

/// Largest list of a version's files, in bytes: [`TREE_FILES`] of 300 bytes are 60 MB.
pub const MANIFEST_BYTES: u64 = 64 << 20;

/// Versions of an environment that a follower keeps besides the live one and those that the server
/// keeps: compiles that began before a switch still read them.
pub const FOLLOWER_VERSIONS: usize = 1;

/// Minimum age of other versions before they are removed.
pub const FOLLOWER_KEEP: Duration = KEEP_AT_LEAST;

/// Longest time for a connection of a follower to its server.
pub const FOLLOWER_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest pause within an answer of the follower's server.
pub const FOLLOWER_READ_TIMEOUT: Duration = Duration::from_secs(60);
