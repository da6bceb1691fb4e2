//! Write requests as data, and the statements that they become.
//!
//! [`StoreWrite`] is one caller's request; [`StoreWrite::plan_statements`] turns it into
//! [`SqlStatement`]s that either engine runs in order inside one transaction. No step depends on
//! the answer of an earlier one (a transition writes the id that its event will have, and the event
//! is inserted only where that id is), so PostgreSQL gets a whole batch without waiting.

use crate::audit_row::NewAudit;
use crate::change::{ChangeResult, JobRunChange};
use crate::ledger::NumberLedger;
use crate::statement::SqlStatement;
use crate::writing::audit::{self, AuditPosition};
use crate::writing::events::{self, NewEvent};
use crate::writing::history::{self, HistoryAcceptance};
use crate::writing::jobs::{self, NewJob};
use crate::writing::runs;
use crate::{JobNumber, StoreError};

/// One caller's request.
#[derive(Debug)]
pub(crate) enum StoreWrite {
    InsertJob(Box<NewJob>),
    Commit(Vec<JobRunChange>),
    /// Entries of the audit chain, in this order.
    Audit(Vec<NewAudit>),
    /// Acceptance of an older history.
    AcceptHistory(Box<HistoryAcceptance>),
    /// Statements that take no number from the ledger.
    Statements(Vec<SqlStatement<'static>>),
}

/// The result of a caller's request.
#[derive(Debug)]
pub(crate) enum WriteResult {
    Job(JobNumber),
    Applied(Vec<ChangeResult>),
    /// Position and hash of each entry.
    Audit(Vec<AuditPosition>),
    /// Number of rows changed by each statement.
    Rows(Vec<u64>),
}

/// The statements of one request.
#[derive(Debug)]
pub(crate) struct WritePlan<'a> {
    pub(crate) statements: Vec<SqlStatement<'a>>,
    outcome: PlannedResult,
}

#[derive(Debug)]
enum PlannedResult {
    Job(JobNumber),
    /// For each change: the step that shows if it was applied, and the id of its event.
    Applied(Vec<(usize, Option<i64>)>),
    Audit(Vec<AuditPosition>),
    Rows,
}

// === impl StoreWrite ===

impl StoreWrite {
    /// Refuses a request that no engine could write, before it affects the others of its batch.
    pub(crate) fn validate(&self) -> Result<(), StoreError> {
        match self {
            Self::InsertJob(job) => job.validate(),
            Self::Commit(changes) => changes.iter().try_for_each(JobRunChange::validate),
            Self::Audit(_) | Self::AcceptHistory(_) | Self::Statements(_) => Ok(()),
        }
    }

    /// Approximate number of statements.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::InsertJob(job) => 4 + 2 * job.runs.len() + job.journal_statement_count(),
            Self::Commit(changes) => 2 * changes.len(),
            Self::Audit(entries) => entries.len(),
            Self::AcceptHistory(_) => history::STATEMENTS.len(),
            Self::Statements(steps) => steps.len(),
        }
    }

    /// Approximate bytes of text and blobs.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::InsertJob(job) => job.options.len() + job.userdata.len(),
            Self::Commit(changes) => changes.iter().map(JobRunChange::bytes).sum(),
            Self::Audit(entries) => entries.iter().map(NewAudit::bytes).sum(),
            Self::AcceptHistory(_) => 0,
            Self::Statements(steps) => steps.iter().map(SqlStatement::byte_len).sum(),
        }
    }

    /// The statements of the request, with numbers and ids taken from the ledger.
    pub(crate) fn plan_statements(
        &self,
        ledger: &mut NumberLedger,
    ) -> Result<WritePlan<'_>, StoreError> {
        let mut steps = Vec::with_capacity(self.weight());
        let outcome = match self {
            Self::InsertJob(job) => PlannedResult::Job(jobs::plan_insert(job, ledger, &mut steps)?),
            Self::Commit(changes) => {
                let mut told = Vec::with_capacity(changes.len());
                for change in changes {
                    told.push((steps.len(), change.plan(ledger, &mut steps)?));
                }
                PlannedResult::Applied(told)
            }
            Self::Audit(entries) => {
                let marks = entries
                    .iter()
                    .map(|entry| audit::plan_append(entry, ledger, &mut steps));
                PlannedResult::Audit(marks.collect())
            }
            Self::AcceptHistory(acceptance) => {
                acceptance.add_statements(ledger, &mut steps);
                PlannedResult::Rows
            }
            Self::Statements(given) => {
                steps.extend(given.iter().cloned());
                PlannedResult::Rows
            }
        };
        Ok(WritePlan {
            statements: steps,
            outcome,
        })
    }
}

