//! The journal of plans that this server runs itself: the started steps and their outcomes.
//!
//! [`PlanStepRow`] is a stored step, [`PlanChange`] a change of the journal. Invariants: a step is
//! started once (its key is unique, and the job that it starts is written in the same transaction),
//! a recorded outcome is never overwritten, and nothing is written to a plan job that is over.

use crate::plan_events::{self, NewPlanEvent};
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;
use crate::{JobNumber, StoreError};

row! {
    /// Identity of a step within its plan.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct PlanStepKey {
        /// Branch of the step: empty for the plan itself, `2.1` for the first branch of its second
        /// step.
        pub branch: String,
        /// Number of the step within the branch.
        pub step: i64,
    } read write
}

/// A person's answer that a step waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AwaitedAnswer {
    /// The step waits for no answer.
    #[default]
    NotAwaited,
    /// The step waits for an answer that may be shown.
    Plain,
    /// The step waits for an answer that is stored sealed.
    Sealed,
}

row! {
    /// A step that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewPlanStep {
        /// Key of the step.
        pub key: PlanStepKey = "branch, step",
        /// Kind of the step, such as `task`, `sleep` or `time`.
        pub kind: String,
        /// Position in the plan's code.
        pub site: String,
        /// Arguments to be shown, truncated and without secrets.
        pub arguments: String,
        /// Hash of the kind and the complete arguments, in hexadecimal digits.
        pub hash: String,
        /// State: `begun`, or `done` for a step that is over at once.
        pub state: String,
        /// Position of the start among all starts and deliveries of the plan.
        pub began: i64,
        /// Position at which the outcome was delivered to the plan; `None` before.
        pub delivered: Option<i64>,
        /// End of the wait in milliseconds since 1970, if it is known.
        pub until_ms: Option<i64>,
        /// The answer of a person that the step waits for.
        pub asks: AwaitedAnswer,
        /// Outcome of the step as JSON; `None` if it has none.
        pub outcome: Option<String>,
        /// Time of the start in milliseconds since 1970.
        pub begun_ms: i64,
    } read write columns step_columns
}

row! {
    /// The end of a step.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepEnd {
        /// Key of the step.
        pub key: PlanStepKey,
        /// Last state: `done`, `failed` or `dropped`.
        pub state: String,
        /// Position at which the outcome is delivered to the plan; `None` if it is not.
        pub delivered: Option<i64>,
        /// Outcome as JSON; `None` keeps the stored one.
        pub outcome: Option<String>,
        /// Time of the end in milliseconds since 1970.
        pub ended_ms: i64,
    } write
}

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

/// One change of a plan's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// A step starts, or is over at once.
    Begin(NewPlanStep),
    /// A step ends.
    End(PlanStepEnd),
    /// An event of the plan job.
    Event(NewPlanEvent),
}

/// The changes of a plan's journal that are written in the transaction of the job that one of its
/// steps starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanJournalWrite {
    /// Earlier changes that are not written yet.
    pub earlier_changes: Vec<PlanChange>,
    /// The step that starts the job. A second job for it is refused.
    pub step: NewPlanStep,
}

row! {
    /// A stored step of a plan.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepRow {
        /// Number of the plan job.
        pub plan_job: i64,
        /// The step as it was started, with its current state and outcome.
        pub step: NewPlanStep = step_columns!(),
        /// The job that the step started.
        pub job: Option<JobNumber>,
        /// The secret outcome, sealed; `None` if it has none.
        pub sealed: Option<Vec<u8>>,
        /// Time of the end in milliseconds since 1970; `None` before.
        pub ended_ms: Option<i64>,
    } read select steps from "plan_journal"
}

const BEGIN: &str = concat!(
    "INSERT INTO plan_journal (plan_job, ",
    step_columns!(),
    ", job, ended_ms) SELECT number, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS TEXT), \
     CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT), CAST($9 AS BIGINT), \
     CAST($10 AS BIGINT), CAST($11 AS BIGINT), CAST($12 AS BIGINT), CAST($13 AS TEXT), \
     CAST($14 AS BIGINT), CAST($15 AS BIGINT), CAST($16 AS BIGINT) \
     FROM plan_jobs WHERE number = $1 AND state = 'running'"
);
const END: &str = "UPDATE plan_journal SET state = $4, delivered = COALESCE(delivered, $5), \
     outcome = COALESCE(outcome, $6), ended_ms = COALESCE(ended_ms, $7) \
     WHERE plan_job = $1 AND branch = $2 AND step = $3 AND delivered IS NULL \
     AND EXISTS (SELECT 1 FROM plan_jobs WHERE number = $1 AND state = 'running')";
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

pub(crate) const STATEMENTS: &[&str] = &[BEGIN, END, ANSWER, PAGE, ONE, AWAITED];

/// Position before every step.
const FIRST: i64 = -1;

// === impl AwaitedAnswer ===

impl AwaitedAnswer {
    pub(crate) fn to_column(self) -> i64 {
        match self {
            Self::NotAwaited => 0,
            Self::Plain => 1,
            Self::Sealed => 2,
        }
    }

    pub(crate) fn from_column(column: i64) -> Self {
        match column {
            0 => Self::NotAwaited,
            1 => Self::Plain,
            _ => Self::Sealed,
        }
    }
}

// === impl PlanJournalWrite ===

impl PlanJournalWrite {
    /// Adds the statements of the earlier changes, which are written with the job.
    pub(crate) fn add_earlier_statements<'a>(
        &'a self,
        plan_job: i64,
        into: &mut Vec<SqlStatement<'a>>,
    ) {
        for change in &self.earlier_changes {
            change.add_statements(plan_job, into);
        }
    }

    pub(crate) fn add_begin_statement<'a>(
        &'a self,
        plan_job: i64,
        job: JobNumber,
        into: &mut Vec<SqlStatement<'a>>,
    ) {
        into.push(self.step.begin_statement(plan_job, Some(job)));
    }
}

// === impl PlanChange ===

impl PlanChange {
    pub(crate) fn add_statements<'a>(&'a self, plan_job: i64, into: &mut Vec<SqlStatement<'a>>) {
        match self {
            Self::Begin(step) => into.push(step.begin_statement(plan_job, None)),
            Self::End(end) => into.push(SqlStatement::new(END, values![plan_job, end])),
            Self::Event(event) => into.extend(plan_events::insert_statements(plan_job, event)),
        }
    }
}

impl NewPlanStep {
    fn begin_statement(&self, plan_job: i64, job: Option<JobNumber>) -> SqlStatement<'_> {
        let ended_ms = self.delivered.map(|_| self.begun_ms);
        SqlStatement::new(BEGIN, values![plan_job, self, job, ended_ms])
    }
}

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
