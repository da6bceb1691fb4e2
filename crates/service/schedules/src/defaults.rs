//! Every bound of the schedules, with its arithmetic.

use std::time::Duration;

/// A slot that starts this late is on time: a restart of the server or of its database takes less.
/// What is later was missed, and the timetable says what becomes of it.
pub const ON_TIME_MS: i64 = 60_000;

/// The longest wait between looks at the clock of the machine: a clock that was set forward is
/// noticed within it, well inside [`ON_TIME_MS`].
pub const LOOK: Duration = Duration::from_secs(15);

/// How often it is looked whether the run is over that a queued slot waits for: one read of a row.
pub const QUEUE_LOOK: Duration = Duration::from_secs(2);

/// Pause after the store failed.
pub const RETRY: Duration = Duration::from_secs(1);

/// Schedules read at a time. A row has some KB; the next ones follow at once.
pub const DUE_ROWS: i64 = 64;

/// Launches under way at once. Each may wait for `PuppetDB` to resolve a scope; further slots wait
/// for a place, durably due.
pub const LAUNCHES: usize = 16;

/// How long one launch may take: a query of a slow `PuppetDB` and the commit of a job of 100,000
/// nodes. After it the outcome is told as unknown, unless a job turns up for the slot.
pub const LAUNCH_PATIENCE: Duration = Duration::from_secs(120);

/// Steps over blackouts in one search: each leaves a window behind, so 4,000 windows (ten years of
/// nightly ones) without one free slot are taken for "never". Some 10 µs each.
pub const BLACKOUT_STEPS: usize = 4_000;

/// Days that a calendar is searched: 29 February on one weekday comes back after 40 years at most.
pub const CALENDAR_DAYS: usize = 41 * 366;

/// Windows of one timetable; each is asked for every slot.
pub const BLACKOUTS: usize = 64;

/// Times of day of one calendar: every quarter of an hour.
pub const CALENDAR_TIMES: usize = 96;

/// The longest cron text.
pub const CRON_CHARS: usize = 256;

/// The longest interval, spread and grace: a leap year, in seconds.
pub const SPAN_SECONDS: u64 = 366 * 24 * 3_600;

/// Slots shown at most in a preview.
pub const PREVIEW_SLOTS: usize = 100;
