//! The journal of plans that this server runs itself: the started steps and their outcomes, as
//! [`PlanChange`]s.
//!
//! Invariants: a step is started once (its key is unique, and the job that it starts is written in
//! the same transaction), a recorded outcome is never overwritten, and nothing is written to a plan
//! job that is over.

use super::plan_events::{self, NewPlanEvent};
use crate::JobNumber;
use crate::plan_step_row::{NewPlanStep, PlanStepEnd, step_columns};
use crate::statement::SqlStatement;
use crate::value::values;

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
pub(crate) const STATEMENTS: &[&str] = &[BEGIN, END];

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
