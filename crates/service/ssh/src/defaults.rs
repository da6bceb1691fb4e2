//! Every bound of running over SSH, with its arithmetic.

use std::time::Duration;

/// Runs at once. Each is one connection with its key exchange (some 2 ms of CPU) and some 2 MB of
/// window and buffers: 200 MB at the most, less than Bolt's 100 Ruby threads.
pub const CONCURRENCY: usize = 100;

/// Runs that were taken and wait for a place; the engine itself has no more than its
/// `task_concurrency` (250) in flight.
pub const QUEUED: usize = 10_000;

/// From the first packet to an agreed key, when the connection names no `connect-timeout`; Bolt's.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest `connect-timeout`.
pub const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// How long a host may take to accept or refuse a password: PAM delays a refusal by seconds.
pub const AUTH_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a host may take to open a channel or to begin a command.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Silence after which the host is asked for a sign of life, and how many such questions may stay
/// unanswered: a dead connection is noticed within a minute.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// See [`KEEPALIVE`].
pub const KEEPALIVE_UNANSWERED: usize = 3;

/// How long one step of the preparation or the clean-up may take, beside uploads.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an upload may take: the largest file of a task (1 GiB) at 1 MB/s.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1_200);

/// Output of a preparatory step that is kept, for its error.
pub const STEP_OUTPUT_BYTES: usize = 16 * 1024;

/// What `sudo` may say before it lets us through.
pub const SUDO_DIALOG_BYTES: usize = 16 * 1024;

/// Output carried in a result, per stream; the same as an agent's.
pub const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// Output of all runs together that is kept in memory. Beyond it, output is cut earlier and said to
/// be: 256 MiB are sixteen runs that fill both streams, or 100 runs with 2.5 MiB each.
pub const OUTPUT_BUDGET_BYTES: usize = 256 * 1024 * 1024;

/// Live output in one message.
pub const LIVE_PIECE_BYTES: usize = 32 * 1024;

/// After a command has ended, how long its output may pause before it counts as complete: a process
/// that it left behind may hold its output open for ever.
pub const DRAIN: Duration = Duration::from_secs(1);

/// And how long such output counts in all.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);

/// From SIGTERM to SIGKILL, in seconds, as the node's shell counts them.
pub const STOP_GRACE_SECONDS: u32 = 4;

/// How long a run that was told to end may take to do so; the engine waits 10 s for the news.
pub const STOP_PATIENCE: Duration = Duration::from_secs(8);

/// Results kept for those who ask again, and their bytes.
pub const ENDED_KEPT: usize = 1_000;
/// See [`ENDED_KEPT`].
pub const ENDED_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Text of a host's error that is passed on.
pub const WORDS_BYTES: usize = 2 * 1024;

/// The longest user, host or directory name.
pub const NAME_BYTES: usize = 255;

/// The longest private key, password or command line of a connection: an RSA-16384 key has 13 KB.
pub const SECRET_BYTES: usize = 64 * 1024;

/// Nodes that are remembered as having agents: ten times the largest fleet, some 100 bytes each, so
/// 50 MB.
pub const AGENTS: usize = 500_000;

/// Names of such nodes that are read from the store at once: 10,000 of 40 bytes are 400 KB.
pub const AGENTS_PAGE: u32 = 10_000;

/// Names that are written in one commit: 1,000 take some 10 ms, so a fleet of 50,000 that is seen for
/// the first time holds up nobody else's commit for long.
pub const AGENTS_BATCH: usize = 1_000;

/// Until names that the store did not take are written again: a lost database does not heal faster.
pub const AGENTS_RETRY: Duration = Duration::from_secs(5);
