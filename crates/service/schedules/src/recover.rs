//! Takes a claimed slot to its outcome, and recovers slots whose launch was interrupted.
//!
//! Invariant: after a crash a claimed slot with a job has run; one without a job has not, and it
//! is launched if that is still allowed, or reported as interrupted. Both are certain, because job
//! and slot are written in one transaction.

use std::sync::Arc;

use store::{OpenSlot, ScheduleRow, SlotKey, StoreError};

use crate::actor::{ScheduleActor, compile_timetable, to_slot_event};
use crate::compiled_timetable::to_milliseconds;
use crate::defaults::{LAUNCH_PATIENCE, ON_TIME_MS, RETRY};
use crate::draft::to_slot_job;
use crate::handle::ScheduleServices;
use crate::launch::{BROKEN, INTERRUPTED, SlotOutcome, SubmissionError, UNKNOWN, UNRECORDED};
use crate::timetable::MissedSlotPolicy;

// === impl ScheduleActor ===

impl ScheduleActor {
    /// Handles the slots that were claimed and have no outcome.
    pub(crate) async fn recover(&mut self) -> Result<(), StoreError> {
        let now_ms = self.parts.clock.now_ms();
        for open in self.parts.store.open_slots().await? {
            if self.under_way.contains(&open.slot) {
                continue;
            }
            if open.job.is_some() {
                self.parts.store.end_slot(open.slot, None).await?;
                continue;
            }
            let row = self.parts.store.schedule(open.slot.schedule).await?;
            match row {
                Some(row) if may_still_run(&row, &open, now_ms) => {
                    tracing::info!(slot = ?open.slot, "a claimed slot was not launched; it is now");
                    self.start_launch(row, open.slot);
                }
                row => self.handle_interrupted(row.as_ref(), open.slot).await?,
            }
        }
        Ok(())
    }

    async fn handle_interrupted(
        &self,
        row: Option<&ScheduleRow>,
        slot: SlotKey,
    ) -> Result<(), StoreError> {
        let error = SubmissionError::new(
            INTERRUPTED,
            "the server went down before it made the job, and came back too late or in a blackout; nothing was started",
        );
        tracing::warn!(?slot, %error, "a slot of a schedule has no job");
        self.parts
            .store
            .end_slot(slot, Some(&error.to_json()))
            .await?;
        if let Some(firing) = row.and_then(|row| to_slot_event(row, slot.slot_ms)) {
            let outcome = SlotOutcome::Refused(error);
            self.parts.record.after_outcome(&firing, &outcome).await;
        }
        Ok(())
    }
}

/// Applies the rules for a slot that could not start in time.
fn may_still_run(row: &ScheduleRow, open: &OpenSlot, now_ms: i64) -> bool {
    let Some(plan) = compile_timetable(row) else {
        return false;
    };
    let grace_ms = match plan.missed {
        MissedSlotPolicy::RunOnce { grace_seconds } => {
            to_milliseconds(grace_seconds).max(ON_TIME_MS)
        }
        MissedSlotPolicy::Skip => ON_TIME_MS,
    };
    let late_ms = now_ms.saturating_sub(open.claimed_ms);
    let has_ended = plan.is_over(now_ms) && late_ms > ON_TIME_MS;
    row.enabled && late_ms <= grace_ms && plan.blocked_until(now_ms).is_none() && !has_ended
}

/// Launches a claimed slot and records the outcome, with retries while the store is unavailable.
pub(crate) async fn launch_slot(
    parts: Arc<ScheduleServices>,
    row: ScheduleRow,
    slot: SlotKey,
) -> SlotKey {
    // In a separate task, so that a panic in it also leads to an outcome.
    let working = tokio::spawn(attempt_launch(Arc::clone(&parts), row.clone(), slot));
    let outcome = working.await.unwrap_or_else(|error| {
        let msg = format!("the launch broke (a bug; please report it): {error}");
        Err(SubmissionError::new(BROKEN, msg))
    });
    let text = outcome.as_ref().err().map(SubmissionError::to_json);
    log_outcome(slot, &outcome);
    loop {
        match parts.store.end_slot(slot, text.as_deref()).await {
            Ok(()) => break,
            Err(error) if error.is_final() => break,
            Err(error) => {
                tracing::warn!(%error, ?slot, "cannot write what came of a slot; tried again");
                // The slot stays open, and the next start of the server handles it.
                if parts.stopped.is_cancelled() {
                    break;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
    if let Some(firing) = to_slot_event(&row, slot.slot_ms) {
        let outcome = outcome.map_or_else(SlotOutcome::Refused, SlotOutcome::Launched);
        parts.record.after_outcome(&firing, &outcome).await;
    }
    slot
}

fn log_outcome(slot: SlotKey, outcome: &Result<store::LaunchedJob, SubmissionError>) {
    let schedule = slot.schedule;
    match outcome {
        Ok(job) => tracing::info!(schedule, %job, "a schedule started a job"),
        Err(error) if error.is_normal() => {
            tracing::info!(
                schedule,
                "a slot of a schedule has no job: it finds no node"
            );
        }
        Err(error) => {
            let kind = error.kind.as_str();
            tracing::warn!(schedule, kind, "a slot of a schedule has no job");
        }
    }
}

async fn attempt_launch(
    parts: Arc<ScheduleServices>,
    row: ScheduleRow,
    slot: SlotKey,
) -> Result<store::LaunchedJob, SubmissionError> {
    let job = to_slot_job(&row, &parts.seal)?;
    let firing = to_slot_event(&row, slot.slot_ms)
        .ok_or_else(|| SubmissionError::new(BROKEN, "this version does not know its type"))?;
    if let Err(why) = parts.record.before_start(&firing).await {
        let msg = format!("nothing was started, because it could not be recorded: {why}");
        return Err(SubmissionError::new(UNRECORDED, msg));
    }
    let launching = parts.launch.launch(&job, slot);
    match tokio::time::timeout(LAUNCH_PATIENCE, launching).await {
        Ok(outcome) => outcome,
        Err(_) => Err(SubmissionError::new(
            UNKNOWN,
            format!(
                "no answer within {} seconds; whether a job was made is not known: if one is, it is \
                 shown here",
                LAUNCH_PATIENCE.as_secs()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    use super::*;

    /// Keeps the levels of messages.
    #[derive(Default)]
    struct LoggedLevels(Mutex<Vec<Level>>);

    impl Subscriber for LoggedLevels {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push(*event.metadata().level());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn only_a_slot_that_finds_no_node_is_no_warning() {
        let slot = SlotKey {
            schedule: 1,
            slot_ms: 0,
        };
        for (kind, level) in [
            ("puppetlabs.orchestrator/empty-target", Level::INFO),
            ("puppetlabs.orchestrator/not-permitted", Level::WARN),
            (INTERRUPTED, Level::WARN),
        ] {
            let levels = Arc::<LoggedLevels>::default();
            let refused = Err(SubmissionError::new(kind, "no"));
            let dispatch =
                tracing::Dispatch::from(Arc::clone(&levels) as Arc<dyn Subscriber + Send + Sync>);
            tracing::dispatcher::with_default(&dispatch, || log_outcome(slot, &refused));
            assert_eq!(*levels.0.lock().unwrap(), [level], "{kind}");
        }
    }
}
