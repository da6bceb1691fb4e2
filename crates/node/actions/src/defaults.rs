//! Every number of the engine, the spool and the modules, with its reason.

use std::time::Duration;

// --- intake ---

/// Maximum number of actions that run at once. Each needs at least one wrapper (1.5 MB) and the
/// action itself; more than this on one node is misuse.
pub const MAX_CONCURRENT_ACTIONS: usize = 64;

/// Maximum number of requests that wait for a free slot. Later ones are refused with an error.
pub const MAX_QUEUED_ACTIONS: usize = 256;

/// Maximum total size of the parameters of waiting requests: one request of the largest size a
/// broker passes on, or many small ones.
pub const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of answers to refused and quick requests that are being sent at once. If the
/// socket does not accept them, the peer is not reading; the rest is logged and dropped.
pub const MAX_PENDING_REPLIES: usize = 256;

/// Maximum number of status queries answered at once: each may hold two streams of output.
pub const MAX_CONCURRENT_STATUS_QUERIES: usize = 4;

// --- facts ---

/// Timeout of one program that prints facts. `puppet facts` takes 2 to 5 seconds, 20 on a busy
/// machine; two programs and the processing that follows fit into the server's 60 seconds.
pub const FACTS_TIMEOUT: Duration = Duration::from_secs(25);

/// Age up to which facts count as fresh (`facts-min-interval`): a server that restarts, or whose
/// connection flaps, requests them again each time, and custom facts may start package managers.
pub const FACTS_MIN_INTERVAL: Duration = Duration::from_secs(300);

/// Directory with the links to programs of Puppet's own packages.
pub const PUPPET_BIN: &str = "/opt/puppetlabs/bin";

/// Maximum size of the facts of one node that a server accepts. Facter prints 10 to 60 KB.
pub const FACTS_BYTES: u64 = 1 << 20;

// --- results ---

/// Maximum output carried in a result, per stream (`max-output-bytes`).
pub const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;

