//! Scheduled jobs: rows that the schedules' engine reads and advances.
//!
//! [`ScheduleRow`]. The rules: ids are contiguous and ascending, so a row is never deleted, only
//! disabled; every write names the revision that it was decided on, and changes nothing when the
//! schedule was edited since.

use std::fmt;

use crate::page::Page;
use crate::step::Step;
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};
use crate::{JobNumber, StoreError};

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
    /// The job.
    pub job: Option<JobNumber>,
    /// JSON: why there is none.
    pub error: Option<String>,
}

/// By what scheduled jobs are ordered; ties are broken by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleOrder {
    /// By the next start; those without come last.
    #[default]
    NextRun,
    /// By the environment.
    Environment,
    /// By the owner's login.
    Owner,
    /// By the name of the task or plan.
    Name,
    /// By the kind.
    Kind,
}

/// Which scheduled jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleFilter {
    /// `task`, `deploy` or `plan`.
    pub kind: Option<String>,
    /// By what.
    pub order_by: ScheduleOrder,
    /// The other way round.
    pub descending: bool,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT s.id, s.kind, s.owner, s.owner_id, s.created_ms, s.name, s.environment, \
             s.description, s.userdata, s.input, s.sensitive, s.sealed, s.timetable, s.cursor_ms, \
             s.next_slot_ms, s.next_ms, s.queued_ms, s.enabled, s.revision, s.runs, \
             s.last_slot_ms, t.claimed_ms, t.ended, l.job, t.error, s.skipped \
             FROM schedules s LEFT JOIN schedule_slots t \
             ON t.schedule = s.id AND t.slot_ms = s.last_slot_ms \
             LEFT JOIN schedule_launches l ON l.schedule = s.id AND l.slot_ms = s.last_slot_ms ",
            $rest
        )
    };
}

macro_rules! page {
    ($order:literal) => {
        concat!(
            select!("WHERE s.enabled = 1 AND (CAST($1 AS TEXT) IS NULL OR s.kind = $1) ORDER BY "),
            $order,
            " LIMIT $2 OFFSET $3"
        )
    };
}

const INSERT: &str = "INSERT INTO schedules (id, request_id, kind, owner, owner_id, created_ms, \
     name, environment, description, userdata, input, sensitive, sealed, timetable, cursor_ms, \
     next_slot_ms, next_ms, queued_ms, enabled, revision, runs) VALUES \
     ((SELECT COALESCE(MAX(id), 0) + 1 FROM schedules), $1, $2, $3, $4, $5, \
     $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 1, 1, 0)";
const BY_REQUEST: &str = "SELECT id FROM schedules WHERE request_id = $1";
const EDIT: &str = "UPDATE schedules SET name = $3, environment = $4, description = $5, \
     userdata = $6, input = $7, sensitive = $8, sealed = $9, timetable = $10, \
     revision = revision + 1 WHERE id = $1 AND revision = $2 AND enabled = 1";
/// With a new timetable, which begins where it says.
const UPDATE: &str = "UPDATE schedules SET name = $3, environment = $4, description = $5, \
     userdata = $6, input = $7, sensitive = $8, sealed = $9, timetable = $10, cursor_ms = $11, \
     next_slot_ms = $12, next_ms = $13, queued_ms = $14, revision = revision + 1 \
     WHERE id = $1 AND revision = $2 AND enabled = 1";
/// A disabled schedule needs its secrets no more.
const DISABLE: &str = "UPDATE schedules SET enabled = 0, sealed = NULL, next_slot_ms = NULL, \
     next_ms = NULL, queued_ms = NULL, revision = revision + 1 WHERE id = $1 AND enabled = 1";
const ONE: &str = select!("WHERE s.id = $1");
const COUNT: &str = "SELECT COUNT(*) FROM schedules \
     WHERE enabled = 1 AND (CAST($1 AS TEXT) IS NULL OR kind = $1)";
const DUE: &str = select!(
    "WHERE s.enabled = 1 AND (s.next_ms <= $1 OR s.queued_ms IS NOT NULL) \
     ORDER BY s.next_ms, s.id LIMIT $2"
);
const NEXT: &str = "SELECT next_ms FROM schedules WHERE enabled = 1 AND next_ms IS NOT NULL \
     ORDER BY next_ms LIMIT 1";
const QUEUED: &str = "SELECT COUNT(*) FROM schedules WHERE enabled = 1 AND queued_ms IS NOT NULL";

