//! Scheduled jobs: jobs that start at given times.
//!
//! [`Schedules`] is the handle; behind it one actor waits for the next slot. A [`Timetable`]
//! defines the times, a [`CompiledTimetable`] computes its slots, and [`decide`] selects the next
//! step; none of the three does I/O or reads a clock. Invariants:
//! - a slot is claimed durably before its launch begins, and its job is written in one transaction
//!   with the slot's key, which is unique: no slot runs twice;
//! - a slot that is not run leaves a record with the reason;
//! - a job starts with the permissions that its owner has at that moment.

mod actor;
mod blackout;
mod calendar;
mod compiled_timetable;
mod cron;
mod decide;
pub mod defaults;
mod draft;
mod error;
mod handle;
mod launch;
mod recover;
mod rule;
mod spread;
mod timetable;
mod timetable_error;
mod view;
mod zone;

pub use blackout::BlackoutPeriod;
pub use calendar::{CalendarRule, DayOfWeek};
pub use compiled_timetable::{CompiledTimetable, ScheduleSlot};
pub use decide::{ScheduleDecision, SkipReason, SkippedSlots, SlotProgress, decide};
pub use draft::{ScheduleDraft, ScheduledJobKind};
pub use handle::{ScheduleError, Schedules, SchedulesConfig};
pub use launch::{
    JobLauncher, NoSlotRecorder, SlotEvent, SlotJob, SlotOutcome, SlotRecorder, SubmissionError,
};
pub use timetable::{MissedSlotPolicy, OverlapPolicy, Timetable, TimetableError, TimetableRule};
pub use view::{LastSlotRun, ScheduleView};