// === impl WritePlan ===

impl WritePlan<'_> {
    /// The result for the caller, from the number of rows that each step changed.
    pub(crate) fn to_result(&self, rows: &[u64]) -> WriteResult {
        match &self.outcome {
            PlannedResult::Job(number) => WriteResult::Job(*number),
            PlannedResult::Audit(marks) => WriteResult::Audit(marks.clone()),
            PlannedResult::Rows => WriteResult::Rows(rows.to_vec()),
            PlannedResult::Applied(told) => WriteResult::Applied(
                told.iter()
                    .map(|(step, event_id)| {
                        let changed = rows[*step] > 0;
                        ChangeResult {
                            changed,
                            event_id: event_id.filter(|_| changed),
                        }
                    })
                    .collect(),
            ),
        }
    }
}

// === impl JobRunChange ===

impl JobRunChange {
    fn validate(&self) -> Result<(), StoreError> {
        match self {
            Self::Run(change) => crate::state_progress::run_progress(&change.to_state).map(|_| ()),
            Self::Job(change) => crate::state_progress::job_progress(&change.to_state).map(|_| ()),
            Self::Details(_) | Self::Batch(_) | Self::Event(_) => Ok(()),
        }
    }

    fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Run(change) => {
                length(&change.result)
                    + length(&change.details)
                    + change.sealed.as_ref().map_or(0, Vec::len)
                    + change.event.as_ref().map_or(0, NewEvent::bytes)
            }
            Self::Job(change) => change.event.as_ref().map_or(0, NewEvent::bytes),
            Self::Details(change) => change.details.len(),
            Self::Batch(change) => change.event.as_ref().map_or(0, NewEvent::bytes),
            Self::Event(change) => change.event.bytes(),
        }
    }

    /// Adds the steps of the change; the first one shows if the change is applied.
    fn plan<'a>(
        &'a self,
        ledger: &mut NumberLedger,
        steps: &mut Vec<SqlStatement<'a>>,
    ) -> Result<Option<i64>, StoreError> {
        let mark = ledger.next_event();
        let event = match self {
            Self::Run(change) => {
                steps.push(runs::transition(change, mark)?);
                steps.extend(runs::insert_secret_statement(change, mark));
                change.event.as_ref().inspect(|event| {
                    let certname = &change.certname;
                    steps.push(events::insert_after_run(event, mark, change.job, certname));
                })
            }
            Self::Job(change) => {
                steps.push(jobs::transition(change, mark)?);
                steps.push(jobs::enter_state(change, mark));
                steps.extend(jobs::count_runs_statement(change)?);
                change.event.as_ref().inspect(|event| {
                    steps.push(events::insert_after_job(event, mark, change.job));
                })
            }
            Self::Details(change) => {
                steps.push(runs::set_details(change));
                None
            }
            Self::Batch(change) => {
                steps.push(jobs::enter_batch(change, mark));
                change.event.as_ref().inspect(|event| {
                    steps.push(events::insert_after_job(event, mark, change.job));
                })
            }
            Self::Event(change) => {
                steps.push(events::insert_for_job(&change.event, mark, change.job));
                Some(&change.event)
            }
        };
        Ok(event.map(|_| mark))
    }
}
