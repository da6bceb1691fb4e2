//! Write requests as data, and the statements that they become.
//!
//! [`Write`] is one caller's request; [`Write::plan`] turns it into [`Step`]s that either engine
//! runs in order inside one transaction. No step depends on the answer of an earlier one (a
//! transition writes the id that its event will have, and the event is inserted only where that id
//! is), so PostgreSQL gets a whole batch without waiting.
//! stands), so PostgreSQL gets a whole batch without waiting.

use crate::change::{Applied, Change};
use crate::ledger::Ledger;
use crate::older_history::Acceptance;
use crate::run_secrets;
use crate::step::Step;
use crate::writing::audit::{self, AuditMark, NewAudit};
use crate::writing::events::{self, NewEvent};
use crate::writing::jobs::{self, NewJob};
use crate::writing::runs;
use crate::{JobNumber, StoreError};

/// One caller's request.
#[derive(Debug)]
pub(crate) enum Write {
    InsertJob(Box<NewJob>),
    Commit(Vec<Change>),
    /// Entries of the audit chain, in this order.
    Audit(Vec<NewAudit>),
    /// Acceptance of an older history.
    AcceptHistory(Box<Acceptance>),
    /// Statements that take no number from the ledger.
    Statements(Vec<Step<'static>>),
}

/// The result of a caller's request.
#[derive(Debug)]
pub(crate) enum Written {
    Job(JobNumber),
    Applied(Vec<Applied>),
    /// Position and hash of each entry.
    Audit(Vec<AuditMark>),
    /// Number of rows changed by each statement.
    Rows(Vec<u64>),
}

/// The statements of one request.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) steps: Vec<Step<'a>>,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Job(JobNumber),
    /// For each change: the step that shows if it was applied, and the id of its event.
    Applied(Vec<(usize, Option<i64>)>),
    Audit(Vec<AuditMark>),
    Rows,
}

// === impl Write ===

impl Write {
    /// Refuses a request that no engine could write, before it affects the others of its batch.
    pub(crate) fn validate(&self) -> Result<(), StoreError> {
        match self {
            Self::InsertJob(job) => job.validate(),
            Self::Commit(changes) => changes.iter().try_for_each(Change::validate),
            Self::Audit(_) | Self::AcceptHistory(_) | Self::Statements(_) => Ok(()),
        }
    }

    /// Approximate number of statements.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::InsertJob(job) => 4 + 2 * job.runs.len() + job.marked(),
            Self::Commit(changes) => 2 * changes.len(),
            Self::Audit(entries) => entries.len(),
            Self::AcceptHistory(_) => crate::older_history::STATEMENTS.len(),
            Self::Statements(steps) => steps.len(),
        }
    }

    /// Approximate bytes of text and blobs.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::InsertJob(job) => job.options.len() + job.userdata.len(),
            Self::Commit(changes) => changes.iter().map(Change::bytes).sum(),
            Self::Audit(entries) => entries.iter().map(NewAudit::bytes).sum(),
            Self::AcceptHistory(_) => 0,
            Self::Statements(steps) => steps.iter().map(Step::bytes).sum(),
        }
    }

    /// The statements of the request, with numbers and ids taken from the ledger.
    pub(crate) fn plan(&self, ledger: &mut Ledger) -> Result<Plan<'_>, StoreError> {
        let mut steps = Vec::with_capacity(self.weight());
        let outcome = match self {
            Self::InsertJob(job) => Outcome::Job(jobs::plan_insert(job, ledger, &mut steps)?),
            Self::Commit(changes) => {
                let mut told = Vec::with_capacity(changes.len());
                for change in changes {
                    told.push((steps.len(), change.plan(ledger, &mut steps)?));
                }
                Outcome::Applied(told)
            }
            Self::Audit(entries) => {
                let marks = entries
                    .iter()
                    .map(|entry| audit::plan_append(entry, ledger, &mut steps));
                Outcome::Audit(marks.collect())
            }
            Self::AcceptHistory(acceptance) => {
                acceptance.plan(ledger, &mut steps);
                Outcome::Rows
            }
            Self::Statements(given) => {
                steps.extend(given.iter().cloned());
                Outcome::Rows
            }
        };
        Ok(Plan { steps, outcome })
    }
}

// === impl Plan ===

impl Plan<'_> {
    /// The result for the caller, from the number of rows that each step changed.
    pub(crate) fn written(&self, rows: &[u64]) -> Written {
        match &self.outcome {
            Outcome::Job(number) => Written::Job(*number),
            Outcome::Audit(marks) => Written::Audit(marks.clone()),
            Outcome::Rows => Written::Rows(rows.to_vec()),
            Outcome::Applied(told) => Written::Applied(
                told.iter()
                    .map(|(step, event_id)| {
                        let changed = rows[*step] > 0;
                        Applied {
                            changed,
                            event_id: event_id.filter(|_| changed),
                        }
                    })
                    .collect(),
            ),
        }
    }
}

// === impl Change ===

impl Change {
    fn validate(&self) -> Result<(), StoreError> {
        match self {
            Self::Run(change) => crate::state::run_progress(&change.to_state).map(|_| ()),
            Self::Job(change) => crate::state::job_progress(&change.to_state).map(|_| ()),
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
        ledger: &mut Ledger,
        steps: &mut Vec<Step<'a>>,
    ) -> Result<Option<i64>, StoreError> {
        let mark = ledger.next_event();
        let event = match self {
            Self::Run(change) => {
                steps.push(runs::transition(change, mark)?);
                steps.extend(run_secrets::keep(change, mark));
                change.event.as_ref().inspect(|event| {
                    let certname = &change.certname;
                    steps.push(events::insert_after_run(event, mark, change.job, certname));
                })
            }
            Self::Job(change) => {
                steps.push(jobs::transition(change, mark)?);
                steps.push(jobs::enter_state(change, mark));
                steps.extend(jobs::sum_up(change)?);
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
