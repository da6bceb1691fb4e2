//! Ending a plan from outside. Main function: [`end_plan`].
//!
//! Invariant: the end is stored first, so that the store refuses all later writes of the plan; only
//! then its jobs are stopped.

use serde_json::{Value, json};
use store::{NewPlanEvent, PlanOutcome, Store, StoreError};

use crate::effects::PlanEffects;

/// The reason for ending a plan from outside.
pub(crate) struct ForcedPlanEnd {
    /// Error kind, for programs.
    pub(crate) kind: &'static str,
    /// Error message, for users.
    pub(crate) msg: String,
    /// Further details, for programs.
    pub(crate) details: Value,
    /// True if the jobs of the plan are stopped too.
    pub(crate) jobs: bool,
}

/// Ends a plan as failed. Returns false if it had ended already; it is unchanged then.
pub(crate) async fn end_plan(
    store: &Store,
    effects: &dyn PlanEffects,
    number: i64,
    ending: ForcedPlanEnd,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let ForcedPlanEnd {
        kind,
        msg,
        details,
        jobs,
    } = ending;
    let result = json!({"kind": kind, "msg": msg, "details": details});
    let outcome = PlanOutcome {
        state: "failure".to_owned(),
        result: result.to_string(),
        event: NewPlanEvent {
            kind: "plan_failed".to_owned(),
            at_ms: now_ms,
            details: json!({"plan-id": number.to_string()}).to_string(),
            message: msg,
        },
    };
    if !store.finish_plan_job(number, &outcome).await? {
        return Ok(false);
    }
    if jobs {
        let states = store.plan_steps(number).await?;
        for history in states.chunk_by(|one, next| one.job == next.job) {
            if let Some(last) = history.last()
                && !matches!(last.state.as_str(), "stopped" | "finished" | "failed")
            {
                effects.stop(last.job).await;
            }
        }
    }
    Ok(true)
}
