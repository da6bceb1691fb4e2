//! Slots of schedules: claimed before anything starts, decided afterwards.
//!
//! [`SlotKey`] identifies a slot permanently. Invariant: a slot is claimed once, and has at most
//! one job or plan job, since the transaction of that job writes [`SlotKey`] into a table in which
//! it is unique.

use crate::defaults::SCHEDULE_SLOTS;
use crate::rows::row;
use crate::schedule_row::{LaunchedJob, ScheduleProgress};
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;
use crate::writing::slots::SlotKey;
use crate::{JobNumber, StoreError};

/// A slot that is about to be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotClaim {
    /// The slot to claim.
    pub slot: SlotKey,
    /// Revision of the schedule on which the claim is based.
    pub revision: i64,
    /// Unique id of the claim.
    pub claim: String,
    /// Time of the claim in milliseconds since 1970.
    pub at_ms: i64,
    /// Progress of the schedule after the claim.
    pub advance: ScheduleProgress,
}

row! {
    /// A claimed slot whose outcome is not decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OpenSlot {
        /// Identity of the slot.
        pub slot: SlotKey = "t.schedule, t.slot_ms",
        /// Time of the claim in milliseconds since 1970.
        pub claimed_ms: i64 = "t.claimed_ms",
        /// The job of the slot; `None` if none was started.
        pub job: Option<LaunchedJob> = "l.job, p.plan_job",
    } read select open_slots from "schedule_slots t \
        LEFT JOIN schedule_launches l ON l.schedule = t.schedule AND l.slot_ms = t.slot_ms \
        LEFT JOIN schedule_plan_launches p ON p.schedule = t.schedule AND p.slot_ms = t.slot_ms"
}

const CLAIM: &str = "INSERT INTO schedule_slots (schedule, slot_ms, claim, claimed_ms) \
     SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM schedules \
     WHERE id = $1 AND revision = $5 AND enabled = 1 ON CONFLICT DO NOTHING";
const CLAIMED: &str = "UPDATE schedules SET cursor_ms = $4, next_slot_ms = $5, next_ms = $6, \
     queued_ms = $7, runs = runs + 1, last_slot_ms = $2 WHERE id = $1 AND EXISTS \
     (SELECT 1 FROM schedule_slots WHERE schedule = $1 AND slot_ms = $2 AND claim = $3)";
const FORGET_SLOTS: &str = "DELETE FROM schedule_slots WHERE schedule = $1 AND ended = 1 \
     AND slot_ms < (SELECT slot_ms FROM schedule_slots WHERE schedule = $1 \
     ORDER BY slot_ms DESC LIMIT 1 OFFSET $2)";
/// Launches of jobs that are kept tell to which schedule these belong.
const FORGET_LAUNCHES: &str = "DELETE FROM schedule_launches WHERE schedule = $1 \
     AND slot_ms < (SELECT slot_ms FROM schedule_slots WHERE schedule = $1 \
     ORDER BY slot_ms LIMIT 1) \
     AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.number = schedule_launches.job)";
const FORGET_PLAN_LAUNCHES: &str = "DELETE FROM schedule_plan_launches WHERE schedule = $1 \
     AND slot_ms < (SELECT slot_ms FROM schedule_slots WHERE schedule = $1 \
     ORDER BY slot_ms LIMIT 1)";
const PASS: &str = "UPDATE schedules SET cursor_ms = $3, next_slot_ms = $4, next_ms = $5, \
     queued_ms = $6, skipped = COALESCE($7, skipped) \
     WHERE id = $1 AND revision = $2 AND enabled = 1";
const END: &str = "UPDATE schedule_slots SET ended = 1, error = $3 \
     WHERE schedule = $1 AND slot_ms = $2 AND ended = 0";
const OPEN: &str = open_slots!("WHERE t.ended = 0 ORDER BY t.schedule, t.slot_ms");
const JOB: &str = "SELECT job FROM schedule_launches WHERE schedule = $1 AND slot_ms = $2";
pub(crate) const STATEMENTS: &[&str] = &[
    CLAIM,
    CLAIMED,
    FORGET_SLOTS,
    FORGET_LAUNCHES,
    FORGET_PLAN_LAUNCHES,
    PASS,
    END,
    OPEN,
    JOB,
];

// === impl Store ===

impl Store {
    /// Claims a slot and advances its schedule. `false`: the schedule was edited or disabled since,
    /// or the slot was claimed before. Old slots are deleted.
    pub async fn claim_slot(&self, claim: SlotClaim) -> Result<bool, StoreError> {
        let SlotClaim {
            slot,
            revision,
            claim,
            at_ms,
            advance,
        } = claim;
        let schedule = slot.schedule;
        let steps = [
            SqlStatement::new(CLAIM, values![slot, claim, at_ms, revision]),
            SqlStatement::new(CLAIMED, values![slot, claim, advance]),
            SqlStatement::new(FORGET_SLOTS, values![schedule, SCHEDULE_SLOTS]),
            SqlStatement::new(FORGET_LAUNCHES, values![schedule]),
            SqlStatement::new(FORGET_PLAN_LAUNCHES, values![schedule]),
        ];
        let rows = self.execute_all(steps).await?;
        Ok(rows.first().is_some_and(|inserted| *inserted > 0))
    }

    /// Advances a schedule past slots that do not run; `skipped` (JSON) records the slots and the
    /// reason. `false`: the schedule was edited or disabled since.
    pub async fn pass_slots(
        &self,
        schedule: i64,
        revision: i64,
        advance: ScheduleProgress,
        skipped: Option<&str>,
    ) -> Result<bool, StoreError> {
        Ok(self
            .execute(PASS, values![schedule, revision, advance, skipped])
            .await?
            > 0)
    }

    /// Records the outcome of a claimed slot: `error` (JSON), or the job that recorded itself.
    pub async fn end_slot(&self, slot: SlotKey, error: Option<&str>) -> Result<(), StoreError> {
        self.execute(END, values![slot, error]).await.map(drop)
    }

    /// The slots that were claimed and not ended, as a starting server needs them. It waits for a
    /// commit of its own first, so that the answer is final.
    pub async fn open_slots(&self) -> Result<Vec<OpenSlot>, StoreError> {
        self.execute_all([]).await?;
        self.query(OPEN, Vec::new()).await
    }

    /// The job of a slot, if it was written; final as with [`Store::inserted_job`]. It shows tests that a
    /// second job was refused.
    pub async fn job_of_slot(&self, slot: SlotKey) -> Result<Option<JobNumber>, StoreError> {
        self.execute_all([]).await?;
        self.query_one(JOB, values![slot]).await
    }
}
