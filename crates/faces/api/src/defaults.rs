//! The bounds of the server's side of the API, with their arithmetic.

use std::time::Duration;

/// Memory for large request bodies, until their requests are handled, all together: four of the
/// largest commands. Whoever comes then waits.
pub const BODY_BUDGET_BYTES: usize = 256 * 1024 * 1024;

/// How much of it one user, program or address may have: one of the largest commands.
pub const BODY_IDENTITY_BYTES: usize = 64 * 1024 * 1024;

/// The largest body that is small: as all are that are not commands. Small ones have their own
/// memory, so that nobody waits for catalogs in order to log in.
pub const SMALL_BODY_BYTES: usize = 1024 * 1024;

/// Memory for small request bodies, all together: 64 of the largest, or 4,096 logins.
pub const SMALL_BODY_BUDGET_BYTES: usize = 64 * 1024 * 1024;

/// How much of it one user, program or address may have: a quarter.
pub const SMALL_BODY_IDENTITY_BYTES: usize = 16 * 1024 * 1024;

/// Wait of a request for memory for its body: half of [`BODY_PROGRESS_WINDOW`], so that it is
/// refused before a body that stalls is given up.
pub const BODY_WAIT: Duration = Duration::from_secs(5);

/// When somebody may come again for whose body there was no memory.
pub const BODY_RETRY_SECONDS: u64 = 10;

/// How long a body may take to arrive: 64 MiB at 5 Mbit/s.
pub const BODY_TIME: Duration = Duration::from_secs(120);

/// How long a small one may take: 1 MiB at 280 kbit/s.
pub const SMALL_BODY_TIME: Duration = Duration::from_secs(30);

/// Bytes by which the memory of a body is ahead of the bytes that have arrived: hyper reads so much
/// at once.
pub const BODY_STEP_BYTES: usize = 64 * 1024;

/// A body grows by so much within each [`BODY_PROGRESS_WINDOW`], or it is refused: 50 kbit/s.
pub const BODY_PROGRESS_BYTES: usize = 64 * 1024;

/// Time in which [`BODY_PROGRESS_BYTES`] of a body must arrive.
pub const BODY_PROGRESS_WINDOW: Duration = Duration::from_secs(10);

/// How much of a body that is too large is still taken and thrown away, so that its sender reads
/// the refusal: a mistake is rarely larger; a sender of more may see its connection reset.
pub const DISCARD_BYTES: usize = 16 * 1024 * 1024;

/// For how long: 16 MiB at 25 Mbit/s.
pub const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Events in one reply. A job of 10,000 nodes has some 20,000; 5,000 make about 1 MB of JSON, and
/// `next-events` says where to go on.
pub const EVENTS: usize = 5_000;

/// How often a comment is sent on a silent event stream, so that proxies keep it open and a
/// client that is gone is noticed; proxies commonly give up after 60 s.
pub const STREAM_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How many nodes one ping may ask.
pub const PING_NODES: usize = 10_000;

/// How many event streams may be open. Each holds a job's bounded queue of output.
pub const STREAMS: usize = 256;

/// How many of them one user or program may have: a quarter, more than a browser's tabs.
pub const STREAMS_EACH: usize = 64;

/// How often a stream asks whether its caller may still see it: how long one goes on whose token
/// was revoked. 256 streams ask the cache of tokens 51 times a second.
pub const STREAM_RECHECK: Duration = Duration::from_secs(5);

/// How often the stream of all jobs looks for new events: a read of one row.
pub const STREAM_POLL: Duration = Duration::from_millis(500);

/// The largest message of a remote broker: a 64 MiB result, and its envelope.
pub const BROKER_MESSAGE_BYTES: usize = 65 * 1024 * 1024;

/// How often a remote broker is pinged.
pub const BROKER_PING: Duration = Duration::from_secs(20);

/// How long a remote broker may be silent: three pings without an answer.
pub const BROKER_SILENCE: Duration = Duration::from_secs(60);

/// Characters of a request's path in the log. Our own longest are about 100; hyper would take 64 KiB.
pub const LOGGED_PATH_CHARS: usize = 200;

/// Characters of results in one list of plan jobs: as the largest result that a plan can have.
pub const PLAN_RESULTS_CHARS: u64 = 64 * 1024 * 1024;

/// Bytes of a text that a plan printed, in a list of events; as Puppet Enterprise cuts them.
pub const OUT_MESSAGE_BYTES: usize = 1_024;

/// How long a request waits for deployments: Code Manager's `timeouts_wait`.
pub const DEPLOY_WAIT: Duration = Duration::from_secs(700);

/// What is read of a content at once, for a follower: two of its TLS records.
pub const BLOB_CHUNK_BYTES: usize = 32 * 1024;

/// Names in the audit entry of a read of stored secrets; the others are counted. A thousand certnames of 50 bytes
/// are 50 KB.
pub const SECRETS_NAMED: usize = 1_000;

/// Modules or environments that a message names; the others are counted.
pub const NAMES_TOLD: usize = 12;

/// A script or file that is sent with `command/action`: as much as a plan uploads at once.
pub const ACTION_FILE_BYTES: usize = 16 << 20;

/// How long the answer to a revocation waits for the brokers: this server's cuts its sessions at once, one on
/// another machine within a second of getting the list, which it is told to fetch every few seconds at best.
pub const REVOCATION_WAIT: Duration = Duration::from_secs(15);

/// Between two looks at who holds sessions of a revoked certificate: a look is one table for each broker.
pub const REVOCATION_LOOK: Duration = Duration::from_millis(50);

/// Longest lifetime that `cert_ttl` may ask for, in seconds: that of the CA itself.
pub const MAX_CERT_TTL_SECONDS: u64 = 15 * 365 * 24 * 3_600;

/// Deployments that webhook-go's queue shows: as many as webhook-go keeps unless it is told otherwise.
pub const WEBHOOK_QUEUE_ITEMS: i64 = 50;

/// Time for the database to answer a diagnosis; the client waits for 15 s in all.
pub const DIAGNOSIS_DATABASE_WAIT: Duration = Duration::from_secs(5);