/// Largest message the agent sends (`max-message-size`).
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes reserved in a message for everything except the two output streams: the envelope (URIs of
/// two certnames of 253 bytes, ids) and the other result keys.
pub const MESSAGE_OVERHEAD_BYTES: usize = 16 * 1024;

// --- outcomes ---

/// Maximum number of sends of an outcome to a requester that never acknowledged anything (a stock
/// orchestrator): the first, and one after each of two reconnections.
pub const MAX_SENDS_UNACKNOWLEDGED: u32 = 3;

/// Gap between re-sent outcomes, so that an agent with many of them does not flood an orchestrator
/// to which a whole fleet reconnects: 20 per second.
pub const RESEND_GAP: Duration = Duration::from_millis(50);

/// First wait for an acknowledgement on a connection that stays up (the orchestrator behind the
/// broker may have been unreachable); it doubles each time.
pub const RESEND_FLOOR: Duration = Duration::from_secs(30);

/// Longest wait between two sends of an unacknowledged outcome.
pub const RESEND_CEILING: Duration = Duration::from_secs(600);

/// Maximum number of outcomes that wait to be sent or acknowledged; 100 bytes each. Later ones stay
/// in the spool and can be queried.
pub const MAX_PENDING_OUTCOMES: usize = 10_000;

// --- spool and cache ---

/// Time for which results are kept (`spool-dir-purge-ttl`).
pub const SPOOL_TTL: Duration = Duration::from_secs(14 * 24 * 3600);

/// Time for which a request may still be sent again to an agent that never saw it: an hour for
/// Tutti's orchestrator, doubled for clocks and queues. The removal of a younger entry changes the
/// spool's id.
pub const SPOOL_MEMORY: Duration = Duration::from_secs(2 * 3600);

/// Largest task result from which a secret is removed by parsing it as JSON, after the result is
/// acknowledged; as large as the largest message. In a longer result, everything after the secret's
/// key is erased.
pub const SCRUB_PARSED_BYTES: u64 = 64 * 1024 * 1024;

/// Time for which unused task files are kept (`task-cache-dir-purge-ttl`).
pub const TASK_CACHE_TTL: Duration = Duration::from_secs(14 * 24 * 3600);

/// Interval between two purges; the same as pxp-agent's.
pub const PURGE_INTERVAL: Duration = Duration::from_secs(3600);

/// Largest record that is read from the spool: records have a few hundred bytes in practice.
pub const MAX_RECORD_BYTES: u64 = 64 * 1024;

// --- processes ---

/// Time between SIGTERM and SIGKILL when an action is cancelled or timed out.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// Time after the end of the action's own process in which output of processes that it left behind
/// still counts (a `tee` in a pipeline, for example).
pub const OUTPUT_DRAIN: Duration = Duration::from_millis(250);

/// Pause between two rounds of killing a process tree that keeps forking.
pub const KILL_ROUND: Duration = Duration::from_millis(20);

/// Maximum number of SIGSTOP rounds before SIGKILL. Each round stops all processes that exist, so a
/// tree that forks at full speed is stopped within a few.
pub const MAX_STOP_ROUNDS: u32 = 32;

/// Time after which a process tree that survives SIGKILL is given up: it contains processes that
/// cannot be signalled (another user's, or stuck in the kernel); their number is recorded.
pub const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// Bytes reserved on disk for the exit record before the action starts, so that a full disk cannot
/// lose it: a few numbers and a message of 1 KiB, which JSON may make six times as long.
pub const EXIT_RECORD_BYTES: usize = 8 * 1024;

/// Longest message kept in an exit record.
pub const EXIT_MESSAGE_BYTES: usize = 1024;

/// Bytes written to the spool after an action ended, to detect that a full disk lost its output:
/// one block of all usual file systems; if less is free, the disk is full.
pub const SPOOL_PROBE_BYTES: usize = 4096;

/// Maximum output kept in the spool, per stream (`max-spool-output-bytes`): far more than a result
/// carries, far less than a disk; 64 runaway actions with one stream take 64 GiB.
pub const MAX_SPOOL_OUTPUT_BYTES: u64 = 1024 * 1024 * 1024;

/// Interval between two checks of the size of the output. An action may exceed its limit by the
/// amount that its disk accepts in this time: 2 GB on a fast one.
pub const OUTPUT_LIMIT_INTERVAL: Duration = Duration::from_secs(1);

/// Output beyond the limit is removed in pieces of this size, a multiple of the blocks of all usual
/// file systems.
pub const OUTPUT_HOLE_BYTES: u64 = 1024 * 1024;

// --- live output ---

/// Bytes per live chunk: small compared with a message, large compared with a line.
pub const OUTPUT_CHUNK_BYTES: usize = 16 * 1024;

/// Pause between two reads of a growing file, so that an action which writes byte by byte does not
/// cause a message per byte.
pub const OUTPUT_COALESCE: Duration = Duration::from_millis(50);

/// Maximum number of actions whose output is watched at once; beyond it credit is not accepted.
pub const MAX_LIVE_OUTPUTS: usize = 256;

/// Time for which the remaining output of an ended action waits for credit.
pub const OUTPUT_LINGER: Duration = Duration::from_secs(60);

// --- downloads ---

/// Timeout of the TCP and TLS connection of a download (`task-download-connect-timeout`).
pub const DOWNLOAD_CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

/// Timeout of a whole download (`task-download-timeout`).
pub const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(1800);

/// Maximum number of rounds over all primary URIs that end with an internal server error (500): the
/// server is reachable, so its error may be permanent. While a server is unreachable or overloaded,
/// downloads are retried for the whole [`DOWNLOAD_TIMEOUT`].
pub const DOWNLOAD_FAULTY_ROUNDS: u32 = 5;

/// First wait between rounds; it doubles (1, 2, 4, 8 s), and half of it is random.
pub const DOWNLOAD_BACKOFF: Duration = Duration::from_secs(1);

/// Longest wait between rounds: 1,000 nodes that need the same file send 130 requests per second
/// while their server is unreachable, and have the file within 10 s of its return.
pub const DOWNLOAD_BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Longest `Retry-After` that is honoured; a longer one is shortened to it.
pub const DOWNLOAD_RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Maximum number of files fetched at once.
pub const MAX_CONCURRENT_DOWNLOADS: usize = 8;

/// Maximum number of chunks of a download between the socket and the disk, of some 16 KiB each.
pub const CHUNKS_IN_FLIGHT: usize = 8;

/// Largest file that is fetched, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

// --- external modules ---

/// Timeout of `<module> metadata`.
pub const MODULE_METADATA_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest metadata an external module may print.
pub const MODULE_METADATA_BYTES: usize = 1024 * 1024;

// --- Puppet runs ---

/// Longest time between two runs of Puppet with native checks of files; the same as Puppet's
/// `runinterval`, so that services and packages are looked at as often as before.
pub const FULL_RUN_INTERVAL: Duration = Duration::from_secs(1_800);

/// Timeout of a request to the Puppet server before Puppet is started: such an answer takes
/// milliseconds, and a server under load must not delay the run for long.
pub const CATALOG_SERVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest answer of the Puppet server to these requests: a reason of one line.
pub const CATALOG_ANSWER_BYTES: usize = 64 * 1024;

/// Largest catalog that is read from disk: 100,000 resources of 600 bytes each.
pub const CACHED_CATALOG_BYTES: u64 = 64 * 1024 * 1024;

/// Entries of one directory tree that are compared with a catalog: ten times the files of a large
/// module. More are left to Puppet.
pub const CHECKED_TREE_ENTRIES: usize = 100_000;

/// Part of a file that is hashed at a time.
pub const CHECKED_FILE_CHUNK_BYTES: usize = 64 * 1024;

/// Number of differing files that a line of the output names.
pub const SHOWN_DRIFTS: usize = 5;

/// Maximum wait of a run for another run in progress; the same as that of pxp-module-puppet.
pub const LOCK_WAIT: Duration = Duration::from_secs(600);

/// Interval between two checks of the lock of a run in progress; a check is two small reads.
pub const LOCK_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Largest lock file that is read: a pid, or a reason in a few words.
pub const LOCK_FILE_BYTES: u64 = 64 * 1024;

/// Maximum length of a reported reason for a disabled agent.
pub const REASON_CHARS: usize = 500;

/// Longest time for which a lease is held without being renewed: Tutti renews every 40 s, and may be away for as
/// long as a run of Puppet usually waits for another one ([`LOCK_WAIT`]).
pub const LEASE_TTL_MAX: Duration = Duration::from_secs(600);

/// Number of released leases that are remembered. A request to hold one of them is late by at most the lifetime of a
/// request (minutes), in which a node has a few jobs.
pub const RELEASED_LEASES: usize = 16;

/// Longest number of a job in a lease; job numbers have 20 digits at most.
pub const LEASE_JOB_CHARS: usize = 64;

/// Longest address of the orchestrator in a lease: `pcp://`, a certname of 253 characters, and a client type.
pub const LEASE_REQUESTER_CHARS: usize = 320;

/// Largest file about leases that is read. The largest is that of a lease and the one that it replaced: texts of
/// 64 + 500 + 320 characters, each of at most 6 bytes in JSON, are 5.3 KB for each; 16 released leases are 1.3 KB.
pub const LEASE_FILE_BYTES: u64 = 16 * 1024;

/// Timeout for the lock under which leases change, which is held for the time of some small writes.
pub const LEASE_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two attempts to get that lock, which is rarely taken.
pub const LEASE_LOCK_RETRY: Duration = Duration::from_millis(5);

/// Longest time between two looks of a lease holder at Puppet's lock. The kernel tells it about each change; this one is
/// for file systems whose changes it does not tell, and repeats what failed.
pub const LEASE_LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Age up to which an empty lock file may be that of a Puppet that is about to write its process id into it; that takes
/// microseconds.
pub const LOCK_WRITE_TIME: Duration = Duration::from_secs(2);

/// Attempts to take Puppet's lock at one look. Each fails only if another process changes the lock at the same time.
pub const LOCK_ATTEMPTS: u32 = 4;

/// Timeout of `puppet config print`; half a second is usual, and a node under full load takes ten
/// times as long.
pub const PUPPET_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum output of `puppet config print`: four paths.
pub const PUPPET_ANSWER_BYTES: u64 = 64 * 1024;

/// Largest file of requested reruns, as the module `common` limits it: 8 scopes with 64 requests of 1 KiB and 32 KiB of
/// arguments are 768 KiB.
pub const RERUN_STATE_BYTES: u64 = 1024 * 1024;

/// Timeout for the lock of requested reruns, which is held for the time of one write.
pub const RERUN_LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum directory depth that a download from a node reads; each level is an open file.
pub const COLLECT_DEPTH: usize = 64;

/// Largest order for a run: 128 arguments of 4 KiB, in JSON.
pub const RUNNER_ORDER_BYTES: u64 = 1024 * 1024;

/// Number of bytes at the end of each output stream that are searched if a run left no report.
pub const SCANNED_OUTPUT_BYTES: u64 = 64 * 1024;

/// Largest report that is read; it is parsed as a stream. A resource takes 1 KB in it, so this is
/// ten times the largest catalogs.
pub const MAX_REPORT_BYTES: u64 = 256 * 1024 * 1024;

/// Maximum number of resources of a run in a result, of each kind (failed, changed, would change).
/// With the limits below, 300 of them fit within 4.5 MB.
pub const REPORTED_RESOURCES: usize = 100;

/// Maximum number of events of a resource in a result.
pub const REPORTED_MESSAGES: usize = 4;

/// Maximum number of classes and resources that contain a resource, in a result.
pub const REPORTED_CONTAINMENT: usize = 8;

/// Maximum number of error messages of a run in a result.
pub const REPORTED_ERRORS: usize = 10;

/// Maximum number of counters of a run in a result; Puppet has nine.
pub const REPORTED_METRICS: usize = 64;

/// Longest text of a report in a result.
pub const REPORTED_TEXT_BYTES: usize = 1024;

/// Maximum number of strings referenced more than once in a report that are kept while it is read,
/// each of at most [`REPORT_ANCHOR_BYTES`]: 4 MiB. Others are missing where they are referenced.
pub const REPORT_ANCHORS: usize = 4096;

/// Longest string that is kept for later references; see [`REPORT_ANCHORS`].
pub const REPORT_ANCHOR_BYTES: usize = 1024;

/// Largest result of a run: 300 resources, each with 15 texts of 1 KiB that JSON makes up to six
/// times as long, is 28 MB; 100 KB is much in practice.
pub const MAX_PUPPET_RESULT_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum number of file servers that a request may name; an orchestrator names one, and further
/// ones could only be spares.
pub const MAX_FILE_SERVERS: usize = 4;

/// Requests of one run to be repeated that its result has. A node that repeats its runs itself keeps as many.
pub const REPORTED_RERUNS: usize = 64;

/// The part of the file of these requests that is read, in bytes: some 4,000 lines of 250 bytes.
pub const REPORTED_RERUNS_BYTES: u64 = 1 << 20;
