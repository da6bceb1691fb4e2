//! Reads the journal of plans that this server runs itself, and writes the answers to its steps:
//! [`PlanAnswer`].
//!
//! Invariant: a recorded outcome is never overwritten, and nothing is written to a plan job that is
//! over.

use crate::StoreError;
use crate::plan_step_row::{PlanStepKey, PlanStepRow, step_columns, steps};
use crate::store::Store;
use crate::value::values;
use crate::writing::plan_events::NewPlanEvent;
use crate::writing::plan_journal::PlanChange;

/// The answer to a step that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAnswer {
    /// Key of the step.
    pub key: PlanStepKey,
    /// The answer as JSON; `None` if it is secret.
    pub outcome: Option<String>,
    /// The secret answer, sealed; `None` if it is not secret.
    pub sealed: Option<Vec<u8>>,
    /// The event of the plan job that is written with the answer.
    pub event: NewPlanEvent,
}

const ANSWER: &str = "UPDATE plan_journal SET state = 'done', outcome = $4, sealed = $5, \
     ended_ms = $6 WHERE plan_job = $1 AND branch = $2 AND step = $3 AND state = 'begun' \
     AND asks > 0 AND EXISTS (SELECT 1 FROM plan_jobs WHERE number = $1 AND state = 'running')";

const PAGE: &str = steps!(
    "WHERE plan_job = $1 AND (branch > $2 OR (branch = $2 AND step > $3)) \
     ORDER BY branch, step LIMIT $4"
);
const ONE: &str = steps!("WHERE plan_job = $1 AND branch = $2 AND step = $3");
/// Steps that sleeping plans wait for.
const AWAITED: &str = steps!(
    "WHERE delivered IS NULL AND state <> 'dropped' AND plan_job IN (SELECT r.plan_job \
     FROM plan_runs r JOIN plan_jobs p ON p.number = r.plan_job \
     WHERE p.state = 'running' AND r.asleep = 1) ORDER BY plan_job, branch, step"
);

pub(crate) const STATEMENTS: &[&str] = &[ANSWER, PAGE, ONE, AWAITED];

/// Position before every step.
const FIRST: i64 = -1;

// === impl Store ===

impl Store {
    /// Writes changes of a plan's journal in one transaction. `false`: one of them was not applied,
    /// since the plan job is over or the step has another end.
    pub async fn change_plan(
        &self,
        plan_job: i64,
        changes: &[PlanChange],
    ) -> Result<bool, StoreError> {
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            change.add_statements(plan_job, &mut steps);
        }
        let rows = self.execute_all(steps).await?;
        Ok(rows.iter().all(|changed| *changed > 0))
    }

    /// Answers a step that waits for a person. `false`: the step does not wait any more.
    pub async fn answer_plan_step(
        &self,
        plan_job: i64,
        answer: &PlanAnswer,
    ) -> Result<bool, StoreError> {
        let PlanAnswer {
            key,
            outcome,
            sealed,
            event,
        } = answer;
        let values = values![plan_job, key, outcome, sealed, event.at_ms];
        let rows = self.execute(ANSWER, values).await?;
        if rows == 0 {
            return Ok(false);
        }
        self.insert_plan_event(plan_job, event).await?;
        Ok(true)
    }

    /// Steps of a plan after `after`, by branch and number.
    pub async fn plan_journal(
        &self,
        plan_job: i64,
        after: Option<&PlanStepKey>,
        limit: usize,
    ) -> Result<Vec<PlanStepRow>, StoreError> {
        let first = PlanStepKey {
            branch: String::new(),
            step: FIRST,
        };
        let after = after.unwrap_or(&first);
        self.query(PAGE, values![plan_job, after, limit]).await
    }

    /// The step with this key.
    pub async fn plan_journal_step(
        &self,
        plan_job: i64,
        key: &PlanStepKey,
    ) -> Result<Option<PlanStepRow>, StoreError> {
        self.query_one(ONE, values![plan_job, key]).await
    }

    /// The steps that sleeping plans wait for, by plan job, as a starting server needs them.
    pub async fn awaited_plan_steps(&self) -> Result<Vec<PlanStepRow>, StoreError> {
        self.query(AWAITED, Vec::new()).await
    }
}
