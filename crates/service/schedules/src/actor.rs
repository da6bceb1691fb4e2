//! The actor: waits for the next slot, claims it, and passes it on for launching.
//!
//! Invariant: except for the launches in progress, its whole state is in the store. It reads the
//! due slots from the store each time, so a restart, an edit and a jump of the clock are handled
//! in the same way.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use store::{LaunchedJob, ScheduleRow, SlotClaim, SlotKey, StoreError};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::compiled_timetable::CompiledTimetable;
use crate::decide::{ScheduleDecision, SkipReason, SkippedSlots, SlotProgress, decide};
use crate::defaults::{DUE_ROWS, LAUNCHES, LOOK, QUEUE_LOOK, RETRY};
use crate::draft::ScheduledJobKind;
use crate::handle::ScheduleServices;
use crate::launch::{SlotEvent, SlotOutcome};
use crate::recover::launch_slot;
use crate::timetable::Timetable;

pub(crate) struct ScheduleActor {
    pub(crate) parts: Arc<ScheduleServices>,
    pub(crate) launches: JoinSet<SlotKey>,
    pub(crate) under_way: HashSet<SlotKey>,
    /// `true` after a write with an unknown result: there may be claimed slots without a launch.
    has_unsettled_slot: bool,
}

// === impl ScheduleActor ===

impl ScheduleActor {
    pub(crate) fn new(parts: Arc<ScheduleServices>) -> Self {
        Self {
            parts,
            launches: JoinSet::new(),
            under_way: HashSet::new(),
            // At the start: the previous process may have left claimed slots.
            has_unsettled_slot: true,
        }
    }

    pub(crate) async fn run(mut self) {
        while !self.parts.stopped.is_cancelled() {
            let pause = match Box::pin(self.handle_due_schedules()).await {
                Ok(pause) => pause,
                Err(error) if error.is_final() => break,
                Err(error) => {
                    tracing::warn!(%error, "cannot look at the schedules; tried again until it works");
                    self.has_unsettled_slot = true;
                    RETRY
                }
            };
            tokio::select! {
                () = self.parts.stopped.cancelled() => {}
                () = self.parts.written.notified() => {}
                () = tokio::time::sleep(pause) => {}
                Some(ended) = self.launches.join_next() => self.handle_launched(ended),
            }
        }
        while let Some(ended) = self.launches.join_next().await {
            self.handle_launched(ended);
        }
    }

    /// Handles all due schedules; returns the time until the next one is due.
    async fn handle_due_schedules(&mut self) -> Result<Duration, StoreError> {
        if self.has_unsettled_slot {
            self.recover().await?;
            self.has_unsettled_slot = false;
        }
        if self.launches.len() >= LAUNCHES {
            return Ok(LOOK);
        }
        let now_ms = self.parts.clock.now_ms();
        let rows = self.parts.store.due_schedules(now_ms, DUE_ROWS).await?;
        let mut moved = self.advance_schedules(rows, now_ms).await?;
        let (mut longest, mut last) = (LOOK, 0);
        // Read on their own: however many slots wait, those of other schedules are due before them.
        while self.launches.len() < LAUNCHES {
            let rows = self.parts.store.queued_schedules(last, DUE_ROWS).await?;
            let Some(row) = rows.last() else { break };
            (longest, last) = (QUEUE_LOOK, row.id);
            moved |= self.advance_schedules(rows, now_ms).await?;
        }
        if self.launches.len() >= LAUNCHES {
            return Ok(LOOK);
        }
        if moved {
            return Ok(Duration::ZERO);
        }
        let next_ms = self.parts.store.next_schedule_ms().await?;
        let wait_ms = next_ms.map_or(i64::MAX, |next| next.saturating_sub(now_ms).max(1));
        Ok(longest.min(Duration::from_millis(wait_ms.unsigned_abs())))
    }

    /// Takes the next step for each of the schedules, until too many launches are under way; returns
    /// `true` if one of them changed.
    async fn advance_schedules(
        &mut self,
        rows: Vec<ScheduleRow>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut moved = false;
        for row in rows {
            if self.launches.len() >= LAUNCHES {
                break;
            }
            moved |= self.advance_schedule(row, now_ms).await?;
        }
        Ok(moved)
    }

