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

/// What is shown of what git says when it fails.
pub const GIT_MESSAGE_BYTES: usize = 2_048;

/// What is kept of what a program says: four times of what is shown, since addresses in it get shorter.
pub const PROGRAM_MESSAGE_BYTES: usize = 8_192;

/// Branches and tags of one repository, 100 bytes each, and tags twice: 20 MB.
pub const REFS: usize = 100_000;

/// What a list of branches and tags may have: [`REFS`] lines of 200 bytes.
pub const REFS_BYTES: usize = 20_000_000;

/// What git may print where a name of a commit is expected, or nothing.
pub const WORD_BYTES: usize = 4_096;

/// A line of the list of a commit's files: the longest path, and mode, name and size before it.
pub const LISTED_BYTES: usize = PATH_BYTES + 256;

/// How often it is looked whether another process is done with the directory of deployments: the kernel
/// tells of the lock or of the process's end, but not of whichever comes first.
pub const LOCK_LOOK: Duration = Duration::from_millis(200);

/// Puppetfiles remembered, some 50 KB each: 25 MB at the most. Then all are forgotten.
pub const PUPPETFILES: usize = 512;
