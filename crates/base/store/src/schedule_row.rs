//! Rows of scheduled jobs, as read and as written: [`ScheduleRow`], [`ScheduleEdit`].
//!
//! Invariants: the progress is at the end of [`ScheduleEdit`], so that an edit without it has the
//! first values only; parameters and secrets never appear in `Debug` output.

use std::fmt;

use partial_debug::partial_debug;

use crate::JobNumber;
use crate::rows::row;
use crate::value::{ColumnError, ColumnReader, FromRow};

row! {
    /// A scheduled job that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewSchedule {
        /// Unique id of the request, by which a caller can find the row after a lost answer.
        pub request_id: String,
        /// Type of the job: `task`, `deploy` or `plan`.
        pub kind: String,
        /// Login of the user with whose permissions it runs.
        pub owner: String,
        /// Id of that user.
        pub owner_id: String,
        /// Time of creation in milliseconds since 1970.
        pub created_ms: i64,
        /// The columns that can be edited.
        pub edit: ScheduleEdit = edit_columns!(),
    } write columns new_columns
}

row! {
    /// The columns that can be edited; an edit writes all of them.
    #[derive(Clone, PartialEq, Eq)]
    pub struct ScheduleEdit {
        /// Name of the task or plan; empty for a Puppet run.
        pub name: String,
        /// Name of the environment; may be empty.
        pub environment: String,
        /// Description given by the user, as free text.
        pub description: String,
        /// Data given by the user, as JSON.
        pub userdata: String,
        /// Request of the job as JSON, without secrets.
        pub input: String,
        /// Names of the secret parameters, as JSON.
        pub sensitive: String,
        /// The secrets, sealed by the caller.
        pub sealed: Option<Vec<u8>>,
        /// Timetable of the schedule, as JSON.
        pub timetable: String,
        /// Progress of the schedule.
        pub advance: ScheduleProgress = progress_columns!(),
    } read write columns edit_columns
}

row! {
    /// Progress of a schedule through its slots.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ScheduleProgress {
        /// Time of the last decided slot in milliseconds since 1970; earlier slots are decided,
        /// too.
        pub cursor_ms: Option<i64>,
        /// Time of the next slot by the timetable, in milliseconds since 1970; `None`: there is
        /// none.
        pub next_slot_ms: Option<i64>,
        /// Start of the next slot in milliseconds since 1970; `None`: there is none.
        pub next_ms: Option<i64>,
        /// Time of the slot that waits for the previous run to end; `None`: none waits.
        pub queued_ms: Option<i64>,
    } read write columns progress_columns
}

row! {
    /// A stored scheduled job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ScheduleRow {
        /// Number of the schedule.
        pub id: i64,
        /// Type of the job: `task`, `deploy` or `plan`.
        pub kind: String,
        /// Login of the owner.
        pub owner: String,
        /// Id of the owner.
        pub owner_id: String,
        /// Time of creation in milliseconds since 1970.
        pub created_ms: i64,
        /// The columns that can be edited.
        pub edit: ScheduleEdit = edit_columns!(),
        /// False if the schedule was deleted.
        pub enabled: bool,
        /// Number that grows with each edit.
        pub revision: i64,
        /// Number of slots that were claimed.
        pub runs: u64,
        /// The last claimed slot; `None` if none was claimed.
        pub last: Option<SlotRow> = slot_columns!(),
        /// The last slot that was left out and the reason, as JSON.
        pub skipped: Option<String>,
    } read select schedules from "schedules s \
        LEFT JOIN schedule_slots t ON t.schedule = s.id AND t.slot_ms = s.last_slot_ms \
        LEFT JOIN schedule_launches l ON l.schedule = s.id AND l.slot_ms = s.last_slot_ms \
        LEFT JOIN schedule_plan_launches p ON p.schedule = s.id AND p.slot_ms = s.last_slot_ms"
}

/// The job that was started for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchedJob {
    /// The job of a task or a Puppet run.
    Job(JobNumber),
    /// The number of the plan job.
    Plan(i64),
}

row! {
    /// A claimed slot of a schedule.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SlotRow {
        /// Time of the slot by the timetable, in milliseconds since 1970.
        pub slot_ms: i64 = "t.slot_ms",
        /// Time of the claim in milliseconds since 1970.
        pub claimed_ms: i64,
        /// True if the outcome of the slot is decided.
        pub ended: bool,
        /// The job or plan job that was started; `None` if there is none.
        pub job: Option<LaunchedJob> = "job, plan_job",
        /// Reason for which there is no job, as JSON.
        pub error: Option<String>,
    } read columns slot_columns
}

#[expect(
    clippy::single_component_path_imports,
    reason = "they are macros, made by `row!`"
)]
pub(crate) use {edit_columns, new_columns, progress_columns, schedules, slot_columns};

// Omits parameters and secrets.
partial_debug!(ScheduleEdit {
    name,
    environment,
    timetable,
    advance
});

/// From the columns of both tables, of which at most one contains a number.
impl FromRow for Option<LaunchedJob> {
    const COUNT: usize = 2;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        let (job, plan_job): (Option<_>, Option<_>) = FromRow::read(columns)?;
        Ok(job
            .map(LaunchedJob::Job)
            .or(plan_job.map(LaunchedJob::Plan)))
    }
}

/// Prints the number of the job.
impl fmt::Display for LaunchedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(number) => write!(f, "{number}"),
            Self::Plan(number) => write!(f, "{number}"),
        }
    }
}
