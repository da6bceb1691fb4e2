//! The journal of a plan as it is shown to users: [`PlanStepListRow`].
//!
//! Invariant: steps are in the order in which they started, and without their outcomes, which may
//! be large or secret.

use crate::page::ListPage;
use crate::plan_step_row::{AwaitedAnswer, PlanStepKey};
use crate::rows::row;
use crate::store::Store;
use crate::value::{ToValues as _, values};
use crate::{JobNumber, StoreError};

row! {
    /// A step as it is shown to users.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepListRow {
        /// Key of the step.
        pub key: PlanStepKey = "branch, step",
        /// Kind of the step, such as `task`, `sleep` or `time`.
        pub kind: String,
        /// Position in the plan's code.
        pub site: String,
        /// Arguments without secrets, possibly truncated; JSON unless truncated.
        pub arguments: String,
        /// State: `running`, `sleeping`, `waiting` (for a person), `done`, `failed` or `dropped`.
        pub state: String = state!(),
        /// The answer of a person that the step waits for.
        pub asks: AwaitedAnswer,
        /// The job that the step started.
        pub job: Option<JobNumber>,
        /// End of its sleep in milliseconds since 1970; `None` if it does not sleep.
        pub until_ms: Option<i64>,
        /// Time of the start in milliseconds since 1970.
        pub begun_ms: i64,
        /// Time of the end in milliseconds since 1970; `None` before.
        pub ended_ms: Option<i64>,
    } read select steps from "plan_journal"
}

row! {
    /// A step of a plan that waits for a person.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanQuestionRow {
        /// Number of the plan job.
        pub plan_job: i64,
        /// Key of the step.
        pub key: PlanStepKey = "branch, step",
        /// Arguments of the step without secrets, possibly truncated; JSON unless truncated.
        pub arguments: String,
        /// Kind of answer: shown, or stored sealed.
        pub asks: AwaitedAnswer,
        /// Time of the question in milliseconds since 1970.
        pub begun_ms: i64,
    } read select questions from "plan_journal"
}

macro_rules! state {
    () => {
        "CASE WHEN state <> 'begun' THEN state WHEN asks > 0 THEN 'waiting' \
         WHEN until_ms IS NOT NULL THEN 'sleeping' ELSE 'running' END"
    };
}

macro_rules! matching {
    () => {
        concat!(
            "WHERE plan_job = $1 AND (CAST($2 AS TEXT) IS NULL OR ",
            state!(),
            " = CAST($2 AS TEXT))"
        )
    };
}

const PAGE: &str = steps!(matching!(), " ORDER BY began LIMIT $3 OFFSET $4");
const COUNT: &str = concat!("SELECT COUNT(*) FROM plan_journal ", matching!());

/// The conditions are those of the partial index, so that it is used.
const QUESTIONS: &str = questions!(
    "WHERE asks > 0 AND state = 'begun' AND plan_job >= $1 AND plan_job <= $2 \
     AND EXISTS (SELECT 1 FROM plan_jobs WHERE number = plan_job AND plan_jobs.state = 'running') \
     ORDER BY plan_job, began"
);

pub(crate) const STATEMENTS: &[&str] = &[PAGE, COUNT, QUESTIONS];

// === impl Store ===

impl Store {
    /// One page of the steps of a plan, and their number without paging; the steps in one state, or
    /// all.
    pub async fn plan_step_list(
        &self,
        plan_job: i64,
        state: Option<&str>,
        page: ListPage,
    ) -> Result<(Vec<PlanStepListRow>, u64), StoreError> {
        let mut values = values![plan_job, state];
        let total = self.count(COUNT, values.clone()).await?;
        page.add_to(&mut values);
        let rows = self.query(PAGE, values).await?;
        Ok((rows, total))
    }

    /// The open questions of the plan jobs from `first` to `last`.
    pub async fn plan_questions(
        &self,
        first: i64,
        last: i64,
    ) -> Result<Vec<PlanQuestionRow>, StoreError> {
        self.query(QUESTIONS, values![first, last]).await
    }
}
