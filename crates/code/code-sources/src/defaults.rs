//! Limits and defaults, each with its reason.

use std::time::Duration;

use code_store::defaults::{PATH_BYTES, TREE_FILES};

/// Most modules of one environment: 1,200 have been seen.
pub const MODS: usize = 5_000;

/// Programs that access repositories at once, over all deployments: r10k's default pool is 4, and
/// most of the time is spent waiting.
pub const FETCHES: usize = 8;

/// Timeout for listing the branches of a repository.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for fetching the content of a repository.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// Timeout of a source's `filter_command` for one branch.
pub const FILTER_TIMEOUT: Duration = Duration::from_secs(30);

/// Most bytes that a source's `filter_command` may print for one branch.
pub const FILTER_BYTES: usize = 1 << 20;

/// Timeout of the program of a source that lists environments: it may query other servers.
pub const SOURCE_TIMEOUT: Duration = Duration::from_secs(60);

/// Most bytes of the lists of environments of one source: 3,000 environments of 60 modules, 60
/// bytes each, are 11 MB.
pub const SOURCE_BYTES: usize = 16 << 20;

/// Most environments in a list: three times the 3,000 of the largest sites that have been seen.
pub const SOURCE_ENVIRONMENTS: usize = 10_000;

/// Most lists in a directory: one for each environment.
pub const SOURCE_FILES: usize = SOURCE_ENVIRONMENTS;

/// Interval at which the amount of Subversion's output is checked: at 1 GB/s the excess over
/// [`TREE_BYTES`](code_store::defaults::TREE_BYTES) is at most one GB.
pub const SVN_LOOK: Duration = Duration::from_secs(1);

/// Longest password for Subversion, in bytes: it is passed in a pipe, which holds at least 4,096.
pub const SVN_PASSWORD_BYTES: usize = 1_024;

/// Branches and tags of one repository, 100 bytes each, and tags twice: 20 MB.
pub const REFS: usize = 100_000;

/// Most bytes of a list of branches and tags: [`REFS`] lines of 200 bytes.
pub const REFS_BYTES: usize = 20_000_000;

/// Most bytes that git may print if the output is the name of a commit, or empty.
pub const WORD_BYTES: usize = 4_096;

/// Longest line of the list of a commit's files: the longest path, and mode, name and size before
/// it.
pub const LISTED_BYTES: usize = PATH_BYTES + 256;

/// Number of shared trees from which on unused ones are forgotten: 100 bytes each.
pub const TREES: usize = 4_096;

/// Duration for which a copy of a repository is kept that neither a source nor a version refers to:
/// it costs little, and a clone costs more.
pub const KEEP_MIRRORS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Interval at which the use of a repository's copy is recorded.
pub const MIRROR_NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Packs of a copy, one for each fetch of more than 100 objects, from which on they are merged: git
/// searches each of them for each object. Git's own limit is 50, and git does not repack soon after
/// reaching it.
pub const REPACK_PACKS: usize = 20;

/// Loose objects from which on they are packed: git's own limit is 6,700. They come from smaller
/// fetches.
pub const REPACK_LOOSE: usize = 2_000;

/// Timeout for packing one copy: only the objects since the last time are packed, so it takes
/// seconds; and a task that needs the copy ends it.
pub const REPACK_TIMEOUT: Duration = Duration::from_secs(120);

/// Most bytes of one archive, compressed: modules with installers in `files/` have been seen with
/// some hundred MB.
pub const ARCHIVE_BYTES: u64 = 512 << 20;

/// Most bytes of one archive, unpacked: four times the compressed limit, the ratio of texts.
pub const ARCHIVE_UNPACKED_BYTES: u64 = 2 << 30;

/// Most entries of one archive: each file may have a directory and an extension for its name.
pub const ARCHIVE_ENTRIES: usize = 3 * TREE_FILES;

/// Most directories above a file in an archive: real archives stay below 20.
pub const ARCHIVE_DEPTH: usize = 64;

/// Most bytes of a long name or another extension of an entry: path and target of a link, and the
/// pax record around them.
pub const ARCHIVE_EXTENSION_BYTES: u64 = 64 << 10;

/// Most bytes of a Forge's answer about a module: it lists all releases, some 100 bytes each, and
/// the newest with its README and CHANGELOG.
pub const FORGE_ANSWER_BYTES: u64 = 16 << 20;

/// Concurrent requests to a Forge and for archives: as many as for git.
pub const HTTP_FETCHES: usize = FETCHES;

/// Timeout for establishing a connection.
pub const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for the next bytes of an answer.
pub const HTTP_READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for a whole answer: as for a fetch with git.
pub const HTTP_TIMEOUT: Duration = FETCH_TIMEOUT;

/// Attempts of a request: with [`HTTP_BACKOFF`] within 4 s.
pub const HTTP_ATTEMPTS: u32 = 4;

/// Delay before the first retry; it doubles with each retry.
pub const HTTP_BACKOFF: Duration = Duration::from_millis(500);

/// The longest delay that a server may request in `Retry-After`.
pub const HTTP_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Default validity of what a GitHub App signs, as in r10k, if `github_app_ttl` is not set.
pub const GITHUB_TTL: Duration = Duration::from_secs(120);

/// Tolerated lag of GitHub's clock: as GitHub recommends, and r10k uses.
pub const GITHUB_CLOCKS: Duration = Duration::from_secs(60);

/// A token of a GitHub App is renewed if it expires sooner than this: a fetch may take as long. A
/// token is valid for an hour.
pub const GITHUB_SPARE: Duration = FETCH_TIMEOUT;

/// Duration for which the absence of a GitHub App's installation at an owner is cached: a
/// deployment with many public modules then sends one request per owner, and a new installation is
/// found soon.
pub const GITHUB_ABSENT: Duration = Duration::from_secs(300);

/// Owners of repositories in the cache, 300 bytes each. A full cache is emptied.
pub const GITHUB_OWNERS: usize = 1_000;

/// Most bytes of GitHub's answer about an installation or a token: 5 KB, and the names of up to 500
/// repositories.
pub const GITHUB_ANSWER_BYTES: usize = 1 << 20;

/// Timeout of a request to GitHub.
pub const GITHUB_TIMEOUT: Duration = Duration::from_secs(10);

/// Attempts of a request that GitHub does not answer: with [`GITHUB_BACKOFF`] within 32 s.
pub const GITHUB_ATTEMPTS: u32 = 3;

/// Delay before the first retry; it doubles with each retry.
pub const GITHUB_BACKOFF: Duration = Duration::from_millis(500);
