//! A new job: its runs are decided, committed and only then sent.
//!
//! The rule: one transaction holds the job, its runs, their transaction ids and the first events.
//! Runs that get a slot at once are marked in it, so that no second commit precedes their request.

use fabric::Presence;
use pcp::Certname;
use pxp::TransactionId;
use store::{JobNumber, NewRun, StoreError};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::book::{Phase, Run};
use super::draft::{Draft, Inserted, NewTask};
use super::outgoing::Outgoing;
use super::state::Engine;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::metrics::count;
use crate::state::{JobState, RunState};
use crate::tally::{Stop, Tally};
use crate::verdict::Verdict;

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
                if matches!(error, StoreError::Closed | StoreError::Superseded) {
                    self.lost = Some(error.clone());
                }
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
