//! Jobs that start by the clock.
//!
//! [`Schedules`] is the handle; behind it one actor waits for the next slot. A [`Timetable`] says
//! when, a [`Plan`] gives its slots, [`decide`] what to do now; none of the three does I/O or looks
//! at a clock. The rules:
//! - a slot is claimed durably before anything is started for it, and its job is written in one
//!   transaction with the slot's key, which is unique: no slot runs twice;
//! - a slot that is not run leaves a trace that says why;
//! - a job starts with the rights that its owner has at that moment.

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
