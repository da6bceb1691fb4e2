//! A new job: its runs are decided, committed and only then sent.
//!
//! The rule: one transaction holds the job, its runs, their transaction ids and the first events.
//! Runs that get a slot at once are marked in it, so that no second commit precedes their request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use fabric::Presence;
use pcp::Certname;
use pxp::TransactionId;
use serde_json::value::RawValue;
use store::{JobNumber, NewJob, NewRun, StoreError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::book::{Flying, Job, Phase, Run};
use super::deliver::Outgoing;
use super::{Engine, JobKey, RunKey};
use crate::events;
use crate::flight::Flight;
use crate::metrics::count;
use crate::state::{JobState, RunState};
use crate::tally::{Stop, Tally};
use crate::verdict::Verdict;

/// A task that has been checked and sealed; what is left is to commit and to run it.
pub(crate) struct NewTask {
    /// Everything but the runs.
    pub(crate) row: NewJob,
    pub(crate) nodes: Vec<Certname>,
    pub(crate) params: Arc<RawValue>,
    pub(crate) timeout: Duration,
    pub(crate) concurrency: Option<usize>,
    pub(crate) noop: bool,
}

/// An insertion that came to its end.
pub(super) struct Inserted {
    key: JobKey,
    outcome: Result<JobNumber, StoreError>,
    draft: Draft,
    reply: oneshot::Sender<Result<JobNumber, StoreError>>,
}

/// A job that has no number yet.
struct Draft {
    params: Arc<RawValue>,
    timeout: Duration,
    noop: bool,
    runs: Vec<Run>,
    tally: Tally,
}

// === impl Engine ===

impl Engine {
    pub(super) fn create(
        &mut self,
        task: NewTask,
        reply: oneshot::Sender<Result<JobNumber, StoreError>>,
    ) {
        let NewTask {
            mut row,
            nodes,
            params,
            timeout,
            concurrency,
            noop,
        } = task;
        let key = self.new_key();
        let presences: Vec<Option<Presence>> = nodes
            .iter()
            .map(|certname| self.parts.fabric.presence(certname))
            .collect();
        let connected = presences.iter().flatten().count();
        let mut slots = self.scheduler.reserve(key, concurrency, connected);
        let at_ms = row.created_ms;
        let mut runs = Vec::with_capacity(nodes.len());
        let mut unsuccessful = 0;
        row.runs = Vec::with_capacity(nodes.len());
        for (certname, presence) in nodes.into_iter().zip(presences) {
            let transaction = TransactionId::random();
            let (new_run, phase) = match presence {
                None => (away(&certname, &transaction, at_ms), Phase::Settled),
                Some(presence) if slots > 0 => {
                    slots -= 1;
                    let spool_id = presence.capabilities.and_then(|known| known.spool_id);
                    let new_run = started(&certname, &transaction, spool_id, noop, at_ms);
                    (new_run, Phase::Marking { spool_id })
                }
                Some(_) => (queued(&certname, &transaction), Phase::Waiting),
            };
            unsuccessful += usize::from(matches!(phase, Phase::Settled));
            row.runs.push(new_run);
            runs.push(Run {
                certname,
                transaction,
                phase,
            });
        }
        let mut tally = Tally::new(runs.len() - unsuccessful, unsuccessful, Stop::No);
        row.states.push(JobState::Ready.as_str().to_owned());
        if runs
            .iter()
            .any(|run| matches!(run.phase, Phase::Marking { .. }))
        {
            row.states.push(JobState::Running.as_str().to_owned());
        }
        if let Some((state, event)) = tally.end() {
            // No node is there: the job is over in the transaction that makes it.
            row.states.push(state.as_str().to_owned());
            row.events.push(events::job_ended(event, state, at_ms));
            row.sealed = None;
        }
        let draft = Draft {
            params,
            timeout,
            noop,
            runs,
            tally,
        };
        let store = self.parts.store.clone();
        self.inserting.spawn(async move {
            let outcome = store.insert_job(row).await;
            Inserted {
                key,
                outcome,
                draft,
                reply,
            }
        });
    }

    /// The job is durable: the caller learns its number, and the marked runs are sent.
    pub(super) fn inserted(&mut self, inserted: Inserted) {
        let Inserted {
            key,
            outcome,
            draft,
            reply,
        } = inserted;
        let number = match outcome {
            Ok(number) => number,
            Err(error) => {
                self.scheduler.remove(key);
                // A caller that is gone needs no answer.
                let _ = reply.send(Err(error));
                return;
            }
        };
        count(&self.parts.metrics.jobs_created);
        let _ = reply.send(Ok(number));
        if draft.tally.open() == 0 {
            return self.scheduler.remove(key);
        }
        let job = draft.into_job(number, &self.parts.patience);
        let flying: Vec<RunKey> = job
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| matches!(run.phase, Phase::Flying(_)))
            .map(|(index, _)| RunKey { job: key, index })
            .collect();
        let waiting = job.waiting.len();
        self.book.insert(key, job);
        self.scheduler.add_waiting(key, waiting);
        let outgoing: Vec<Outgoing> = flying
            .into_iter()
            .filter_map(|run| {
                count(&self.parts.metrics.runs_started);
                self.request(run)
            })
            .collect();
        self.send(outgoing);
    }

    pub(super) fn new_key(&mut self) -> JobKey {
        self.next_key += 1;
        JobKey(self.next_key)
    }
}

// === impl Draft ===

impl Draft {
    fn into_job(self, number: JobNumber, patience: &crate::flight::Patience) -> Job {
        let Self {
            params,
            timeout,
            noop,
            mut runs,
            tally,
        } = self;
        let now = Instant::now();
        let mut waiting = VecDeque::new();
        let mut started = false;
        for (index, run) in runs.iter_mut().enumerate() {
            match run.phase {
                Phase::Marking { spool_id } => {
                    started = true;
                    let flight = Flight::new(now, timeout, spool_id, patience);
                    run.phase = Phase::Flying(Box::new(Flying::new(flight)));
                }
                Phase::Waiting => waiting.push_back(index),
                Phase::Flying(_) | Phase::Settled => {}
            }
        }
        Job {
            number,
            params: Some(params),
            timeout,
            noop,
            started,
            recovered: false,
            runs,
            waiting,
            tally,
            watchers: Vec::new(),
            commits: watch::Sender::new(0),
        }
    }
}

fn started(
    certname: &Certname,
    transaction: &TransactionId,
    spool_id: Option<Uuid>,
    noop: bool,
    at_ms: i64,
) -> NewRun {
    NewRun {
        details: Some(events::mark_details(spool_id)),
        event: Some(events::running(certname, noop, at_ms)),
        ..new_run(certname, transaction, RunState::Running)
    }
}

fn queued(certname: &Certname, transaction: &TransactionId) -> NewRun {
    new_run(certname, transaction, RunState::Ready)
}

fn away(certname: &Certname, transaction: &TransactionId, at_ms: i64) -> NewRun {
    let verdict = Verdict::NotConnected;
    let message = verdict.message(certname);
    NewRun {
        result: Some(verdict.result(certname).to_string()),
        details: Some(events::message_details(&message)),
        event: Some(events::ended(certname, verdict.state(), &message, at_ms)),
        ..new_run(certname, transaction, verdict.state())
    }
}

fn new_run(certname: &Certname, transaction: &TransactionId, state: RunState) -> NewRun {
    NewRun {
        certname: certname.to_string(),
        transaction_id: transaction.to_string(),
        state: state.as_str().to_owned(),
        details: None,
        result: None,
        event: None,
    }
}
