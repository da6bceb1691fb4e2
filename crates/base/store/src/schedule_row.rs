//! Rows of scheduled jobs, as read and as written: [`ScheduleRow`], [`ScheduleEdit`].
//!
//! Invariants: the columns are in the order of the statements of `schedules`; parameters and
//! secrets never appear in `Debug` output.

use std::fmt;

use crate::schedule_slots::LaunchedJob;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

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
    pub edit: ScheduleEdit,
}

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
    pub advance: ScheduleProgress,
}

/// Progress of a schedule through its slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleProgress {
    /// Time of the last decided slot in milliseconds since 1970; earlier slots are decided, too.
    pub cursor_ms: Option<i64>,
    /// Time of the next slot by the timetable, in milliseconds since 1970; `None`: there is none.
    pub next_slot_ms: Option<i64>,
    /// Start of the next slot in milliseconds since 1970; `None`: there is none.
    pub next_ms: Option<i64>,
    /// Time of the slot that waits for the previous run to end; `None`: none waits.
    pub queued_ms: Option<i64>,
}

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
    pub edit: ScheduleEdit,
    /// False if the schedule was deleted.
    pub enabled: bool,
    /// Number that grows with each edit.
    pub revision: i64,
    /// Number of slots that were claimed.
    pub runs: u64,
    /// The last claimed slot; `None` if none was claimed.
    pub last: Option<SlotRow>,
    /// The last slot that was left out and the reason, as JSON.
    pub skipped: Option<String>,
}

/// A claimed slot of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// Time of the slot by the timetable, in milliseconds since 1970.
    pub slot_ms: i64,
    /// Time of the claim in milliseconds since 1970.
    pub claimed_ms: i64,
    /// True if the outcome of the slot is decided.
    pub ended: bool,
    /// The job or plan job that was started; `None` if there is none.
    pub job: Option<LaunchedJob>,
    /// Reason for which there is no job, as JSON.
    pub error: Option<String>,
}

/// Omits parameters and secrets.
impl fmt::Debug for ScheduleEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleEdit")
            .field("name", &self.name)
            .field("environment", &self.environment)
            .field("timetable", &self.timetable)
            .field("advance", &self.advance)
            .finish_non_exhaustive()
    }
}

impl ScheduleEdit {
    pub(crate) fn into_values(self) -> Vec<SqlValue<'static>> {
        let mut values = vec![
            SqlValue::owned_text(&self.name),
            SqlValue::owned_text(&self.environment),
            SqlValue::owned_text(&self.description),
            SqlValue::owned_text(&self.userdata),
            SqlValue::owned_text(&self.input),
            SqlValue::owned_text(&self.sensitive),
            self.sealed
                .map_or(SqlValue::Null, |sealed| SqlValue::Blob(sealed.into())),
            SqlValue::owned_text(&self.timetable),
        ];
        values.extend(self.advance.values());
        values
    }
}

impl ScheduleProgress {
    /// The values of cursor, next slot, its start and queued slot, in this order.
    pub(crate) fn values(self) -> [SqlValue<'static>; 4] {
        [
            self.cursor_ms,
            self.next_slot_ms,
            self.next_ms,
            self.queued_ms,
        ]
        .map(SqlValue::opt_int)
    }
}

impl FromRow for ScheduleRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        let last = match (row.opt_int(20)?, row.opt_int(21)?) {
            (Some(slot_ms), Some(claimed_ms)) => Some(SlotRow {
                slot_ms,
                claimed_ms,
                ended: row.int(22)? != 0,
                job: LaunchedJob::from_columns(row.opt_int(23)?, row.opt_int(26)?),
                error: row.opt_text(24)?,
            }),
            _ => None,
        };
        Ok(Self {
            id: row.int(0)?,
            kind: row.text(1)?,
            owner: row.text(2)?,
            owner_id: row.text(3)?,
            created_ms: row.int(4)?,
            edit: ScheduleEdit {
                name: row.text(5)?,
                environment: row.text(6)?,
                description: row.text(7)?,
                userdata: row.text(8)?,
                input: row.text(9)?,
                sensitive: row.text(10)?,
                sealed: row.opt_blob(11)?,
                timetable: row.text(12)?,
                advance: ScheduleProgress {
                    cursor_ms: row.opt_int(13)?,
                    next_slot_ms: row.opt_int(14)?,
                    next_ms: row.opt_int(15)?,
                    queued_ms: row.opt_int(16)?,
                },
            },
            enabled: row.int(17)? != 0,
            revision: row.int(18)?,
            runs: row.int(19)?.unsigned_abs(),
            last,
            skipped: row.opt_text(25)?,
        })
    }
}
