//! Every number of the engine, the spool and the modules, with its reason.

use std::time::Duration;

// --- intake ---

/// Actions that run at once. Each is at least one wrapper (1.5 MB) and the
/// action itself; a node that is asked for more than this is being misused.
pub const MAX_CONCURRENT_ACTIONS: usize = 64;

/// Requests that wait for a free place. Later ones are refused with an error.
pub const MAX_QUEUED_ACTIONS: usize = 256;

/// Parameters of waiting requests together: one request of the largest size a
/// broker passes on, or many small ones.
pub const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Answers to refused and quick requests under way at once. A socket that does
/// not take them means the peer is not reading; the rest is logged and dropped.
pub const MAX_PENDING_REPLIES: usize = 256;

/// Status queries answered at once: each may hold two streams of output.
pub const MAX_CONCURRENT_STATUS_QUERIES: usize = 4;

// --- facts ---

/// How long one program may take to tell facts. `puppet facts` takes 2 to 5 seconds, 20 on a busy
/// machine; two programs and what comes after fit into the server's 60 seconds.
pub const FACTS_TIMEOUT: Duration = Duration::from_secs(25);

/// Age up to which an answer counts as fresh (`facts-min-interval`): a server that restarts, or
/// whose connection flaps, asks again each time, and custom facts may start package managers.
pub const FACTS_MIN_INTERVAL: Duration = Duration::from_secs(300);

/// Directory with the links to programs of Puppet's own packages.
pub const PUPPET_BIN: &str = "/opt/puppetlabs/bin";

/// Facts of one node, as a server takes them. Facter tells 10 to 60 KB.
pub const FACTS_BYTES: u64 = 1 << 20;

// --- results ---

/// Output carried in a result, per stream (`max-output-bytes`).
pub const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;

/// Largest message the agent sends (`max-message-size`).
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Room kept in a message for everything but the two output streams: the
/// envelope (URIs of two certnames of 253 bytes, ids) and the other result keys.
pub const MESSAGE_OVERHEAD_BYTES: usize = 16 * 1024;

// --- outcomes ---

/// Sends of an outcome to a requester that never acknowledged anything (a stock
/// orchestrator): the first, and one after each of two reconnections.
pub const MAX_SENDS_UNACKNOWLEDGED: u32 = 3;

/// Gap between re-sent outcomes, so that an agent with many of them does not
/// flood an orchestrator which comes back to a whole fleet: 20 per second.
pub const RESEND_GAP: Duration = Duration::from_millis(50);

/// First wait for an acknowledgement on a connection that stays up (the
/// orchestrator behind the broker may have been away); doubles each time.
pub const RESEND_FLOOR: Duration = Duration::from_secs(30);

/// Longest wait between two sends of an unacknowledged outcome.
pub const RESEND_CEILING: Duration = Duration::from_secs(600);

/// Outcomes that wait to be sent or acknowledged; 100 bytes each. Later ones are
/// kept in the spool for whoever queries them.
pub const MAX_PENDING_OUTCOMES: usize = 10_000;

// --- spool and cache ---

/// How long results are kept (`spool-dir-purge-ttl`).
pub const SPOOL_TTL: Duration = Duration::from_secs(14 * 24 * 3600);

/// How long a request may still be sent again to an agent that never saw it: an hour for Tutti's
/// orchestrator, twice that for clocks and queues. Younger entries that go are missed.
pub const SPOOL_MEMORY: Duration = Duration::from_secs(2 * 3600);

/// A task's result from which a secret is removed as JSON, once it is acknowledged; as large as the largest
/// message. Of what is longer all that follows the secret's key is erased.
pub const SCRUB_PARSED_BYTES: u64 = 64 * 1024 * 1024;

/// How long unused task files are kept (`task-cache-dir-purge-ttl`).
pub const TASK_CACHE_TTL: Duration = Duration::from_secs(14 * 24 * 3600);

/// From one purge to the next; pxp-agent uses the same.
pub const PURGE_INTERVAL: Duration = Duration::from_secs(3600);

/// Largest record read back from the spool: a few hundred bytes in practice.
pub const MAX_RECORD_BYTES: u64 = 64 * 1024;

// --- processes ---

/// From SIGTERM to SIGKILL when an action is cancelled or timed out.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// After the action's own process ended, how long processes it left behind may
/// still write output that counts (a `tee` in a pipeline, say).
pub const OUTPUT_DRAIN: Duration = Duration::from_millis(250);

/// Between two rounds of killing a tree that keeps forking.
pub const KILL_ROUND: Duration = Duration::from_millis(20);

/// Rounds of SIGSTOP before SIGKILL. Each stops all that was there, so a tree
/// that forks at full speed is still within a few.
pub const MAX_STOP_ROUNDS: u32 = 32;

/// A tree that survives SIGKILL for this long holds processes that cannot be
/// signalled (another user's, or stuck in the kernel); their number is recorded.
pub const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// Room reserved on disk for the exit record before the action starts, so that
/// a full disk cannot lose it: a few numbers and a message of 1 KiB, of which
/// JSON may make six.
pub const EXIT_RECORD_BYTES: usize = 8 * 1024;

/// Longest message kept in an exit record.
pub const EXIT_MESSAGE_BYTES: usize = 1024;

/// Room that the spool is asked for when an action has ended, to see whether its
/// output had any: one block of all usual file systems, for less is a full disk.
pub const SPOOL_PROBE_BYTES: usize = 4096;

