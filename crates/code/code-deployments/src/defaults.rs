//! Limits of deployments, with their arithmetic.

use std::time::Duration;

/// Time limit for `postrun` of an `r10k.yaml`: it restarts or flushes other programs, which may
/// take minutes.
pub const POSTRUN_TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum output of `postrun`, in bytes; the output is not used.
pub const POSTRUN_BYTES: usize = 16 << 20;

/// Time limit for `puppet generate types`: it starts in a second, and reads each type once.
pub const TYPES_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum output of `puppet generate types`, in bytes: a line of 200 bytes for each of 5,000
/// types.
pub const TYPES_BYTES: usize = 1 << 20;

/// Maximum number of cached Puppetfiles, some 50 KB each: 25 MB at most. A full cache is cleared.
pub const PUPPETFILES: usize = 512;

/// Time that a deployment waits for plans and jobs that hold their environment: Code Manager's
/// `timeouts_sync`.
pub const SWITCH_WAIT: Duration = Duration::from_secs(300);

/// Time that the start of such a plan or job waits for a deployment: clients give up after a
/// minute.
pub const WORKER_WAIT: Duration = Duration::from_secs(45);

/// Maximum number of queued deployments, some 200 bytes each: 2 MB. Three times the 3,000
/// environments of the largest known sites.
pub const DEPLOYS_WAITING: usize = 10_000;

/// Maximum number of requests that the service has not handled yet: each names a few environments.
pub const REQUESTS: usize = 64;

/// Time that a stopping server waits for deployments; unfinished ones continue after its next
/// start.
pub const DRAIN: Duration = Duration::from_secs(10);

/// Time for which the history of deployments is kept.
pub const KEEP_HISTORY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Age up to which an automatic garbage collection keeps contents that no version has: a failed
/// deployment is tried again within the hour, or much later.
pub const COLLECT_SPARE: Duration = Duration::from_secs(60 * 60);

/// Interval at which an automatic garbage collection also covers notes and copies of repositories.
/// For that it reads the lock of each version, some 250 bytes for each module: 5 MB at 200 modules,
/// ten environments and ten versions each.
pub const COLLECT_NOTES: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum length of a deployment's stored reason, in bytes.
pub const REASON_BYTES: usize = 1_024;

/// Maximum length of a deployment's stored error, in bytes: some hundred modules, each with its
/// line.
pub const ERROR_BYTES: usize = 32_768;

/// Time limit for a puppetserver to flush an environment, which it only marks, or to report its
/// compiles.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of attempts to flush a puppetserver's cache: with [`FLUSH_BACKOFF`] within 17 s.
pub const FLUSH_ATTEMPTS: u32 = 3;

/// Pause before the second attempt; the pause before the third is twice as long.
pub const FLUSH_BACKOFF: Duration = Duration::from_millis(500);

/// Time that a switch waits for compiles that began before it: long ones take some ten seconds.
pub const COMPILES_WAIT: Duration = Duration::from_secs(30);

/// Interval at which a puppetserver's compiles are polled: a response takes it some 5 ms.
pub const COMPILES_LOOK: Duration = Duration::from_millis(50);

/// Maximum size of a puppetserver's report on its JRuby instances, in bytes: 300 bytes for each of
/// 1,000 instances, and some for each kind of request.
pub const STATUS_BYTES: usize = 1 << 20;

/// Time that a compile waits for a deployment that switches: [`COMPILES_WAIT`], 17 s to flush the
/// puppetserver's cache, and some for the disk.
pub const GATE_WAIT: Duration = Duration::from_secs(60);

/// Time limit for one notification of a deployment: Code Manager's `timeouts_hook` is 30 s.
pub const TELL_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of attempts to deliver a notification: with [`TELL_BACKOFF`] within 32 s.
pub const TELL_ATTEMPTS: u32 = 3;

/// Pause before the second attempt; the pause before the third is twice as long.
pub const TELL_BACKOFF: Duration = Duration::from_millis(500);

/// Time that a deployment waits for followers, once until they are ready and once until they have
/// switched: Code Manager's `timeouts_sync` is 300 s, of which most is its lock. Here a follower
/// that can be reached needs seconds, and one that was just lost delays deployments for
/// [`FOLLOWER_LEASE`](file_sync::defaults::FOLLOWER_LEASE) at most.
pub const FOLLOWERS_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of attempts to read a staging directory that changes meanwhile.
pub const STAGING_ATTEMPTS: u32 = 5;

/// Pause between these attempts. A change within the same tick of the kernel's clock, 10 ms at
/// most, cannot be seen, so a file that changed within this time counts as changing.
pub const STAGING_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of versions remembered as verified: 100 versions of 100 environments, some 200
/// bytes each. A full memory is cleared, and the versions are compared again at their next
/// deployment.
pub const VERIFIED_VERSIONS: usize = 10_000;
