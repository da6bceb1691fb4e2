//! Limits and defaults, each with its reason.

use std::time::Duration;

use code_store::defaults::{KEEP_AT_LEAST, TREE_BYTES, TREE_FILES};

/// How long a follower's question waits for something new. Proxies cut connections that say nothing after
/// 30 s and more.
pub const FOLLOWER_POLL: Duration = Duration::from_secs(20);

/// How long a follower counts as there after it was heard: three questions, so that two may be lost.
pub const FOLLOWER_LEASE: Duration = Duration::from_secs(60);

/// Followers that were not heard for so long are forgotten.
pub const FOLLOWER_FORGET: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Followers of one server, some 100 bytes each, and as much for each of their environments.
pub const FOLLOWERS: usize = 1_000;

/// How often it is written down, at least, that a follower was heard.
pub const FOLLOWER_NOTED: Duration = Duration::from_secs(60);

/// Highest number of a switch that is believed: a thousand a second for 285,000 years.
pub const GENERATION_MAX: i64 = 1 << 53;

/// Longest error of a follower that is kept, in bytes.
pub const FOLLOWER_ERROR_BYTES: usize = 1_024;

/// How long a follower's server has for an answer that does not wait, and beyond [`FOLLOWER_POLL`] for one
/// that does.
pub const FOLLOWER_ANSWER: Duration = Duration::from_secs(15);

/// How long a follower waits after its server could not be asked: then twice as long each time.
pub const FOLLOWER_BACKOFF: Duration = Duration::from_millis(250);

/// And how long at the most, so that a server that is back is found within its [`FOLLOWER_LEASE`].
pub const FOLLOWER_BACKOFF_MAX: Duration = Duration::from_secs(5);

/// How long a follower waits before it tries a version again that it could not get.
pub const FOLLOWER_RETRY: Duration = Duration::from_secs(10);

/// Versions that a follower gets at once.
pub const FOLLOWER_STAGES: usize = 4;

/// Contents that a follower gets at once for a version: a compiler and its server have as many cores.
pub const FOLLOWER_FETCHES: usize = 8;

/// How often a follower goes on at once with a content whose connection broke off after more of it had come: a
/// proxy that is restarted cuts each once. After that it is a failure, and tried again after [`FOLLOWER_RETRY`].
pub const FOLLOWER_RESUMES: u32 = 3;

/// How long contents stay that came for a version that a follower did not get in the end: for a server that is
/// away over night.
pub const FOLLOWER_LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// And how many bytes of them: of one tree.
pub const FOLLOWER_LEFT_BYTES: u64 = TREE_BYTES;

/// And how many of them: as one tree may have.
pub const FOLLOWER_LEFT_FILES: usize = TREE_FILES;

/// The list of a version's files: [`TREE_FILES`] of 300 bytes are 60 MB.
pub const MANIFEST_BYTES: u64 = 64 << 20;

/// Versions that a follower keeps of an environment beside the live one and those that the server keeps:
/// those that still compile read it.
pub const FOLLOWER_VERSIONS: usize = 1;

/// And others for so long.
pub const FOLLOWER_KEEP: Duration = KEEP_AT_LEAST;

/// Longest time for a connection of a follower to its server.
pub const FOLLOWER_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time in which the server of a follower may send nothing while it answers.
pub const FOLLOWER_READ_TIMEOUT: Duration = Duration::from_secs(60);
