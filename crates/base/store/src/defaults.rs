//! Limits of the store, each with its calculation.

use std::time::Duration;

/// Write requests that wait for the writer. Each is one caller that waits for its commit; when the
/// queue is full, the next caller waits until there is space.
pub const WRITE_QUEUE: usize = 4_096;

/// Weight (statements) of one transaction. A disk gives 150-200 fsyncs/s, so 10,000 results/s
/// need some 70 results per commit; 8,192 statements take 30-50 ms to run, which bounds how long
/// a small request waits behind a large batch.
pub const BATCH_STATEMENTS: usize = 8_192;

/// Bytes of text and blobs in one transaction. A request may be larger and is then committed alone.
/// The rows stay in memory until the commit.
pub const BATCH_BYTES: usize = 32 << 20;

/// Connections for reading. Reads are short; more than the cores of a small server would only cost
/// caches.
pub const READERS: usize = 4;

/// SQLite's page cache of each connection: 8 MiB, so 40 MiB with the writer at the most.
pub const SQLITE_CACHE_KIB: i64 = 8 * 1_024;

/// Pages in the write-ahead log after which SQLite copies them back: 4,000 of 4 KiB = 16 MiB. A
/// checkpoint costs two fsyncs, so a small log would double the fsyncs of a busy server.
pub const SQLITE_CHECKPOINT_PAGES: i64 = 4_000;

/// Size to which the log is cut after a checkpoint, so that one huge result does not occupy its
/// space forever.
pub const SQLITE_JOURNAL_LIMIT_BYTES: i64 = 64 << 20;

/// Prepared statements kept per connection, more than the default of the crate.
pub const PREPARED_STATEMENTS: usize = 512;

/// Time for which a reader waits for SQLite's own locks (recovery of the log after a crash).
pub const SQLITE_BUSY: Duration = Duration::from_secs(10);

/// Runs that are read together with their results when a whole job is read: a result may have 64
/// MB, most have a few KB. 100,000 runs are 6,250 reads of about 0.1 ms.
pub const RUNS_TOGETHER: usize = 16;

/// Finished jobs hidden per pruning step.
pub const PRUNE_JOBS: i64 = 64;

/// Jobs of regular Puppet runs that are kept of each schedule: with one every 30 minutes those of two days, which are 5
/// million runs with 50,000 nodes, and 10 million events. The reports of the nodes have a limit of their own.
pub const REGULAR_JOBS: i64 = 100;

/// Rows deleted per pruning step: about 10 ms, so a commit after it hardly waits.
pub const PRUNE_ROWS: i64 = 1_000;

/// Timeout of one connection attempt to PostgreSQL.
pub const POSTGRES_CONNECT: Duration = Duration::from_secs(5);

/// Timeout until a session can be used: four machines that do not answer, or a slow log-in.
pub const POSTGRES_OPEN: Duration = Duration::from_secs(20);

/// Time for which a starting server waits for the database while its holder is alive. PostgreSQL
/// notices within milliseconds that a previous server was killed, or notices it when that server's
/// last statement ends. Three heartbeats.
pub const POSTGRES_LOCK: Duration = Duration::from_secs(3);

/// Pause between the heartbeat statements of the holder of the database: one short statement a
/// second.
pub const POSTGRES_HEARTBEAT: Duration = Duration::from_secs(1);

/// Time after which a silent holder is terminated by its successor, and after which data that the
/// other end did not acknowledge ends a connection: ten heartbeats, so that a machine that is
/// merely busy keeps its database.
pub const POSTGRES_SILENCE: Duration = Duration::from_secs(10);

/// Silence before the first keep-alive probe. With the pause between probes and the number of
/// unanswered probes: 4 + 2 × 3 = 10 s, as [`POSTGRES_SILENCE`].
pub const POSTGRES_KEEPALIVE_IDLE: Duration = Duration::from_secs(4);
/// Pause between keep-alive probes; see [`POSTGRES_KEEPALIVE_IDLE`].
pub const POSTGRES_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// Unanswered keep-alive probes before a connection ends; see [`POSTGRES_KEEPALIVE_IDLE`].
pub const POSTGRES_KEEPALIVE_PROBES: u32 = 3;

/// Time for which a session may be idle inside a transaction, in which it holds the lock of the
/// ledger's row: a transaction takes milliseconds. A server that is alive repeats a transaction
/// that was ended for this reason.
pub const POSTGRES_IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// Timeout of a statement for a lock of another session, such as an administrator's.
pub const POSTGRES_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of one answer. The largest batch (32 MiB) takes seconds on a slow line.
pub const POSTGRES_ANSWER: Duration = Duration::from_secs(30);

/// Pause between attempts to reach PostgreSQL again.
pub const POSTGRES_RETRY: Duration = Duration::from_millis(250);

/// Time for which writes wait until PostgreSQL is back before they fail. A restart of the server
/// takes a few seconds, a fail-over 10 to 30.
pub const POSTGRES_PATIENCE: Duration = Duration::from_secs(30);

/// Time for which a read waits for a connection of the pool.
pub const POSTGRES_POOL_WAIT: Duration = Duration::from_secs(10);

/// Slots kept for each schedule, newest first: enough to show the last run, and the last weeks of a
/// daily schedule.
pub const SCHEDULE_SLOTS: i64 = 64;

/// Largest number of changed resources that one run counts for: more than any catalog has, and a
/// billion such runs still fit into the sum of a day.
pub const RUN_CHANGES: i64 = u32::MAX as i64;

/// Statements sent ahead of their answers in one transaction.
pub const POSTGRES_PIPELINE: usize = 1_024;

/// Pause between writes of the history file: at most one fsync a second, beside the 150-200 of
/// commits.
pub const HISTORY_MARK_INTERVAL: Duration = Duration::from_secs(1);

/// Numbers of jobs and of plans that are skipped after an older history was accepted: the file may
/// be a second behind, and a server accepts about 200 jobs/s.
pub const HISTORY_SKIPPED_JOBS: i64 = 1_000;

/// Numbers of events that are skipped after an older history was accepted: each of 10,000 results/s
/// has several events.
pub const HISTORY_SKIPPED_EVENTS: i64 = 1_000_000;

/// Numbers of commits that are skipped after an older history was accepted: 200 commits/s.
pub const HISTORY_SKIPPED_COMMITS: i64 = 1_000;

/// Time limit of the quick check when a SQLite file is surveyed: about 2 GB are read in it from a
/// fast disk. Larger databases must be checked manually.
pub const SURVEY_INTEGRITY: Duration = Duration::from_secs(4);
