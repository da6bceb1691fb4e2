//! Plans past their deadline.
//!
//! Invariant: such a plan ends like a plan that a user stops together with its jobs, whether it is
//! running, asleep or queued for memory.

use std::sync::Arc;

use serde_json::json;
use store::StoreError;

use super::plan_entry::PlanOperationError;
use super::{EngineTaskResult, PlanEngine, PlanEngineDependencies};
use crate::forced_end::{ForcedPlanEnd, end_plan};
use crate::worker::PlanIncarnation;

/// The error kind of a plan that ran past its deadline.
const TIMEOUT: &str = "tutti/plan-timeout";

// === impl PlanEngine ===

impl PlanEngine {
    /// Ends the plans whose deadline has passed.
    pub(super) fn end_overdue(&mut self) {
        let now_ms = self.parts.clock.steady_ms();
        let mut overdue = Vec::new();
        for entry in self.plans.values_mut() {
            if entry.until_ms.is_some_and(|until_ms| until_ms <= now_ms) {
                // Cleared so that the plan is ended once; set again if the store fails.
                entry.until_ms = None;
                overdue.push(entry.life);
            }
        }
        for life in overdue {
            let parts = Arc::clone(&self.parts);
            self.tasks.spawn(async move {
                let ended = time_out(&parts, life.plan).await;
                EngineTaskResult::TimedOut(life, ended)
            });
        }
    }

    pub(super) fn finish_timeout(
        &mut self,
        life: PlanIncarnation,
        ended: Result<bool, StoreError>,
    ) {
        let error = match ended.map_err(PlanOperationError::from) {
            Ok(true) => return self.forget(life.plan),
            // The plan ended by itself at the same time, and is removed like any other.
            Ok(false) => return,
            Err(PlanOperationError::Lost(error)) => return self.lost = Some(error),
            Err(trouble) => trouble,
        };
        tracing::error!(
            plan = life.plan,
            ?error,
            "a plan whose time is over is ended later"
        );
        let now_ms = self.parts.clock.steady_ms();
        if let Some(entry) = self.plans.get_mut(&life.plan) {
            entry.until_ms = Some(now_ms);
        }
    }
}

async fn time_out(parts: &PlanEngineDependencies, plan: i64) -> Result<bool, StoreError> {
    let run = parts.store.plan_run(plan).await?;
    let seconds = run.and_then(|run| run.timeout_ms).unwrap_or(0) / 1_000;
    let ending = ForcedPlanEnd {
        kind: TIMEOUT,
        msg: format!(
            "the plan took longer than the {seconds} seconds that it may; its jobs were stopped"
        ),
        details: json!({"timeout_seconds": seconds}),
        jobs: true,
    };
    end_plan(
        &parts.store,
        &*parts.effects,
        plan,
        ending,
        parts.clock.now_ms(),
    )
    .await
}
