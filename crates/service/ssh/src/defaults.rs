//! Limits and defaults of runs over SSH, each with its arithmetic.

use std::time::Duration;

/// Concurrent runs. Each is one connection with its key exchange (about 2 ms of CPU) and about 2 MB
/// of window and buffers: at most 200 MB, less than Bolt's 100 Ruby threads.
pub const CONCURRENCY: usize = 100;

/// Most runs that are accepted and not finished; the engine itself has no more than its
/// `task_concurrency` (250) in flight.
pub const QUEUED: usize = 10_000;

/// Default of `connect-timeout`, from the first packet to an agreed key; the same as Bolt's.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest `connect-timeout` that is accepted.
pub const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// Longest time in which a host accepts or refuses a password: PAM delays a refusal by seconds.
pub const AUTH_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time in which a host opens a channel.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Silence after which a keepalive is sent. With [`KEEPALIVE_UNANSWERED`], a dead connection is
/// noticed within a minute.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// Unanswered keepalives after which the connection counts as dead.
pub const KEEPALIVE_UNANSWERED: usize = 3;

/// Longest time of one step of the preparation or the clean-up, except uploads.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time of an upload: the largest file of a task (1 GiB) at 1 MB/s.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1_200);

/// Output of a preparatory step that is kept for its error.
pub const STEP_OUTPUT_BYTES: usize = 16 * 1024;

/// Most output of `sudo` before the program starts.
pub const SUDO_DIALOG_BYTES: usize = 16 * 1024;

/// Output carried in a result, per stream; the same as an agent's.
pub const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// Output of all runs together that is kept in memory. Beyond it, output is cut earlier and marked
/// as truncated: 256 MiB are sixteen runs that fill both streams, or 100 runs with 2.5 MiB each.
pub const OUTPUT_BUDGET_BYTES: usize = 256 * 1024 * 1024;

/// Live output in one message.
pub const LIVE_PIECE_BYTES: usize = 32 * 1024;

/// Pause of the output after the exit of a command at which it counts as complete: a background
/// process of the command may hold its output open forever.
pub const DRAIN: Duration = Duration::from_secs(1);

/// Longest time for which output is read after the exit of a command.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Time from SIGTERM to SIGKILL, in seconds, measured by the node's shell.
pub const STOP_GRACE_SECONDS: u32 = 4;

/// Longest time for a run to end after it was cancelled; the engine waits 10 s for the result.
pub const STOP_PATIENCE: Duration = Duration::from_secs(8);

/// Results that are kept for status queries.
pub const ENDED_KEPT: usize = 1_000;
/// Bytes of those results.
pub const ENDED_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Text of a host's error that is passed on, in bytes.
pub const WORDS_BYTES: usize = 2 * 1024;

/// The longest user, host or directory name, in bytes.
pub const NAME_BYTES: usize = 255;

/// The longest private key or password of a connection, in bytes: an RSA-16384 key has 13 KB.
pub const SECRET_BYTES: usize = 64 * 1024;

/// Nodes that are remembered as having agents: ten times the largest fleet, about 100 bytes each,
/// so 50 MB.
pub const AGENTS: usize = 500_000;

/// Names of such nodes that are read from the store at once: 10,000 of 40 bytes are 400 KB.
pub const AGENTS_PAGE: u32 = 10_000;

/// Names that are written in one commit: 1,000 take about 10 ms, so that a fleet of 50,000 that
/// connects for the first time does not delay other commits for long.
pub const AGENTS_BATCH: usize = 1_000;

/// Pause before names that the store did not take are written again.
pub const AGENTS_RETRY: Duration = Duration::from_secs(5);