    /// Takes the next step for one schedule; returns `true` if the schedule changed.
    async fn advance_schedule(
        &mut self,
        row: ScheduleRow,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let store = &self.parts.store;
        let advance = row.edit.advance;
        let Some(plan) = compile_timetable(&row) else {
            let slot_ms = advance.next_slot_ms.unwrap_or(now_ms);
            let skip = SkippedSlots {
                first_ms: slot_ms,
                last_ms: slot_ms,
                reason: SkipReason::Broken,
            };
            let parked = store::ScheduleProgress {
                next_slot_ms: None,
                next_ms: None,
                queued_ms: None,
                ..advance
            };
            return self.record_skip(&row, parked, &skip).await;
        };
        let standing = SlotProgress {
            cursor_ms: advance.cursor_ms,
            queued_ms: advance.queued_ms,
            runs: row.runs,
            running: self.is_running(&row).await?,
        };
        match decide(&plan, &standing, now_ms) {
            ScheduleDecision::Wait(after) if after == advance => Ok(false),
            ScheduleDecision::Wait(after) => {
                store.pass_slots(row.id, row.revision, after, None).await
            }
            ScheduleDecision::Pass { skip, advance } => {
                self.record_skip(&row, advance, &skip).await
            }
            ScheduleDecision::Launch { slot_ms, advance } => {
                let slot = SlotKey {
                    schedule: row.id,
                    slot_ms,
                };
                let claim = SlotClaim {
                    slot,
                    revision: row.revision,
                    claim: Uuid::now_v7().to_string(),
                    at_ms: now_ms,
                    advance,
                };
                if store.claim_slot(claim).await? {
                    self.start_launch(row, slot);
                    return Ok(true);
                }
                // The schedule was edited meanwhile, or the slot is from an older timetable: move
                // past it.
                store.pass_slots(row.id, row.revision, advance, None).await
            }
        }
    }

    async fn record_skip(
        &self,
        row: &ScheduleRow,
        advance: store::ScheduleProgress,
        skip: &SkippedSlots,
    ) -> Result<bool, StoreError> {
        let text = serde_json::json!(skip).to_string();
        let store = &self.parts.store;
        let passed = store.pass_slots(row.id, row.revision, advance, Some(&text));
        if !passed.await? {
            return Ok(true);
        }
        let reason = skip.reason.as_str();
        tracing::warn!(
            schedule = row.id,
            ?skip,
            reason,
            "slots of a schedule are left out"
        );
        if let Some(firing) = to_slot_event(row, skip.first_ms) {
            let outcome = SlotOutcome::Skipped(skip.clone());
            self.parts.record.after_outcome(&firing, &outcome).await;
        }
        Ok(true)
    }

    /// Launches a claimed slot.
    pub(crate) fn start_launch(&mut self, row: ScheduleRow, slot: SlotKey) {
        self.under_way.insert(slot);
        self.launches
            .spawn(launch_slot(Arc::clone(&self.parts), row, slot));
    }

    fn handle_launched(&mut self, ended: Result<SlotKey, tokio::task::JoinError>) {
        match ended {
            Ok(slot) => _ = self.under_way.remove(&slot),
            // Not launched again, because the same bug would occur again.
            Err(error) => tracing::error!(%error, "a launch broke (a bug; please report it)"),
        }
    }

    /// Returns `true` if the job of the last slot is running or still being created.
    async fn is_running(&self, row: &ScheduleRow) -> Result<bool, StoreError> {
        let Some(last) = &row.last else {
            return Ok(false);
        };
        match last.job {
            Some(LaunchedJob::Job(number)) => {
                let job = self.parts.store.job(number).await?;
                Ok(job.is_some_and(|job| job.finished_ms.is_none()))
            }
            Some(LaunchedJob::Plan(number)) => {
                let job = self.parts.store.plan_job(number).await?;
                Ok(job.is_some_and(|job| job.finished_ms.is_none()))
            }
            None => Ok(!last.ended),
        }
    }
}

/// The compiled timetable; `None` if it was valid earlier but no longer is.
pub(crate) fn compile_timetable(row: &ScheduleRow) -> Option<CompiledTimetable> {
    let timetable: Timetable = serde_json::from_str(&row.edit.timetable).ok()?;
    CompiledTimetable::new(row.id, &timetable).ok()
}

pub(crate) fn to_slot_event(row: &ScheduleRow, slot_ms: i64) -> Option<SlotEvent> {
    Some(SlotEvent {
        slot: SlotKey {
            schedule: row.id,
            slot_ms,
        },
        kind: ScheduledJobKind::parse(&row.kind)?,
        name: row.edit.name.clone(),
        owner: row.owner.clone(),
        owner_id: row.owner_id.clone(),
    })
}
