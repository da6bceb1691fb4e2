//! Limits and timeouts of the schedules, with the arithmetic behind them.

use std::time::Duration;

/// Maximum delay of a slot that still counts as on time: a restart of the server or of its
/// database takes less. A later slot counts as missed, and is handled as its timetable specifies.
pub const ON_TIME_MS: i64 = 60_000;

/// Longest wait between two reads of the system clock: a clock that was set forward is noticed
/// within it, well inside [`ON_TIME_MS`].
pub const LOOK: Duration = Duration::from_secs(15);

/// Interval of checks for the end of the run that a queued slot waits for: one read of a row.
pub const QUEUE_LOOK: Duration = Duration::from_secs(2);

/// Pause after a failure of the store.
pub const RETRY: Duration = Duration::from_secs(1);

/// Number of schedules read at a time. A row has some KB; the next ones follow at once.
pub const DUE_ROWS: i64 = 64;

/// Maximum number of scheduled jobs of a user that are not deleted. A program that creates one for each node
/// group of a large site creates some hundred.
pub const SCHEDULES_OF_OWNER: u64 = 1_000;

/// Maximum size of what a scheduled job passes on to its jobs: input, secrets and userdata as JSON. A list of
/// 20,000 nodes has some 600 KB.
pub const SCHEDULE_BYTES: usize = 1 << 20;

/// Maximum number of simultaneous launches. Each may wait for `PuppetDB` to resolve a scope;
/// further slots wait, durably due.
pub const LAUNCHES: usize = 16;

/// Timeout of one launch: a query of a slow `PuppetDB` and the commit of a job of 100,000 nodes.
/// Afterwards the outcome is reported as unknown, unless a job appears for the slot.
pub const LAUNCH_PATIENCE: Duration = Duration::from_secs(120);

/// Maximum number of blackout windows skipped in one search. 4,000 windows (ten years of nightly
/// ones) without one free slot are taken for "never". Some 10 µs each, and with a spread 30 times that.
pub const BLACKOUT_STEPS: usize = 4_000;

/// Number of days that a calendar is searched: 29 February on a given weekday recurs after 40
/// years at most.
pub const CALENDAR_DAYS: usize = 41 * 366;

/// Maximum number of windows in one timetable; each is checked for every slot.
pub const BLACKOUTS: usize = 64;

/// Maximum number of times of day in one calendar: every quarter of an hour.
pub const CALENDAR_TIMES: usize = 96;

/// Maximum length of a cron expression, in characters.
pub const CRON_CHARS: usize = 256;

/// Maximum interval, spread and grace period: a leap year, in seconds.
pub const SPAN_SECONDS: u64 = 366 * 24 * 3_600;

/// Maximum number of slots in a preview.
pub const PREVIEW_SLOTS: usize = 100;
