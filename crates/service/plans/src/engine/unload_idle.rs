//! Removal of idle plans from memory.
//!
//! Invariant: a plan counts as asleep only after the store has recorded it, so that a restart need
//! not evaluate ten thousand plans to find that they wait.

use std::sync::Arc;

use tokio::time::Instant;

use super::plan_entry::{EnginePlanState, PlanOperationError};
use super::{EngineTaskResult, PlanEngine};
use crate::core::IdlePlan;
use crate::worker::PlanIncarnation;

// === impl PlanEngine ===

impl PlanEngine {
    /// Handles the report that a plan is idle after it handled `taken` commands.
    pub(super) fn note_idle(&mut self, life: PlanIncarnation, rest: IdlePlan, taken: u64) {
        let long_ms = i64::try_from(self.parts.config.long_sleep.as_millis()).unwrap_or(i64::MAX);
        let from_ms = self.parts.clock.steady_ms().saturating_add(long_ms);
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        // The plan will move if a command is under way to it or one of its jobs is being created.
        if entry.state != EnginePlanState::Running || entry.orders != taken || entry.starting > 0 {
            return;
        }
        let long = rest.long_until_ms.is_some_and(|until| until >= from_ms);
        if rest.evictable && long {
            return self.fall_asleep(life);
        }
        let since = entry.rest.map_or_else(Instant::now, |(since, _)| since);
        entry.rest = Some((since, rest));
    }

    /// Removes plans that have been idle for long enough.
    pub(super) fn unload_idle_plans(&mut self, now: Instant) {
        let config = &self.parts.config;
        let idle = if self.queue.is_empty() {
            config.idle
        } else {
            config.idle_when_full
        };
        let idle_since = |since: Instant| now.saturating_duration_since(since) >= idle;
        let sleepy: Vec<PlanIncarnation> = self
            .plans
            .values()
            .filter(|entry| entry.state == EnginePlanState::Running)
            .filter(|entry| {
                let rests = entry.rest.as_ref();
                rests.is_some_and(|(since, rest)| rest.evictable && idle_since(*since))
            })
            .map(|entry| entry.life)
            .collect();
        for life in sleepy {
            self.fall_asleep(life);
        }
    }

    /// Removes the plan from memory; its waits continue.
    fn fall_asleep(&mut self, life: PlanIncarnation) {
        self.unload(life.plan, EnginePlanState::FallingAsleep(false));
        let parts = Arc::clone(&self.parts);
        self.tasks.spawn(async move {
            let marked = parts.store.plan_sleeps(life.plan, true).await;
            EngineTaskResult::Asleep(life, marked.map_err(PlanOperationError::from))
        });
    }

    pub(super) fn finish_sleep(
        &mut self,
        life: PlanIncarnation,
        marked: Result<(), PlanOperationError>,
    ) {
        if let Err(trouble) = marked {
            return self.handle_operation_error(life, trouble);
        }
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        let wanted = entry.state == EnginePlanState::FallingAsleep(true);
        entry.state = EnginePlanState::Asleep;
        if wanted {
            self.enqueue(life.plan);
        }
    }
}
