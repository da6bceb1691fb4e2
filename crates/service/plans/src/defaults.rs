//! Every bound of the plan engine, with its arithmetic.

use std::time::Duration;

/// The stack of one branch. Address space, not memory: only pages that were touched cost anything
/// (some 16 KiB for a step out of a native program). A recursive program must bound its depth by
/// [`Branch::stack_bytes`](crate::Branch::stack_bytes).
pub const BRANCH_STACK_BYTES: usize = 1 << 20;

/// Branches of one plan that live at once: each has a stack, and each of these takes two of the 65,530
/// memory mappings that Linux gives a process.
pub const LIVE_BRANCHES: usize = 1_024;

/// Branches of all plans of one worker: with [`WORKERS`] of them 4 x 6,144 x 2 = 49,152 mappings.
pub const WORKER_BRANCHES: usize = 6_144;

/// The maximum depth of nested branches.
pub const BRANCH_DEPTH: usize = 32;

/// Steps that one plan may take: a loop that never ends comes to its end here. Replayed at some
/// 1 µs each.
pub const JOURNAL_ROWS: usize = 100_000;

/// Text that the journal of one plan may hold. It is read into memory as a whole when the plan is taken
/// up.
pub const JOURNAL_BYTES: usize = 64 << 20;

/// Journal rows that wait for their commit; the plan stands still until then.
pub const BATCH_ROWS: usize = 1_024;

/// Text of the journal that waits for its commit.
pub const BATCH_BYTES: usize = 1 << 20;

/// Calls of one plan that are answered at once before its neighbours on the thread have their turn.
pub const TURN_CALLS: usize = 256;

/// Steps that a stopped program may still ask for, and is refused, before it is torn down.
pub const IGNORED_STOPS: u32 = 1_000;

/// The part of a step's arguments that is stored for display, in bytes.
pub const ARGUMENTS_SHOWN_BYTES: usize = 2_048;

/// The part of a step's source position that is stored, in bytes.
pub const SITE_BYTES: usize = 512;

/// Plans in memory at once. A plan that only waits needs no place.
pub const RUNNING_PLANS: usize = 1_000;

/// Plans that are not over: running, sleeping or waiting for a place. A sleeping one costs some KB for
/// each thing that it waits for.
pub const UNFINISHED_PLANS: usize = 20_000;

/// Threads that plans run on, at the most; never more than the machine has cores.
pub const WORKERS: usize = 4;

/// Orders to one worker that wait: more wait in the engine, which has at most
/// [`RUNNING_PLANS`] x [`LIVE_BRANCHES`] of them.
pub const WORKER_QUEUE: usize = 1_024;

/// Reports of the workers that wait for the engine; a worker waits when it is full.
pub const REPORTS: usize = 1_024;

/// Commands of handles that wait for the engine.
pub const COMMANDS: usize = 256;

/// A sleep of at least this length lets the plan leave memory: to evaluate a plan again costs
/// milliseconds.
pub const LONG_SLEEP: Duration = Duration::from_secs(30);

/// A plan in which nothing moved for this long leaves memory.
pub const IDLE: Duration = Duration::from_secs(60);

/// The same, while other plans wait for a place in memory.
pub const IDLE_WHEN_FULL: Duration = Duration::from_secs(5);

/// The interval between two checks for idle plans.
pub const TICK: Duration = Duration::from_secs(1);

/// The pause before a plan that the store failed is taken up again.
pub const STORE_RETRY: Duration = Duration::from_secs(1);

/// Journal rows read at a time.
pub const JOURNAL_PAGE: usize = 1_000;

/// The longest sleep: as long as a finished plan job is kept.
pub const SLEEP_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The time that workers have at shutdown before they are given up; a program that computes without
/// ever taking a step cannot be ended before.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Results of a job read at a time.
pub const RESULTS_PAGE: usize = 1_000;