const PAGES: [(ScheduleOrder, &str, &str); 5] = [
    (
        ScheduleOrder::NextRun,
        page!("s.next_ms IS NULL, s.next_ms, s.id"),
        page!("s.next_ms IS NULL, s.next_ms DESC, s.id DESC"),
    ),
    (
        ScheduleOrder::Environment,
        page!("s.environment, s.id"),
        page!("s.environment DESC, s.id DESC"),
    ),
    (
        ScheduleOrder::Owner,
        page!("s.owner, s.id"),
        page!("s.owner DESC, s.id DESC"),
    ),
    (
        ScheduleOrder::Name,
        page!("s.name, s.id"),
        page!("s.name DESC, s.id DESC"),
    ),
    (
        ScheduleOrder::Kind,
        page!("s.kind, s.id"),
        page!("s.kind DESC, s.id DESC"),
    ),
];

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT, BY_REQUEST, EDIT, UPDATE, DISABLE, ONE, COUNT, DUE, NEXT, QUEUED, PAGES[0].1,
    PAGES[0].2, PAGES[1].1, PAGES[1].2, PAGES[2].1, PAGES[2].2, PAGES[3].1, PAGES[3].2, PAGES[4].1,
    PAGES[4].2,
];

// === impl Store ===

impl Store {
    /// Writes a schedule; gives its number.
    pub async fn insert_schedule(&self, new: NewSchedule) -> Result<i64, StoreError> {
        let request_id = Value::owned(&new.request_id);
        let mut values = vec![
            request_id.clone(),
            Value::owned(&new.kind),
            Value::owned(&new.owner),
            Value::owned(&new.owner_id),
            Value::Int(new.created_ms),
        ];
        values.extend(new.edit.into_values());
        let sql = INSERT;
        self.execute(Step { sql, values }).await?;
        let id: Option<i64> = self.query_one(BY_REQUEST, vec![request_id]).await?;
        id.ok_or(StoreError::Closed)
    }

    /// Writes over the schedule as of `revision`; with `new_times` where it stands, too. `false`:
    /// it was edited since, or is disabled.
    pub async fn update_schedule(
        &self,
        id: i64,
        revision: i64,
        edit: ScheduleEdit,
        new_times: bool,
    ) -> Result<bool, StoreError> {
        let mut values = vec![Value::Int(id), Value::Int(revision)];
        values.extend(edit.into_values());
        let sql = if new_times { UPDATE } else { EDIT };
        // Where it stands comes last.
        values.truncate(if new_times { values.len() } else { 10 });
        Ok(self.execute(Step { sql, values }).await? > 0)
    }

    /// Disables a schedule for ever. `false`: it was.
    pub async fn disable_schedule(&self, id: i64) -> Result<bool, StoreError> {
        let (sql, values) = (DISABLE, vec![Value::Int(id)]);
        Ok(self.execute(Step { sql, values }).await? > 0)
    }

    /// One schedule, disabled ones too.
    pub async fn schedule(&self, id: i64) -> Result<Option<ScheduleRow>, StoreError> {
        self.query_one(ONE, vec![Value::Int(id)]).await
    }

    /// Enabled schedules, and how many there are without paging.
    pub async fn schedules(
        &self,
        filter: &ScheduleFilter,
        page: Page,
    ) -> Result<(Vec<ScheduleRow>, u64), StoreError> {
        let kind = Value::opt_owned(filter.kind.as_deref());
        let total: Option<i64> = self.query_one(COUNT, vec![kind.clone()]).await?;
        let (_, ascending, descending) = PAGES
            .iter()
            .find(|(order, ..)| *order == filter.order_by)
            .unwrap_or(&PAGES[0]);
        let sql = if filter.descending {
            descending
        } else {
            ascending
        };
        let values = vec![
            kind,
            Value::Int(page.limit_column()),
            Value::Int(page.offset_column()),
        ];
        let rows = self.query(sql, values).await?;
        Ok((rows, total.unwrap_or(0).unsigned_abs()))
    }

    /// At most `limit` schedules whose next slot starts by `now_ms`, or that have a queued one.
    pub async fn due_schedules(
        &self,
        now_ms: i64,
        limit: i64,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let values = vec![Value::Int(now_ms), Value::Int(limit)];
        self.query(DUE, values).await
    }

    /// When the earliest slot of all starts.
    pub async fn next_schedule_ms(&self) -> Result<Option<i64>, StoreError> {
        self.query_one(NEXT, Vec::new()).await
    }

    /// How many slots wait for the run before them.
    pub async fn queued_schedules(&self) -> Result<u64, StoreError> {
        let count: Option<i64> = self.query_one(QUEUED, Vec::new()).await?;
        Ok(count.unwrap_or(0).unsigned_abs())
    }
}

// === impl rows ===

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
    fn into_values(self) -> Vec<Value<'static>> {
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
                job: row.opt_int(23)?.map(JobNumber::from_column),
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
