//! Every bound of deployments, with its arithmetic.

use std::time::Duration;

/// How long `postrun` of an `r10k.yaml` has: it restarts or flushes other programs, which may take minutes.
pub const POSTRUN_TIMEOUT: Duration = Duration::from_secs(600);

/// What `postrun` may print; nobody reads it.
pub const POSTRUN_BYTES: usize = 16 << 20;

/// How long `puppet generate types` has: it starts in a second, and reads each type once.
pub const TYPES_TIMEOUT: Duration = Duration::from_secs(120);

/// What `puppet generate types` may print: a line of 200 bytes for each of 5,000 types.
pub const TYPES_BYTES: usize = 1 << 20;

/// Puppetfiles remembered, some 50 KB each: 25 MB at the most. Then all are forgotten.
pub const PUPPETFILES: usize = 512;

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

/// Longest reason that is kept of a deployment, in bytes.
pub const REASON_BYTES: usize = 1_024;

/// Longest error that is kept of a deployment, in bytes: some hundred modules, each with its line.
pub const ERROR_BYTES: usize = 32_768;

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

/// How long a deployment waits for followers, once until they are ready and once until they have switched:
/// Code Manager's `timeouts_sync` is 300 s, of which most is its lock. Here a follower that can be reached
/// needs seconds, and one that was just lost holds deployments up for [`FOLLOWER_LEASE`] at the most.
pub const FOLLOWERS_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a staging directory is read that changes meanwhile.
pub const STAGING_ATTEMPTS: u32 = 5;

/// How long is waited before it is read again. A change within the same tick of the kernel's clock, 10 ms at
/// the most, cannot be seen, so what changed within this time counts as changing.
pub const STAGING_PAUSE: Duration = Duration::from_millis(50);

/// Versions whose files are remembered as right: 100 versions of 100 environments, some 200 bytes
/// each. When there are more, all are forgotten and compared again at their next deployment.
pub const VERIFIED_VERSIONS: usize = 10_000;
