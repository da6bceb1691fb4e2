//! The row of a scheduled job, and what is written of it: [`ScheduleRow`], [`ScheduleEdit`].
//!
//! The rules: the columns stand in the order of the statements of `schedules`; parameters and
//! secrets are in no `Debug`.

use std::fmt;

use crate::schedule_slots::LaunchedJob;
use crate::value::{ColumnError, Columns, FromRow, Value};

/// A scheduled job to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    /// Unique; tells after a lost answer whether the row was kept.
    pub request_id: String,
    /// `task`, `deploy` or `plan`.
    pub kind: String,
    /// The login of whose right it runs with.
    pub owner: String,
    /// That user's id.
    pub owner_id: String,
    /// When.
    pub created_ms: i64,
    /// What can be edited.
    pub edit: ScheduleEdit,
}

/// What an edit writes: all of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ScheduleEdit {
    /// The task's or plan's name; empty for a Puppet run.
    pub name: String,
    /// May be empty.
    pub environment: String,
    /// Free text.
    pub description: String,
    /// JSON.
    pub userdata: String,
    /// JSON, without secrets.
    pub input: String,
    /// JSON: the names of the secrets.
    pub sensitive: String,
    /// The secrets, sealed by the caller.
    pub sealed: Option<Vec<u8>>,
    /// JSON.
    pub timetable: String,
    /// Where it stands.
    pub advance: Advance,
}

/// Where a schedule stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    /// Slots up to this one are decided.
    pub cursor_ms: Option<i64>,
    /// The next slot.
    pub next_slot_ms: Option<i64>,
    /// When it starts.
    pub next_ms: Option<i64>,
    /// A slot that waits for the run before it.
    pub queued_ms: Option<i64>,
}

/// A scheduled job as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Its number.
    pub id: i64,
    /// `task`, `deploy` or `plan`.
    pub kind: String,
    /// The owner's login.
    pub owner: String,
    /// The owner's id.
    pub owner_id: String,
    /// When it was made.
    pub created_ms: i64,
    /// What can be edited.
    pub edit: ScheduleEdit,
    /// Not deleted.
    pub enabled: bool,
    /// Counts the edits.
    pub revision: i64,
    /// How many slots were claimed.
    pub runs: u64,
    /// The last slot that was claimed.
    pub last: Option<SlotRow>,
    /// JSON: the last slot that was left out, and why.
    pub skipped: Option<String>,
}

/// A slot that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// Its time by the timetable.
    pub slot_ms: i64,
    /// When it was claimed.
    pub claimed_ms: i64,
    /// Whether it is decided what came of it.
    pub ended: bool,
    /// The job or plan job.
    pub job: Option<LaunchedJob>,
    /// JSON: why there is none.
    pub error: Option<String>,
}

/// Never parameters or secrets.
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
    pub(crate) fn into_values(self) -> Vec<Value<'static>> {
        let mut values = vec![
            Value::owned(&self.name),
            Value::owned(&self.environment),
            Value::owned(&self.description),
            Value::owned(&self.userdata),
            Value::owned(&self.input),
            Value::owned(&self.sensitive),
            self.sealed
                .map_or(Value::Null, |sealed| Value::Blob(sealed.into())),
            Value::owned(&self.timetable),
        ];
        values.extend(self.advance.values());
        values
    }
}

impl Advance {
    /// Cursor, next slot, its start, queued slot.
    pub(crate) fn values(self) -> [Value<'static>; 4] {
        [
            self.cursor_ms,
            self.next_slot_ms,
            self.next_ms,
            self.queued_ms,
        ]
        .map(Value::opt_int)
    }
}

impl FromRow for ScheduleRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
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
                advance: Advance {
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
