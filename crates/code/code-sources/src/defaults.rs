//! Limits and defaults, each with its reason.

use std::time::Duration;

use code_store::defaults::{PATH_BYTES, TREE_FILES};

/// Modules of one environment: 1,200 are seen.
pub const MODS: usize = 5_000;

/// Programs that talk to repositories at once, over all deployments: r10k's default pool is 4, and most of
/// the time is spent waiting.
pub const FETCHES: usize = 8;

/// How long a repository has for the list of its branches.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a repository has for its content.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a source's `filter_command` has for a branch.
pub const FILTER_TIMEOUT: Duration = Duration::from_secs(30);

/// What a source's `filter_command` may print for a branch.
pub const FILTER_BYTES: usize = 1 << 20;

/// How long a source's program has to say which environments there are: it may ask other servers.
pub const SOURCE_TIMEOUT: Duration = Duration::from_secs(60);

/// What lists of environments of one source may have: 3,000 environments of 60 modules, 60 bytes each, are 11 MB.
pub const SOURCE_BYTES: usize = 16 << 20;

/// Environments that a list may name: three times the 3,000 of the largest sites that are seen.
pub const SOURCE_ENVIRONMENTS: usize = 10_000;

/// Lists in a directory: one for each environment.
pub const SOURCE_FILES: usize = SOURCE_ENVIRONMENTS;

/// What is shown of what git says when it fails.
pub const GIT_MESSAGE_BYTES: usize = 2_048;

/// What is kept of what a program says: four times of what is shown, since addresses in it get shorter.
pub const PROGRAM_MESSAGE_BYTES: usize = 8_192;

/// How often it is looked how much Subversion wrote: at 1 GB/s no more than that beyond [`TREE_BYTES`].
pub const SVN_LOOK: Duration = Duration::from_secs(1);

/// Longest password for Subversion, in bytes: it is handed over in a pipe, which has room for 4,096 at least.
pub const SVN_PASSWORD_BYTES: usize = 1_024;

/// Branches and tags of one repository, 100 bytes each, and tags twice: 20 MB.
pub const REFS: usize = 100_000;

/// What a list of branches and tags may have: [`REFS`] lines of 200 bytes.
pub const REFS_BYTES: usize = 20_000_000;

/// What git may print where a name of a commit is expected, or nothing.
pub const WORD_BYTES: usize = 4_096;

/// A line of the list of a commit's files: the longest path, and mode, name and size before it.
pub const LISTED_BYTES: usize = PATH_BYTES + 256;

/// Trees that are shared before those are forgotten that nobody works with any more: 100 bytes each.
pub const TREES: usize = 4_096;

/// How long a copy of a repository stays that neither a source nor a version names: it costs little, and a
/// clone costs more.
pub const KEEP_MIRRORS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often it is noted that a copy of a repository is used.
pub const MIRROR_NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Packs of a copy, one for each fetch of more than 100 objects, from which on they are made one: git looks
/// into each for each object. Git's own limit is 50, and it is not in a hurry.
pub const REPACK_PACKS: usize = 20;

/// Objects in files of their own from which on they are packed: git's own limit is 6,700. They come by smaller
/// fetches.
pub const REPACK_LOOSE: usize = 2_000;

/// How long it may take to pack one copy: it is only what came since, so seconds; and whoever needs the copy
/// ends it.
pub const REPACK_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes of one archive, packed: modules with installers in `files/` are seen with some hundred MB.
pub const ARCHIVE_BYTES: u64 = 512 << 20;

/// Bytes of one archive, unpacked: four times of what it may have packed, as texts pack.
pub const ARCHIVE_UNPACKED_BYTES: u64 = 2 << 30;

/// Entries of one archive: each file may have a directory and an extension for its name.
pub const ARCHIVE_ENTRIES: usize = 3 * TREE_FILES;

/// Directories above a file in an archive: people stay below 20.
pub const ARCHIVE_DEPTH: usize = 64;

/// A long name, or other things that are said of an entry: path and target of a link, and what a pax record
/// has around them.
pub const ARCHIVE_EXTENSION_BYTES: u64 = 64 << 10;

/// What a Forge says of a module: all of its releases are named, some 100 bytes each, and the newest comes
/// with its README and CHANGELOG.
pub const FORGE_ANSWER_BYTES: u64 = 16 << 20;

/// Requests at once to a Forge and for archives: as many as for git.
pub const HTTP_FETCHES: usize = FETCHES;

/// How long a connection may take.
pub const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long nothing may come.
pub const HTTP_READ_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a whole answer may take: as git's fetch.
pub const HTTP_TIMEOUT: Duration = FETCH_TIMEOUT;

/// How often the same is asked for: with [`HTTP_BACKOFF`] within 4 s.
pub const HTTP_ATTEMPTS: u32 = 4;

/// How long is waited before it is asked for again; each time twice as long.
pub const HTTP_BACKOFF: Duration = Duration::from_millis(500);

/// The longest wait that a server may ask for.
pub const HTTP_RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long what a GitHub App signs is good, if `github_app_ttl` does not say: r10k's.
pub const GITHUB_TTL: Duration = Duration::from_secs(120);

/// How far GitHub's clock may be behind ours: what GitHub advises, and r10k does.
pub const GITHUB_CLOCKS: Duration = Duration::from_secs(60);

/// A token of a GitHub App is renewed if it is good for less: a fetch may take as long. It is good for an hour.
pub const GITHUB_SPARE: Duration = FETCH_TIMEOUT;

/// How long it is believed that a GitHub App is not installed at an owner of repositories: so a deployment with
/// many public modules asks once for each owner, and one that somebody just installed is found soon.
pub const GITHUB_ABSENT: Duration = Duration::from_secs(300);

/// Owners of repositories that are remembered, 300 bytes each. Then all are forgotten.
pub const GITHUB_OWNERS: usize = 1_000;

/// What GitHub says of an installation or a token: 5 KB, and the names of up to 500 repositories.
pub const GITHUB_ANSWER_BYTES: usize = 1 << 20;

/// How long GitHub has for an answer.
pub const GITHUB_TIMEOUT: Duration = Duration::from_secs(10);

/// How often GitHub is asked that does not answer: with [`GITHUB_BACKOFF`] within 32 s.
pub const GITHUB_ATTEMPTS: u32 = 3;

/// How long is waited before it is asked again; the second time twice as long.
pub const GITHUB_BACKOFF: Duration = Duration::from_millis(500);
