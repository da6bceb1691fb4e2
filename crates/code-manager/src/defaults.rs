//! Every bound of deployments, with its arithmetic.

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

/// Modules of one environment: 1,200 are seen.
pub const MODS: usize = 5_000;

/// Programs that talk to repositories at once, over all deployments: r10k's default pool is 4, and most of
/// the time is spent waiting.
pub const FETCHES: usize = 8;

/// How long a repository has for the list of its branches.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a repository has for its content.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// What is kept of what git says when it fails.
pub const GIT_MESSAGE_BYTES: usize = 2_048;

/// Branches and tags of one repository, 100 bytes each: 10 MB.
pub const REFS: usize = 100_000;

/// Puppetfiles remembered, some 50 KB each: 25 MB at the most. Then all are forgotten.
pub const PUPPETFILES: usize = 512;
