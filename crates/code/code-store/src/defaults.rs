//! Limits and defaults, each with its reason.

use std::time::Duration;

/// Files and links of one tree: the largest control repositories that are seen have some 20,000.
pub const TREE_FILES: usize = 200_000;

/// Bytes of one tree: modules with installers in `files/` are seen with some hundred MB.
pub const TREE_BYTES: u64 = 4 << 30;

/// Largest file; read into memory while it is hashed.
pub const FILE_BYTES: u64 = 512 << 20;

/// Longest path in a tree: Linux takes 4,096 with the directory before it.
pub const PATH_BYTES: usize = 3_072;

/// Longest name in a path: Linux's.
pub const NAME_BYTES: usize = 255;

/// How often it is looked whether another process is done with the directory of deployments: the kernel
/// tells of the lock or of the process's end, but not of whichever comes first.
pub const LOCK_LOOK: Duration = Duration::from_millis(200);

/// Files named in a comparison of two versions, 100 bytes each: 1 MB.
pub const DIFF_FILES: usize = 10_000;

/// Versions of an environment that are kept beside the live one, whatever their age: enough to go back over
/// a bad week.
pub const KEEP_VERSIONS: usize = 5;

/// How long versions beyond those are kept: an agent's cached catalog may need their files for as long as a
/// node is away.
pub const KEEP_VERSIONS_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long versions stay after they were live, whatever the settings say: longer than a catalog is compiled,
/// and than a plan takes from its look at what is live until it is known to run.
pub const KEEP_AT_LEAST: Duration = Duration::from_secs(10 * 60);

/// Bytes of a content that are read and hashed at a time.
pub const HASH_CHUNK_BYTES: usize = 64 * 1_024;

/// Contents whose bytes are remembered as right: some 120 bytes each, so 24 MB. An environment has some
/// 10,000, most of them shared. When more are verified, all are forgotten and hashed again when they
/// are used next.
pub const VERIFIED_CONTENTS: usize = 200_000;

/// Damaged files of a version that a verification of the store names, 100 bytes each; it gives the number of all.
pub const SHOWN_DAMAGED_FILES: usize = 100;

/// Damaged files that the note of a deployment names; the log names all.
pub const NAMED_DAMAGED_FILES: usize = 10;

/// Bytes that the probe of a directory writes: one block of a usual file system, so that a full one is noticed.
pub const PROBE_BYTES: usize = 4_096;
