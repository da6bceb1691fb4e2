//! Plans that this server runs itself: the data to run them again, their ends and their
//! resumptions.
//!
//! Invariant: the end of a plan ([`PlanRunRow`]) and the last changes of its journal are one
//! transaction, and so are the cut of a failed plan's journal and the restart of the plan.

use crate::StoreError;
use crate::plan_jobs::{self, NewPlanJob, PlanOutcome};
use crate::plan_step_row::PlanStepKey;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;
use crate::writing::plan_events::{self, NewPlanEvent};
use crate::writing::plan_journal::PlanChange;
use crate::writing::slots::SlotKey;

row! {
    /// A plan of this server that is not over.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PlanRunRow {
        /// Number of the plan job.
        pub plan_job: i64,
        /// True if every branch waits and no part of the plan is in memory.
        pub asleep: bool,
        /// Time limit in milliseconds, counted from the start or resumption; `None`: no limit.
        pub timeout_ms: Option<i64>,
        /// Deadline that results from the limit, in milliseconds since 1970; `None`: no limit.
        pub until_ms: Option<i64>,
    } read select plan_runs from "plan_runs"
}

const INSERT: &str = "INSERT INTO plan_runs (plan_job, sealed, asleep, timeout_ms, until_ms) \
     VALUES ((SELECT last FROM plan_counters WHERE name = 'job'), $1, 0, CAST($2 AS BIGINT), \
     CAST($3 AS BIGINT) + CAST($2 AS BIGINT))";
const ONE: &str = plan_runs!("WHERE plan_job = $1");
const UNFINISHED: &str = plan_runs!(
    "JOIN plan_jobs p ON p.number = plan_job WHERE p.state = 'running' ORDER BY plan_job"
);
const SEALED: &str = "SELECT sealed FROM plan_runs WHERE plan_job = $1";
const SLEEP: &str = "UPDATE plan_runs SET asleep = $2 WHERE plan_job = $1";

macro_rules! failed {
    () => {
        " AND EXISTS (SELECT 1 FROM plan_jobs p JOIN plan_runs r ON r.plan_job = p.number \
         WHERE p.number = $1 AND p.state = 'failure')"
    };
}

/// Position after which the plan's history is undone: the delivery of the step's outcome or, if the
/// outcome was never delivered, no position.
macro_rules! cut {
    () => {
        "(SELECT COALESCE(delivered, 9223372036854775807) FROM plan_journal \
         WHERE plan_job = $1 AND branch = $2 AND step = $3)"
    };
}

const FORGET: &str = concat!(
    "DELETE FROM plan_journal WHERE plan_job = $1 AND began > ",
    cut!(),
    failed!()
);
const UNSEE: &str = concat!(
    "UPDATE plan_journal SET delivered = NULL WHERE plan_job = $1 AND delivered > ",
    cut!(),
    failed!()
);
const REMOVE: &str = concat!(
    "DELETE FROM plan_journal WHERE plan_job = $1 AND branch = $2 AND step = $3",
    failed!()
);
const AWAKE: &str = concat!(
    "UPDATE plan_runs SET asleep = 0, until_ms = CAST($2 AS BIGINT) + timeout_ms \
     WHERE plan_job = $1",
    failed!()
);
const REOPEN: &str = concat!(
    "UPDATE plan_jobs SET state = 'running', result = NULL, finished_ms = NULL, changed_ms = $2 \
     WHERE number = $1",
    failed!()
);

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT, ONE, UNFINISHED, SEALED, SLEEP, FORGET, UNSEE, REMOVE, AWAKE, REOPEN,
];

// === impl Store ===

impl Store {
    /// Writes a plan that this server runs, its time limit, and the slot of the schedule that it
    /// runs for. Returns the number of its plan job. A second plan for a slot is refused.
    pub async fn insert_plan_run(
        &self,
        new: &NewPlanJob,
        sealed: Vec<u8>,
        timeout_ms: Option<i64>,
        slot: Option<SlotKey>,
    ) -> Result<i64, StoreError> {
        let mut steps = plan_jobs::insert_statements(new);
        let values = values![sealed, timeout_ms, new.created_ms];
        steps.push(SqlStatement::new(INSERT, values));
        steps.extend(slot.map(SlotKey::launch_plan));
        self.execute_all(steps).await?;
        self.plan_job_of_request(&new.request_id).await
    }

    /// A plan that this server runs or ran, by the number of its plan job.
    pub async fn plan_run(&self, plan_job: i64) -> Result<Option<PlanRunRow>, StoreError> {
        self.query_one(ONE, values![plan_job]).await
    }

    /// The plans that are not over, as a starting server needs them.
    pub async fn unfinished_plans(&self) -> Result<Vec<PlanRunRow>, StoreError> {
        self.query(UNFINISHED, Vec::new()).await
    }

    /// The sealed request of a plan.
    pub async fn sealed_plan_request(&self, plan_job: i64) -> Result<Option<Vec<u8>>, StoreError> {
        self.query_one(SEALED, values![plan_job]).await
    }

    /// Records that a plan sleeps or has been woken.
    pub async fn plan_sleeps(&self, plan_job: i64, asleep: bool) -> Result<(), StoreError> {
        self.execute(SLEEP, values![plan_job, asleep])
            .await
            .map(drop)
    }

    /// Writes the last changes of a plan's journal and its end. `false`: the plan is over already,
    /// and nothing was written.
    pub async fn end_plan_run(
        &self,
        plan_job: i64,
        changes: &[PlanChange],
        outcome: &PlanOutcome,
    ) -> Result<bool, StoreError> {
        let mut steps = Vec::with_capacity(changes.len() + 3);
        for change in changes {
            change.add_statements(plan_job, &mut steps);
        }
        steps.extend(plan_jobs::finish_statements(plan_job, outcome));
        self.execute_to_last(steps).await
    }

    /// Resumes a failed plan, as if the outcome of this step had never been delivered: the step and
    /// everything started afterwards is deleted. Without a step the whole journal stays. `false`:
    /// the plan has not failed, and nothing was written.
    pub async fn reopen_plan(
        &self,
        plan_job: i64,
        from: Option<&PlanStepKey>,
        event: &NewPlanEvent,
    ) -> Result<bool, StoreError> {
        let mut steps = Vec::new();
        if let Some(from) = from {
            let undo = |sql| SqlStatement::new(sql, values![plan_job, from]);
            steps.extend([FORGET, UNSEE, REMOVE].map(undo));
        }
        for sql in [AWAKE, REOPEN] {
            steps.push(SqlStatement::new(sql, values![plan_job, event.at_ms]));
        }
        let reopened = steps.len() - 1;
        steps.extend(plan_events::insert_statements(plan_job, event));
        let rows = self.execute_all(steps).await?;
        Ok(rows.get(reopened).is_some_and(|changed| *changed > 0))
    }
}
