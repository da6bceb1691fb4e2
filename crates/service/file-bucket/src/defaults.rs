//! Limits of this crate, with their reasons.

use std::time::Duration;

/// Age after which an entry is removed that was not stored again: a mistake in a configuration file is found
/// within three months.
pub const KEEP: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Bytes of all contents: 10,000 nodes with 1 MiB of replaced files each.
pub const TOTAL_BYTES: u64 = 10 * 1024 * 1024 * 1024;

/// Part of the total that one node may have: a tenth, so that a single node removes its own entries only.
pub const NODE_PART: u64 = 10;

/// Largest file in bytes. An agent holds the whole file in memory, several times.
pub const FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Entries of a node: each is two files in one directory, which is read for each new entry, in some 10 ms.
pub const NODE_ENTRIES: usize = 10_000;

/// Bytes of the paths of one entry: 200 paths of 300 bytes.
pub const PATHS_BYTES: usize = 64 * 1024;

/// Longest path of a file on a node, in bytes: Linux has 4096.
pub const PATH_BYTES: usize = 4096;

/// Pause between two removals of old entries.
pub const PRUNE_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Part of the total, in percent, to which entries are removed when there are too many bytes.
pub const PRUNE_TO_PERCENT: u64 = 90;

/// Oldest entries that are removed in one pass. Their paths take 20 MB.
pub const PRUNE_ENTRIES: usize = 100_000;

/// Size of the pieces in which a file is received.
pub const COPY_BYTES: usize = 64 * 1024;

/// Largest file that is compared with another one, in bytes. Configuration files have some ten KB.
pub const DIFF_BYTES: u64 = 1 << 20;

/// Time after which a comparison is no longer the shortest: that of two files of [`DIFF_BYTES`] without an equal
/// line would take minutes.
pub const DIFF_TIME: Duration = Duration::from_secs(1);
