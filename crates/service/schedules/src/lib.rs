//! Scheduled jobs: jobs that start at given times.
//!
//! [`Schedules`] is the handle; behind it one actor waits for the next slot. A [`Timetable`]
//! defines the times, a [`Plan`] computes its slots, and [`decide`] selects the next step; none of
//! the three does I/O or reads a clock. Invariants:
//! - a slot is claimed durably before its launch begins, and its job is written in one transaction
//!   with the slot's key, which is unique: no slot runs twice;
//! - a slot that is not run leaves a record with the reason;
//! - a job starts with the permissions that its owner has at that moment.

mod actor;
mod blackout;
mod calendar;
mod clock;
mod cron;
mod decide;
pub mod defaults;
mod draft;
mod handle;
mod launch;
mod plan;
mod recover;
mod rule;
mod spread;
mod timetable;
mod view;
mod zone;

pub use blackout::Blackout;
pub use calendar::{Calendar, Day};
pub use clock::{Clock, SystemClock};
pub use decide::{Decision, Skip, SkipReason, Standing, decide};
pub use draft::{Draft, Kind};
pub use handle::{ScheduleError, Schedules, SchedulesConfig};
pub use launch::{Firing, Launch, NoRecord, Outcome, Record, ScheduledJob, SubmissionError};
pub use plan::{Plan, Slot};
pub use timetable::{Missed, Overlap, Rule, Timetable, TimetableError};
pub use view::{LastRun, Scheduled};