/// Output kept in the spool, per stream (`max-spool-output-bytes`): far more
/// than a result carries, far less than a disk; 64 actions that run wild with
/// one stream take 64 GiB.
pub const MAX_SPOOL_OUTPUT_BYTES: u64 = 1024 * 1024 * 1024;

/// From one look at the size of the output to the next. An action may be ahead
/// of its limit by what its disk takes in this time: 2 GB on a fast one.
pub const OUTPUT_LIMIT_INTERVAL: Duration = Duration::from_secs(1);

/// Output beyond the limit is taken out in pieces of this size, a multiple of
/// the blocks of all usual file systems.
pub const OUTPUT_HOLE_BYTES: u64 = 1024 * 1024;

// --- live output ---

/// Bytes per live chunk: small beside a message, large beside a line.
pub const OUTPUT_CHUNK_BYTES: usize = 16 * 1024;

/// Wait between two looks at a growing file, so that an action which writes byte
/// by byte does not become a message per byte.
pub const OUTPUT_COALESCE: Duration = Duration::from_millis(50);

/// Actions whose output is watched at once; beyond it credit is not taken.
pub const MAX_LIVE_OUTPUTS: usize = 256;

/// How long the rest of an ended action's output waits for credit.
pub const OUTPUT_LINGER: Duration = Duration::from_secs(60);

// --- downloads ---

/// TCP and TLS of a download (`task-download-connect-timeout`).
pub const DOWNLOAD_CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

/// A whole download (`task-download-timeout`).
pub const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(1800);

/// Rounds over all primary URIs that end with an error inside a server (500): it is there, so
/// its error may well be for ever. While a server is away or overloaded, downloads are tried for
/// the whole [`DOWNLOAD_TIMEOUT`].
pub const DOWNLOAD_FAULTY_ROUNDS: u32 = 5;

/// First wait between rounds; doubles (1, 2, 4, 8 s), half of it random.
pub const DOWNLOAD_BACKOFF: Duration = Duration::from_secs(1);

/// Longest wait between rounds: 1,000 nodes that want the same file ask 130 times per second
/// while their server is away, and have it within 10 s of its return.
pub const DOWNLOAD_BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Longest `Retry-After` that is honoured.
pub const DOWNLOAD_RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Files fetched at once.
pub const MAX_CONCURRENT_DOWNLOADS: usize = 8;

/// Pieces of a download between the socket and the disk, of some 16 KiB each.
pub const CHUNKS_IN_FLIGHT: usize = 8;

/// Largest file that is fetched.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

// --- external modules ---

/// How long `<module> metadata` may take when the agent starts.
pub const MODULE_METADATA_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest metadata an external module may print.
pub const MODULE_METADATA_BYTES: usize = 1024 * 1024;

// --- Puppet runs ---

/// How long a run waits for another one that is in progress; pxp-module-puppet
/// waits as long.
pub const LOCK_WAIT: Duration = Duration::from_secs(600);

/// From one look at the lock of a run in progress to the next; a look is two
/// small reads.
pub const LOCK_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Largest lock file that is read: a pid, or a reason in a few words.
pub const LOCK_FILE_BYTES: u64 = 64 * 1024;

/// Longest reason for a disabled agent that is told.
pub const REASON_CHARS: usize = 500;

/// How long `puppet config print` may take; half a second is usual, and a node
/// under full load takes ten times as long.
pub const PUPPET_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// What `puppet config print` may print: four paths.
pub const PUPPET_ANSWER_BYTES: u64 = 64 * 1024;

/// Directories inside each other that a download looks into; each is an open file.
pub const COLLECT_DEPTH: usize = 64;

/// Largest order for a run: 128 words of 4 KiB, in JSON.
pub const RUNNER_ORDER_BYTES: u64 = 1024 * 1024;

/// End of each output stream that is looked through when a run left no report.
pub const SCANNED_OUTPUT_BYTES: u64 = 64 * 1024;

/// Largest report that is read; it goes by as a stream. A resource takes 1 KB
/// in it, so this is ten times the largest catalogs.
pub const MAX_REPORT_BYTES: u64 = 256 * 1024 * 1024;

/// Resources of a run that a result carries, of each kind (failed, changed,
/// would change). With the limits below 300 of them are within 4.5 MB.
pub const REPORTED_RESOURCES: usize = 100;

/// Events of a resource that a result carries.
pub const REPORTED_MESSAGES: usize = 4;

/// Classes and resources around a resource that a result carries.
pub const REPORTED_CONTAINMENT: usize = 8;

/// Error messages of a run that a result carries.
pub const REPORTED_ERRORS: usize = 10;

/// Counters of a run that a result carries; Puppet has nine.
pub const REPORTED_METRICS: usize = 64;

/// Longest text of a report that a result carries.
pub const REPORTED_TEXT_BYTES: usize = 1024;

/// Strings that a report refers to more than once, of this size at most, that
/// are kept while it is read: 4 MiB. Others are missing where they are referred to.
pub const REPORT_ANCHORS: usize = 4096;

/// See [`REPORT_ANCHORS`].
pub const REPORT_ANCHOR_BYTES: usize = 1024;

/// Largest result of a run: 300 resources, each with 15 texts of 1 KiB that JSON
/// makes up to six times as long, is 28 MB; 100 KB is much in practice.
pub const MAX_PUPPET_RESULT_BYTES: u64 = 32 * 1024 * 1024;

/// Servers of files that a request may name; an orchestrator names one, and further ones could only be spares.
pub const MAX_FILE_SERVERS: usize = 4;
