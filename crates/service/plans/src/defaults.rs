//! Bounds of the plan engine, with their arithmetic.

use std::time::Duration;

/// The stack of one branch, in bytes. It is address space, not memory: only touched pages cost
/// memory (about 16 KiB for a step of a native program). A recursive program must bound its depth
/// by [`PlanBranch::stack_bytes`](crate::PlanBranch::stack_bytes).
pub const BRANCH_STACK_BYTES: usize = 1 << 20;

/// The most branches of one plan that exist at once. Each has a stack, and each stack takes two of
/// the 65,530 memory mappings that Linux gives a process.
pub const LIVE_BRANCHES: usize = 1_024;

/// The most branches of all plans of one worker. With [`WORKERS`] workers: 4 x 6,144 x 2 = 49,152
/// mappings.
pub const WORKER_BRANCHES: usize = 6_144;

/// The maximum depth of nested branches.
pub const BRANCH_DEPTH: usize = 32;

/// The most steps of one plan, which ends a loop that would never end. A replay takes about 1 µs
/// per step.
pub const JOURNAL_ROWS: usize = 100_000;

/// The most bytes of the journal of one plan. The whole journal is read into memory when the plan
/// is loaded.
pub const JOURNAL_BYTES: usize = 64 << 20;

/// The most journal rows that wait for a commit; until then the plan does not continue.
pub const BATCH_ROWS: usize = 1_024;

/// The most bytes of journal rows that wait for a commit.
pub const BATCH_BYTES: usize = 1 << 20;

/// Calls of one plan that are answered before other plans on the same thread get their turn.
pub const TURN_CALLS: usize = 256;

/// Requests that a stopped program may still make, each refused, before it is unwound by force.
pub const IGNORED_STOPS: u32 = 1_000;

/// The part of a step's arguments that is stored for display, in bytes.
pub const ARGUMENTS_SHOWN_BYTES: usize = 2_048;

/// The part of a step's source position that is stored, in bytes.
pub const SITE_BYTES: usize = 512;

/// The most plans in memory at once. A plan that only waits does not count.
pub const RUNNING_PLANS: usize = 1_000;

/// The most plans that have not ended: running, asleep, or queued for memory. A sleeping plan costs
/// some KB for each outcome that it waits for.
pub const UNFINISHED_PLANS: usize = 20_000;

/// The most threads on which plans run; never more than the machine has cores.
pub const WORKERS: usize = 4;

/// Capacity of a worker's command queue. More commands wait in the engine, at most
/// [`RUNNING_PLANS`] x [`LIVE_BRANCHES`].
pub const WORKER_QUEUE: usize = 1_024;

/// Capacity of the queue of workers' reports; a worker waits while it is full.
pub const REPORTS: usize = 1_024;

/// Capacity of the queue of commands from handles to the engine.
pub const COMMANDS: usize = 256;

/// A sleep of at least this length removes the plan from memory. Evaluating a plan again costs
/// milliseconds.
pub const LONG_SLEEP: Duration = Duration::from_secs(30);

/// Time without progress after which a plan is removed from memory.
pub const IDLE: Duration = Duration::from_secs(60);

/// The same time while other plans are queued for memory.
pub const IDLE_WHEN_FULL: Duration = Duration::from_secs(5);

/// The interval between two checks for idle plans.
pub const TICK: Duration = Duration::from_secs(1);

/// Pause before a plan is loaded again after the store failed.
pub const STORE_RETRY: Duration = Duration::from_secs(1);

/// Journal rows read per page.
pub const JOURNAL_PAGE: usize = 1_000;

/// The longest sleep, which is as long as a finished plan job is kept.
pub const SLEEP_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Time that workers have at shutdown before they are abandoned. A program that computes without
/// taking a step cannot be ended earlier.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Results of a job read per page.
pub const RESULTS_PAGE: usize = 1_000;
