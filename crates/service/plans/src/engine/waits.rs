//! The waits of plans: for jobs, time, answers of users, and effects on the server.
//!
//! Invariant: each wait is a task of the engine and needs no plan in memory. Its outcome is
//! delivered to the plan, or wakes it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::plan_entry::EnginePlanState;
use super::{EngineTaskResult, PlanEngine, PlanEngineDependencies};
use crate::core::{EffectStart, RecordedStep};
use crate::step::{StepId, StepOutcome};
use crate::worker::{PlanIncarnation, WorkerCommand};

// === impl PlanEngine ===

impl PlanEngine {
    pub(super) fn wait(&mut self, life: PlanIncarnation, step: StepId, start: EffectStart) {
        if self.current_plan(life).is_none() {
            return;
        }
        let parts = Arc::clone(&self.parts);
        let id = step.clone();
        let handle = self.tasks.spawn(async move {
            match await_outcome(&parts, life.plan, &id, start).await {
                Some(outcome) => EngineTaskResult::Arrived(life, id, outcome),
                None => EngineTaskResult::NoOutcome,
            }
        });
        if let Some(entry) = self.current_plan(life) {
            entry.wait(step, handle);
        }
    }

    /// Starts the waits of a sleeping plan again.
    pub(super) fn wait_again(&mut self, life: PlanIncarnation, recorded: &RecordedStep) {
        let start = match recorded {
            // The outcome has already arrived.
            RecordedStep {
                outcome: Some(_), ..
            } => EffectStart::Until(0),
            RecordedStep { job: Some(job), .. } => EffectStart::Await(*job),
            RecordedStep {
                until_ms: Some(until_ms),
                ..
            } => EffectStart::Until(*until_ms),
            _ => EffectStart::Answer,
        };
        self.wait(life, recorded.id.clone(), start);
    }

    /// Handles an outcome that a plan waits for.
    pub(super) fn accept_outcome(
        &mut self,
        life: PlanIncarnation,
        step: StepId,
        outcome: StepOutcome,
    ) {
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        entry.remove_wait(&step);
        match entry.state {
            EnginePlanState::Running => {
                self.send_to_worker(life, WorkerCommand::Arrived(life, step, outcome))
            }
            EnginePlanState::Asleep => self.enqueue(life.plan),
            EnginePlanState::FallingAsleep(_) => entry.state = EnginePlanState::FallingAsleep(true),
            // The plan requests the outcome again when it is loaded.
            EnginePlanState::Queued
            | EnginePlanState::Loading
            | EnginePlanState::Paused
            | EnginePlanState::Ending => {}
        }
    }

    /// Handles the answer of a user, which is already stored.
    pub(super) fn accept_answer(&mut self, plan: i64, step: StepId, outcome: StepOutcome) {
        let Some(entry) = self.plans.get_mut(&plan) else {
            return;
        };
        let life = entry.life;
        entry.drop_wait(&step);
        self.accept_outcome(life, step, outcome);
    }
}

/// Waits until the outcome arrives; `None` if it is delivered in another way.
async fn await_outcome(
    parts: &PlanEngineDependencies,
    plan: i64,
    step: &StepId,
    start: EffectStart,
) -> Option<StepOutcome> {
    match start {
        EffectStart::Until(until_ms) => {
            let ms = until_ms.saturating_sub(parts.clock.steady_ms());
            tokio::time::sleep(Duration::from_millis(ms.try_into().unwrap_or(0))).await;
            Some(StepOutcome::ok(Value::Null))
        }
        EffectStart::RunLocalEffect(deed) => Some(deed.perform().await),
        // The answer may have arrived while the plan was being loaded.
        EffectStart::Answer => answer(parts, plan, step).await,
        EffectStart::Await(job) => loop {
            match parts.effects.outcome(job).await {
                Ok(outcome) => return Some(outcome),
                Err(error) => {
                    tracing::warn!(plan, %job, %error, "the end of a plan's job is asked for again");
                    tokio::time::sleep(parts.config.store_retry).await;
                }
            }
        },
        EffectStart::Job(..) => None,
    }
}

async fn answer(parts: &PlanEngineDependencies, plan: i64, step: &StepId) -> Option<StepOutcome> {
    let key = crate::core::step_key(step);
    loop {
        match parts.store.plan_journal_step(plan, &key).await {
            Ok(row) => {
                let row = row?;
                return super::load::to_recorded_step(&row, parts).outcome;
            }
            Err(error) if error.is_final() => return None,
            Err(error) => {
                tracing::warn!(plan, %error, "the answer to a plan is looked for again");
                tokio::time::sleep(parts.config.store_retry).await;
            }
        }
    }
}
