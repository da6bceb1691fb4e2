//! The waits of plans: for jobs, time, answers of users, and effects on this machine.
//!
//! Invariant: each wait is a task of the engine, and it needs no plan in memory. Its outcome is
//! delivered to the plan, or wakes it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::book::Where;
use super::{Done, Engine, Parts};
use crate::core::{Recorded, Start};
use crate::step::{Outcome, StepId};
use crate::worker::{Life, Order};

// === impl Engine ===

impl Engine {
    pub(super) fn wait(&mut self, life: Life, step: StepId, start: Start) {
        if self.alive(life).is_none() {
            return;
        }
        let parts = Arc::clone(&self.parts);
        let id = step.clone();
        let handle = self.tasks.spawn(async move {
            match come(&parts, life.plan, &id, start).await {
                Some(outcome) => Done::Arrived(life, id, outcome),
                None => Done::Nothing,
            }
        });
        if let Some(entry) = self.alive(life) {
            entry.wait(step, handle);
        }
    }

    /// Starts the waits of a sleeping plan.
    pub(super) fn wait_again(&mut self, life: Life, recorded: &Recorded) {
        let start = match recorded {
            // The outcome has already arrived.
            Recorded {
                outcome: Some(_), ..
            } => Start::Until(0),
            Recorded { job: Some(job), .. } => Start::Await(*job),
            Recorded {
                until_ms: Some(until_ms),
                ..
            } => Start::Until(*until_ms),
            _ => Start::Answer,
        };
        self.wait(life, recorded.id.clone(), start);
    }

    /// Handles the arrival of an outcome that a plan waits for.
    pub(super) fn arrived(&mut self, life: Life, step: StepId, outcome: Outcome) {
        let Some(entry) = self.alive(life) else {
            return;
        };
        entry.arrived(&step);
        match entry.at {
            Where::Running => self.order(life, Order::Arrived(life, step, outcome)),
            Where::Asleep => self.enqueue(life.plan),
            Where::FallingAsleep(_) => entry.at = Where::FallingAsleep(true),
            // The plan will request it again.
            Where::Queued | Where::Loading | Where::Paused | Where::Ending => {}
        }
    }

    /// Handles the answer of a user, which is already in the store.
    pub(super) fn answered(&mut self, plan: i64, step: StepId, outcome: Outcome) {
        let Some(entry) = self.plans.get_mut(&plan) else {
            return;
        };
        let life = entry.life;
        entry.drop_wait(&step);
        self.arrived(life, step, outcome);
    }
}

/// Waits until the outcome arrives; `None` if it is reported by other means.
async fn come(parts: &Parts, plan: i64, step: &StepId, start: Start) -> Option<Outcome> {
    match start {
        Start::Until(until_ms) => {
            let ms = until_ms.saturating_sub(parts.clock.steady_ms());
            tokio::time::sleep(Duration::from_millis(ms.try_into().unwrap_or(0))).await;
            Some(Outcome::ok(Value::Null))
        }
        Start::Do(deed) => Some(deed.act().await),
        // The answer may have come while the plan was brought into memory.
        Start::Answer => answer(parts, plan, step).await,
        Start::Await(job) => loop {
            match parts.effects.outcome(job).await {
                Ok(outcome) => return Some(outcome),
                Err(error) => {
                    tracing::warn!(plan, %job, %error, "the end of a plan's job is asked for again");
                    tokio::time::sleep(parts.config.store_retry).await;
                }
            }
        },
        Start::Job(..) => None,
    }
}

async fn answer(parts: &Parts, plan: i64, step: &StepId) -> Option<Outcome> {
    let key = crate::core::key(step);
    loop {
        match parts.store.plan_journal_step(plan, &key).await {
            Ok(row) => {
                let row = row?;
                return super::load::recorded(&row, parts).outcome;
            }
            Err(error) if error.is_end() => return None,
            Err(error) => {
                tracing::warn!(plan, %error, "the answer to a plan is looked for again");
                tokio::time::sleep(parts.config.store_retry).await;
            }
        }
    }
}
