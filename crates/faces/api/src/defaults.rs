//! Limits and timeouts of the server's side of the API, with their arithmetic.

use std::time::Duration;

/// Memory for all large request bodies until their requests are handled: four of the largest
/// commands. Further requests wait.
pub const BODY_BUDGET_BYTES: usize = 256 * 1024 * 1024;

/// Maximum of [`BODY_BUDGET_BYTES`] for one user, program or address: one of the largest commands.
pub const BODY_IDENTITY_BYTES: usize = 64 * 1024 * 1024;

/// Size limit of a small body: those of all requests that are not commands. Small bodies have their
/// own memory, so that a login does not wait for catalogs.
pub const SMALL_BODY_BYTES: usize = 1024 * 1024;

/// Memory for all small request bodies: 64 of the largest, or 4,096 logins.
pub const SMALL_BODY_BUDGET_BYTES: usize = 64 * 1024 * 1024;

/// Maximum of [`SMALL_BODY_BUDGET_BYTES`] for one user, program or address: a quarter.
pub const SMALL_BODY_IDENTITY_BYTES: usize = 16 * 1024 * 1024;

/// Time that a request waits for memory for its body: half of [`BODY_PROGRESS_WINDOW`], so that it
/// is refused before a stalled body is.
pub const BODY_WAIT: Duration = Duration::from_secs(5);

/// `Retry-After` of a request for whose body there was no memory.
pub const BODY_RETRY_SECONDS: u64 = 10;

/// Timeout for a body: 64 MiB at 5 Mbit/s.
pub const BODY_TIME: Duration = Duration::from_secs(120);

/// Timeout for a small body: 1 MiB at 280 kbit/s.
pub const SMALL_BODY_TIME: Duration = Duration::from_secs(30);

/// Bytes that are reserved beyond the received part of a body: hyper reads that many at once.
pub const BODY_STEP_BYTES: usize = 64 * 1024;

/// Bytes by which a body must grow within each [`BODY_PROGRESS_WINDOW`], or it is refused: 50
/// kbit/s.
pub const BODY_PROGRESS_BYTES: usize = 64 * 1024;

/// Time in which [`BODY_PROGRESS_BYTES`] of a body must arrive.
pub const BODY_PROGRESS_WINDOW: Duration = Duration::from_secs(10);

/// Bytes of an oversized body that are still read and dropped, so that its sender can read the
/// error: a mistake is rarely larger; a larger body may end in a connection reset.
pub const DISCARD_BYTES: usize = 16 * 1024 * 1024;

/// Timeout for reading and dropping: 16 MiB at 25 Mbit/s.
pub const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Events in one response. A job of 10,000 nodes has some 20,000; 5,000 make about 1 MB of JSON,
/// and `next-events` links to the next ones.
pub const EVENTS: usize = 5_000;

/// Interval of comments on a silent event stream, which keep it open in proxies and detect a client
/// that is gone; proxies commonly time out after 60 s.
pub const STREAM_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Maximum number of nodes whose leases one request asks for or releases: each agent is asked, as for a ping.
pub const LEASE_NODES: usize = PING_NODES;
/// Maximum number of nodes in one ping.
pub const PING_NODES: usize = 10_000;

/// Maximum number of open event streams. Each holds a job's bounded queue of output.
pub const STREAMS: usize = 256;

/// Maximum of [`STREAMS`] for one user or program: a quarter, more than the tabs of a browser.
pub const STREAMS_EACH: usize = 64;

/// Interval at which a stream checks its caller's permission: the time that a stream survives the
/// revocation of its token. 256 streams query the cache of tokens 51 times a second.
pub const STREAM_RECHECK: Duration = Duration::from_secs(5);

/// Interval at which the stream of all jobs polls for new events: a read of one row.
pub const STREAM_POLL: Duration = Duration::from_millis(500);

/// Size limit of a message of a remote broker: a 64 MiB result, and its envelope.
pub const BROKER_MESSAGE_BYTES: usize = 65 * 1024 * 1024;

/// Interval of pings to a remote broker.
pub const BROKER_PING: Duration = Duration::from_secs(20);

/// Timeout of a silent remote broker: three pings without an answer.
pub const BROKER_SILENCE: Duration = Duration::from_secs(60);

/// Characters of a request's path in the log. Tutti's own longest are about 100; hyper would take
/// 64 KiB.
pub const LOGGED_PATH_CHARS: usize = 200;

/// Characters of all results in one list of plan jobs: the size of the largest result of a plan.
pub const PLAN_RESULTS_CHARS: u64 = 64 * 1024 * 1024;

/// Bytes of a plan's message in a list of events; truncated as in Puppet Enterprise.
pub const OUT_MESSAGE_BYTES: usize = 1_024;

/// Time that a request waits for deployments: Code Manager's `timeouts_wait`.
pub const DEPLOY_WAIT: Duration = Duration::from_secs(700);

/// Bytes of a file read at once for a follower: two of its TLS records.
pub const BLOB_CHUNK_BYTES: usize = 32 * 1024;

/// Certnames in the audit entry of a read of stored secrets; the others are counted. A thousand
/// certnames of 50 bytes are 50 KB.
pub const SECRETS_NAMED: usize = 1_000;

/// Unknown, and disconnected, nodes that an order names; the others are counted. Certnames of 50 bytes are 5 KB.
pub const ABSENT_NODES_NAMED: usize = 100;

/// Unknown nodes for which similar names are searched. One is compared with 50,000 names in 0.2 s.
pub const UNKNOWN_NODES_COMPARED: usize = 5;

/// Certnames of agents that are read from the database at once: 50 KB.
pub const AGENTS_PAGE: u32 = 1_000;

/// Modules or environments named in a message; the others are counted.
pub const NAMES_TOLD: usize = 12;

/// Size limit of a script or file sent with `command/action`: that of an upload by a plan.
pub const ACTION_FILE_BYTES: usize = 16 << 20;

/// Time that the response to a revocation waits for the brokers: this server's broker ends its
/// sessions at once, one on another machine within a second of getting the CRL, which it fetches
/// every few seconds at best.
pub const REVOCATION_WAIT: Duration = Duration::from_secs(15);

/// Interval at which the sessions of a revoked certificate are checked: one table for each broker.
pub const REVOCATION_LOOK: Duration = Duration::from_millis(50);

/// Longest lifetime that `cert_ttl` may request, in seconds: that of the CA itself.
pub const MAX_CERT_TTL_SECONDS: u64 = 15 * 365 * 24 * 3_600;

/// Deployments shown in webhook-go's queue: the number that webhook-go keeps by default.
pub const WEBHOOK_QUEUE_ITEMS: i64 = 50;

/// Timeout of the database in a diagnosis; the client waits for 15 s in all.
pub const DIAGNOSIS_DATABASE_WAIT: Duration = Duration::from_secs(5);

/// `Retry-After` of a request for a catalog that found no slot: some compilations end in that time.
pub const CATALOG_RETRY_SECONDS: u64 = 5;
