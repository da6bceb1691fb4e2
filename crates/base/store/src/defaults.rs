//! Every bound of the store, with its arithmetic.

use std::time::Duration;

/// Write requests that wait for the writer. Each is one caller that awaits its commit; when the
/// queue is full the next caller waits for a place.
pub const WRITE_QUEUE: usize = 4_096;

/// Weight (statements) of one transaction. A disk gives 150-200 fsyncs/s, so 10,000 results/s
/// need some 70 results per commit; 8,192 statements take 30-50 ms to run, which bounds how long
/// a small request waits behind a large batch.
pub const BATCH_STATEMENTS: usize = 8_192;

/// Text and blobs of one transaction. One request may be larger and then goes alone. The rows
/// stay in memory until the commit.
pub const BATCH_BYTES: usize = 32 << 20;

/// Reading connections. Reads are short; more than the cores of a small server only costs caches.
pub const READERS: usize = 4;

/// SQLite's page cache of each connection: 8 MiB, so 40 MiB with the writer at the most.
pub const SQLITE_CACHE_KIB: i64 = 8 * 1_024;

/// Pages in the write-ahead log after which SQLite copies them back: 4,000 of 4 KiB = 16 MiB. A
/// checkpoint costs two fsyncs, so a small log would double the fsyncs of a busy server.
pub const SQLITE_CHECKPOINT_PAGES: i64 = 4_000;

/// The log is cut to this size after a checkpoint, so that one huge result does not keep its
/// space for ever.
pub const SQLITE_JOURNAL_LIMIT_BYTES: i64 = 64 << 20;

/// Prepared statements kept per connection; the crate has fewer.
pub const PREPARED_STATEMENTS: usize = 512;

/// How long a reader waits for SQLite's own locks (recovery of the log after a crash).
pub const SQLITE_BUSY: Duration = Duration::from_secs(10);

/// Runs read with their results at a time, where a whole job is read: a result may have 64 MB, most
/// have some KB. 100,000 runs are 6,250 reads of some 0.1 ms.
pub const RUNS_TOGETHER: usize = 16;

/// Finished jobs hidden per pruning step.
pub const PRUNE_JOBS: i64 = 64;

/// Rows deleted per pruning step: some 10 ms, so a commit behind it hardly waits.
pub const PRUNE_ROWS: i64 = 1_000;

/// One connection attempt to PostgreSQL.
pub const POSTGRES_CONNECT: Duration = Duration::from_secs(5);

/// Everything until a session can be used: four machines that do not answer, or a slow log-in.
pub const POSTGRES_OPEN: Duration = Duration::from_secs(20);

/// Wait of a starting server for the database while its holder is alive: PostgreSQL notices within
/// milliseconds that a predecessor was killed, or when that one's last statement ends. Three
/// heartbeats.
pub const POSTGRES_LOCK: Duration = Duration::from_secs(3);

/// Pause between the statements that say that the holder of the database is alive: one short
/// statement a second.
pub const POSTGRES_HEARTBEAT: Duration = Duration::from_secs(1);

/// After this, a holder that sent nothing is ended by its successor, and data that the other end
/// did not acknowledge ends a connection: ten heartbeats, so that a machine that is merely busy
/// keeps its database.
pub const POSTGRES_SILENCE: Duration = Duration::from_secs(10);

/// Silence before the first keep-alive probe, the pause between probes, and how many may stay
/// without an answer: 4 + 2 × 3 = 10 s, as [`POSTGRES_SILENCE`].
pub const POSTGRES_KEEPALIVE_IDLE: Duration = Duration::from_secs(4);
/// See [`POSTGRES_KEEPALIVE_IDLE`].
pub const POSTGRES_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// See [`POSTGRES_KEEPALIVE_IDLE`].
pub const POSTGRES_KEEPALIVE_PROBES: u32 = 3;

/// Time for which a session may be idle inside a transaction, where it holds the lock of the
/// ledger's row: a transaction takes milliseconds. A transaction that is ended so is repeated by a
/// server that is alive.
pub const POSTGRES_IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// Wait of a statement for a lock of another session, such as an administrator's.
pub const POSTGRES_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Wait for one answer. The largest batch (32 MiB) takes seconds on a slow line.
pub const POSTGRES_ANSWER: Duration = Duration::from_secs(30);

/// Pause between attempts to reach PostgreSQL again.
pub const POSTGRES_RETRY: Duration = Duration::from_millis(250);

/// How long writes wait for PostgreSQL to come back before they fail. A restart of the server
/// takes some seconds; a fail-over 10 to 30.
pub const POSTGRES_PATIENCE: Duration = Duration::from_secs(30);

/// How long a read waits for a connection of the pool.
pub const POSTGRES_POOL_WAIT: Duration = Duration::from_secs(10);

/// Slots kept for each schedule, newest first: what its last run shows, and weeks of a daily one to
/// look into.
pub const SCHEDULE_SLOTS: i64 = 64;

/// Changed resources that one run counts for: more than any catalog has, and a billion runs of them
/// still fit into the sum of a day.
pub const RUN_CHANGES: i64 = u32::MAX as i64;

/// Statements sent ahead of their answers in one transaction.
pub const POSTGRES_PIPELINE: usize = 1_024;

/// Pause between writes of the file that says how far the history went: one fsync a second at the
/// most, beside 150-200 of commits.
pub const HISTORY_MARK_INTERVAL: Duration = Duration::from_secs(1);

/// Numbers of jobs, and of plans, that go unused after an older history was accepted: the file may
/// be a second behind, and a server takes some 200 jobs/s.
pub const HISTORY_SKIPPED_JOBS: i64 = 1_000;

/// Numbers of events that are skipped after an older history was accepted: 10,000 results/s have
/// several events each.
pub const HISTORY_SKIPPED_EVENTS: i64 = 1_000_000;

/// Numbers of commits that are skipped after an older history was accepted: 200 commits/s.
pub const HISTORY_SKIPPED_COMMITS: i64 = 1_000;

/// Time that a look at a SQLite file takes for its quick check: some 2 GB are read in it from a fast disk. Larger
/// databases are checked by hand.
pub const SURVEY_INTEGRITY: Duration = Duration::from_secs(4);
