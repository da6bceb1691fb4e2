//! Scheduled jobs: written, listed, and found when they are due.
//!
//! Invariants of [`ScheduleRow`]: ids are contiguous and ascending, so a row is never deleted, only
//! disabled; every write names the revision that it is based on, and changes nothing if the
//! schedule was edited since.

use crate::StoreError;
use crate::page::{ListPage, ordered_statement};
use crate::schedule_row::{
    NewSchedule, ScheduleEdit, ScheduleRow, edit_columns, new_columns, progress_columns, schedules,
    slot_columns,
};
use crate::store::Store;
use crate::value::values;

/// Order of scheduled jobs; ties are broken by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleOrder {
    /// By the next start; schedules without one come last.
    #[default]
    NextRun,
    /// By the name of the environment.
    Environment,
    /// By the owner's login.
    Owner,
    /// By the name of the task or plan.
    Name,
    /// By the type of the job.
    Kind,
}

/// Filter of a list of scheduled jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleFilter {
    /// Type of the job: `task`, `deploy` or `plan`.
    pub kind: Option<String>,
    /// Order of the list.
    pub order_by: ScheduleOrder,
    /// True for the reverse order.
    pub descending: bool,
}

macro_rules! page {
    ($order:literal) => {
        schedules!(
            "WHERE s.enabled = 1 AND (CAST($1 AS TEXT) IS NULL OR s.kind = $1) ORDER BY ",
            $order,
            " LIMIT $2 OFFSET $3"
        )
    };
}

const INSERT: &str = concat!(
    "INSERT INTO schedules (",
    new_columns!(),
    ", id, enabled, revision, runs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
     $13, $14, $15, $16, $17, (SELECT COALESCE(MAX(id), 0) + 1 FROM schedules), 1, 1, 0)"
);
const BY_REQUEST: &str = "SELECT id FROM schedules WHERE request_id = $1";
const EDIT: &str = "UPDATE schedules SET name = $3, environment = $4, description = $5, \
     userdata = $6, input = $7, sensitive = $8, sealed = $9, timetable = $10, \
     revision = revision + 1 WHERE id = $1 AND revision = $2 AND enabled = 1";
/// Edits with a new timetable, from whose start the schedule continues.
const UPDATE: &str = "UPDATE schedules SET name = $3, environment = $4, description = $5, \
     userdata = $6, input = $7, sensitive = $8, sealed = $9, timetable = $10, cursor_ms = $11, \
     next_slot_ms = $12, next_ms = $13, queued_ms = $14, revision = revision + 1 \
     WHERE id = $1 AND revision = $2 AND enabled = 1";
/// A disabled schedule does not need its secrets and other values any more, which may be large.
const DISABLE: &str = "UPDATE schedules SET enabled = 0, sealed = NULL, input = '{}', \
     userdata = '{}', next_slot_ms = NULL, next_ms = NULL, queued_ms = NULL, revision = revision + 1 WHERE id = $1 AND enabled = 1";
const ONE: &str = schedules!("WHERE s.id = $1");
const COUNT: &str = "SELECT COUNT(*) FROM schedules \
     WHERE enabled = 1 AND (CAST($1 AS TEXT) IS NULL OR kind = $1)";
const COUNT_OF_OWNER: &str = "SELECT COUNT(*) FROM schedules WHERE enabled = 1 AND owner_id = $1";
const DUE: &str =
    schedules!("WHERE s.enabled = 1 AND s.next_ms <= $1 ORDER BY s.next_ms, s.id LIMIT $2");
const NEXT: &str = "SELECT next_ms FROM schedules WHERE enabled = 1 AND next_ms IS NOT NULL \
     ORDER BY next_ms LIMIT 1";
const QUEUED: &str = schedules!(
    "WHERE s.enabled = 1 AND s.queued_ms IS NOT NULL AND s.id > $1 ORDER BY s.id LIMIT $2"
);

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
    INSERT,
    BY_REQUEST,
    EDIT,
    UPDATE,
    DISABLE,
    ONE,
    COUNT,
    COUNT_OF_OWNER,
    DUE,
    NEXT,
    QUEUED,
    PAGES[0].1,
    PAGES[0].2,
    PAGES[1].1,
    PAGES[1].2,
    PAGES[2].1,
    PAGES[2].2,
    PAGES[3].1,
    PAGES[3].2,
    PAGES[4].1,
    PAGES[4].2,
];

impl Store {
    /// Writes a new schedule. Returns its number.
    pub async fn insert_schedule(&self, new: NewSchedule) -> Result<i64, StoreError> {
        self.execute(INSERT, values![new]).await?;
        let id: Option<i64> = self.query_one(BY_REQUEST, values![new.request_id]).await?;
        id.ok_or(StoreError::Closed)
    }

    /// Replaces the editable columns of a schedule that still has `revision`; with `new_times` its
    /// progress, too. `false`: it was edited since, or is disabled.
    pub async fn update_schedule(
        &self,
        id: i64,
        revision: i64,
        edit: ScheduleEdit,
        new_times: bool,
    ) -> Result<bool, StoreError> {
        let mut values = values![id, revision, edit];
        let sql = if new_times { UPDATE } else { EDIT };
        // The values of the progress come last.
        values.truncate(if new_times { values.len() } else { 10 });
        Ok(self.execute(sql, values).await? > 0)
    }

    /// Disables a schedule permanently. `false`: it was disabled already.
    pub async fn disable_schedule(&self, id: i64) -> Result<bool, StoreError> {
        Ok(self.execute(DISABLE, values![id]).await? > 0)
    }

    /// The schedule with this number, even if disabled.
    pub async fn schedule(&self, id: i64) -> Result<Option<ScheduleRow>, StoreError> {
        self.query_one(ONE, values![id]).await
    }

    /// One page of the enabled schedules, and their number without paging.
    pub async fn schedules(
        &self,
        filter: &ScheduleFilter,
        page: ListPage,
    ) -> Result<(Vec<ScheduleRow>, u64), StoreError> {
        let total = self.count(COUNT, values![filter.kind]).await?;
        let sql = ordered_statement(&PAGES, filter.order_by, filter.descending);
        let rows = self.query(sql, values![filter.kind, page]).await?;
        Ok((rows, total))
    }

    /// Number of enabled schedules of a user.
    pub async fn schedules_of_owner(&self, owner_id: &str) -> Result<u64, StoreError> {
        self.count(COUNT_OF_OWNER, values![owner_id]).await
    }

    /// At most `limit` schedules whose next slot starts by `now_ms`, the earliest first.
    pub async fn due_schedules(
        &self,
        now_ms: i64,
        limit: i64,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        self.query(DUE, values![now_ms, limit]).await
    }

    /// Start of the earliest slot of all schedules in milliseconds since 1970; `None`: there is
    /// none.
    pub async fn next_schedule_ms(&self) -> Result<Option<i64>, StoreError> {
        self.query_one(NEXT, Vec::new()).await
    }

    /// At most `limit` schedules with a slot that waits for the previous run, by number, after `after`.
    pub async fn queued_schedules(
        &self,
        after: i64,
        limit: i64,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        self.query(QUEUED, values![after, limit]).await
    }
}
