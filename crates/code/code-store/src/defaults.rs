//! Limits and defaults, each with its reason.

use std::time::Duration;

/// Maximum number of files and links in a tree: the largest known control repositories have some
/// 20,000.
pub const TREE_FILES: usize = 200_000;

/// Maximum size of a tree, in bytes: known modules with installers in `files/` have some hundred
/// MB.
pub const TREE_BYTES: u64 = 4 << 30;

/// Maximum size of a file, in bytes; a file is read into memory while it is hashed.
pub const FILE_BYTES: u64 = 512 << 20;

/// Maximum length of a path in a tree, in bytes: Linux accepts 4,096 including the directory before
/// it.
pub const PATH_BYTES: usize = 3_072;

/// Maximum length of a name in a path, in bytes: the limit of Linux.
pub const NAME_BYTES: usize = 255;

/// Interval at which the lock of the directory of deployments is polled while another process has
/// it: the kernel reports the release of the lock or the end of the process, but not whichever
/// comes first.
pub const LOCK_LOOK: Duration = Duration::from_millis(200);

/// Maximum number of files named in a comparison of two versions, 100 bytes each: 1 MB.
pub const DIFF_FILES: usize = 10_000;

/// Number of versions of an environment that are kept beside the live one, regardless of age:
/// enough to roll back over a bad week.
pub const KEEP_VERSIONS: usize = 5;

/// Time for which versions beyond those are kept: an agent's cached catalog may need their files
/// for as long as a node is offline.
pub const KEEP_VERSIONS_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Minimum time for which versions stay after they were live, regardless of settings: longer than a
/// catalog compiles, and longer than a plan takes from reading the live version until it is
/// registered as running.
pub const KEEP_AT_LEAST: Duration = Duration::from_secs(10 * 60);

/// Number of bytes of a content that are read and hashed at a time.
pub const HASH_CHUNK_BYTES: usize = 64 * 1_024;

/// Maximum number of contents remembered as verified: some 120 bytes each, so 24 MB. An environment
/// has some 10,000, most of them shared. A full memory is cleared, and contents are hashed again at
/// their next use.
pub const VERIFIED_CONTENTS: usize = 200_000;

/// Maximum number of damaged files that a verification names for a version, 100 bytes each; it
/// counts all.
pub const SHOWN_DAMAGED_FILES: usize = 100;

/// Maximum number of damaged files that the note of a deployment names; the log names all.
pub const NAMED_DAMAGED_FILES: usize = 10;

/// Number of bytes that the probe of a directory writes: one block of a usual file system, to
/// detect a full one.
pub const PROBE_BYTES: usize = 4_096;

/// Niceness of threads that deploy code: beside a thread that answers requests, one gets a tenth of a processor
/// (110 of 1,134 parts of the scheduler's weights), and all of one that is idle.
pub const BACKGROUND_NICENESS: i32 = 10;
