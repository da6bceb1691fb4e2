//! Every bound of deployments, with its arithmetic.

use std::time::Duration;

use code_store::defaults::{KEEP_AT_LEAST, PATH_BYTES, TREE_BYTES, TREE_FILES};

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

/// How long `postrun` of an `r10k.yaml` has: it restarts or flushes other programs, which may take minutes.
pub const POSTRUN_TIMEOUT: Duration = Duration::from_secs(600);

/// What `postrun` may print; nobody reads it.
pub const POSTRUN_BYTES: usize = 16 << 20;

/// How long `puppet generate types` has: it starts in a second, and reads each type once.
pub const TYPES_TIMEOUT: Duration = Duration::from_secs(120);

/// What `puppet generate types` may print: a line of 200 bytes for each of 5,000 types.
pub const TYPES_BYTES: usize = 1 << 20;

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

/// Puppetfiles remembered, some 50 KB each: 25 MB at the most. Then all are forgotten.
pub const PUPPETFILES: usize = 512;

/// Trees that are shared before those are forgotten that nobody works with any more: 100 bytes each.
pub const TREES: usize = 4_096;

/// Environments that are worked on at once: Code Manager's `deploy_pool_size` is 2, since each of its
/// has a copy of everything; here they share all, and [`FETCHES`] bounds the network.
/// One that waits for plans or jobs takes a place, too.
pub const DEPLOYS_AT_ONCE: usize = 16;

/// How long a deployment waits for plans and jobs that want their environment to stay: Code Manager's `timeouts_sync`.
pub const SWITCH_WAIT: Duration = Duration::from_secs(300);

/// How long whoever starts such a plan or job waits for a deployment: clients give up after a minute.
pub const WORKER_WAIT: Duration = Duration::from_secs(45);

/// Deployments that wait, some 200 bytes each: 2 MB. Three times the 3,000 environments of the largest
/// sites that are seen.
pub const DEPLOYS_WAITING: usize = 10_000;

/// Requests that the service has not looked at yet: each is a few environments.
pub const REQUESTS: usize = 64;

/// How long a server that stops waits for deployments; then they go on after its next start.
pub const DRAIN: Duration = Duration::from_secs(10);

/// How long the history of deployments is kept.
pub const KEEP_HISTORY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How long contents that no version has are left by a collection that nobody asked for: a deployment that
/// fails is tried again within the hour, or much later.
pub const COLLECT_SPARE: Duration = Duration::from_secs(60 * 60);

/// How often such a collection looks at notes and copies of repositories, too. For that it reads the lock of
/// each version, some 250 bytes for each module: 5 MB at 200 modules, ten environments and ten versions each.
pub const COLLECT_NOTES: Duration = Duration::from_secs(24 * 60 * 60);

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

/// Longest reason that is kept of a deployment, in bytes.
pub const REASON_BYTES: usize = 1_024;

/// Longest error that is kept of a deployment, in bytes: some hundred modules, each with its line.
pub const ERROR_BYTES: usize = 32_768;

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

/// And at the most: GitHub takes none that is good for longer.
pub const GITHUB_TTL_MAX: Duration = Duration::from_secs(600);

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

/// How long a puppetserver has to forget an environment, which it only marks, or to say what it compiles.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a puppetserver is told that does not answer: with [`FLUSH_BACKOFF`] within 17 s.
pub const FLUSH_ATTEMPTS: u32 = 3;

/// How long is waited before it is told again; the second time twice as long.
pub const FLUSH_BACKOFF: Duration = Duration::from_millis(500);

/// How long a switch waits for compiles that began before it: long ones take some ten seconds.
pub const COMPILES_WAIT: Duration = Duration::from_secs(30);

/// How often a puppetserver is asked what it compiles: an answer takes it some 5 ms.
pub const COMPILES_LOOK: Duration = Duration::from_millis(50);

/// What a puppetserver says of its instances of JRuby, 300 bytes for each and some for each kind of request: of
/// 1,000 instances.
pub const STATUS_BYTES: usize = 1 << 20;

/// How long a compile waits for a deployment that switches: [`COMPILES_WAIT`], 17 s to tell the puppetserver,
/// and some for the disk.
pub const GATE_WAIT: Duration = Duration::from_secs(60);

/// How long somebody outside has who is told of a deployment: Code Manager's `timeouts_hook` is 30 s.
pub const TELL_TIMEOUT: Duration = Duration::from_secs(10);

/// How often somebody is told who does not answer: with [`TELL_BACKOFF`] within 32 s.
pub const TELL_ATTEMPTS: u32 = 3;

/// How long is waited before somebody is told again; the second time twice as long.
pub const TELL_BACKOFF: Duration = Duration::from_millis(500);

/// Branches that one message of a forge tells of: GitHub tells of one, others of up to some ten.
pub const PUSHED_BRANCHES: usize = 1_000;

/// Bytes of an `r10k.yaml`: 1,000 sources of 500 bytes each, twice.
pub const R10K_BYTES: u64 = 1 << 20;

/// An `r10k.yaml` that was written within this time may not be whole: an editor that writes in place does so
/// within milliseconds.
pub const R10K_SETTLES: Duration = Duration::from_millis(250);

/// How often it is looked at one that changes: with [`R10K_SETTLES`] within 1 s.
pub const R10K_ATTEMPTS: u32 = 5;

/// Shortest secret of webhooks, in bytes: what GitLab makes has 20.
pub const SECRET_BYTES: usize = 16;

/// Names of webhook messages that are remembered: two of each message, 40 bytes each; some days of a busy forge.
pub const DELIVERIES: usize = 8_192;

/// How long a follower's question waits for something new. Proxies cut connections that say nothing after
/// 30 s and more.
pub const FOLLOWER_POLL: Duration = Duration::from_secs(20);

/// How long a follower counts as there after it was heard: three questions, so that two may be lost.
pub const FOLLOWER_LEASE: Duration = Duration::from_secs(60);

/// How long a deployment waits for followers, once until they are ready and once until they have switched:
/// Code Manager's `timeouts_sync` is 300 s, of which most is its lock. Here a follower that can be reached
/// needs seconds, and one that was just lost holds deployments up for [`FOLLOWER_LEASE`] at the most.
pub const FOLLOWERS_TIMEOUT: Duration = Duration::from_secs(30);

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

/// How often a staging directory is read that changes meanwhile.
pub const STAGING_ATTEMPTS: u32 = 5;

/// How long is waited before it is read again. A change within the same tick of the kernel's clock, 10 ms at
/// the most, cannot be seen, so what changed within this time counts as changing.
pub const STAGING_PAUSE: Duration = Duration::from_millis(50);

/// Versions whose files are remembered as right: 100 versions of 100 environments, some 200 bytes
/// each. When there are more, all are forgotten and compared again at their next deployment.
pub const VERIFIED_VERSIONS: usize = 10_000;
