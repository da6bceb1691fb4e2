//! A new job: its runs are decided, committed and only then sent.
//!
//! The rule: one transaction holds the job, its runs, their transaction ids and the first events.
//! Runs that get a slot at once are marked in it, so that no second commit precedes their request.

use std::sync::Arc;
use std::time::SystemTime;

use fabric::Presence;
use pcp::Certname;
use pxp::TransactionId;
use store::{JobNumber, NewRun, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::book::{Phase, Run};
use super::draft::{Draft, Inserted, NotRun, Prepared, Target};
use super::outgoing::Outgoing;
use super::state::Engine;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::kind::Kind;
use crate::metrics::count;
use crate::over_ssh::Via;
use crate::state::{JobState, RunState};
use crate::tally::{Stop, Tally};
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    pub(super) fn create(
        &mut self,
        prepared: Prepared,
        reply: oneshot::Sender<Result<JobNumber, NotRun>>,
    ) {
        if let Some(doubts) = self.too_many_doubts() {
            let error = StoreError::Unavailable(Arc::new(doubts));
            // A caller that is gone needs no answer.
            let _ = reply.send(Err(NotRun::Store(error)));
            return;
        }
        let Prepared {
            mut row,
            targets,
            kind,
            action,
            timeout,
            concurrency,
            noop,
            keeps_secrets,
            after_restart,
            mut trace,
        } = prepared;
        let key = self.new_key();
        let ways: Vec<Result<(Via, Presence), Verdict>> = targets
            .iter()
            .map(|target| match &target.refusal {
                Some(refusal) => Err(refusal.clone()),
                None => self
                    .way(&target.certname, kind, &action.over_ssh)
                    .ok_or_else(|| self.no_way(&target.certname, kind)),
            })
            .collect();
        // A plan that goes on after a restart is quicker than the nodes that come back.
        let after_restart = after_restart && Instant::now() < self.recovering_until;
        let connected = ways.iter().flatten().count();
        let mut slots = self
            .scheduler
            .reserve(key, kind.pool(), concurrency, connected);
        let at_ms = row.created_ms;
        let mut runs = Vec::with_capacity(targets.len());
        let mut unsuccessful = 0;
        row.runs = Vec::with_capacity(targets.len());
        for (Target { certname, .. }, way) in targets.into_iter().zip(ways) {
            let transaction = TransactionId::random();
            let via = way.as_ref().map_or(Via::Agent, |(via, _)| *via);
            let (new_run, phase) = match way {
                Err(Verdict::NotConnected) if after_restart || self.is_returning(&certname) => {
                    let queued = new_run(&certname, &transaction, RunState::Ready);
                    (queued, Phase::Waiting)
                }
                Err(verdict) => {
                    let new_run = refused(kind, &certname, &transaction, &verdict, at_ms);
                    (new_run, Phase::Settled)
                }
                Ok((via, presence)) if slots > 0 => {
                    slots -= 1;
                    let spool_id = presence.capabilities.and_then(|known| known.spool_id);
                    let details = Some(self.mark_of(spool_id).to_details(via));
                    let event = Some(events::running(kind, &certname, noop, at_ms));
                    let new_run = NewRun {
                        details,
                        event,
                        ..new_run(&certname, &transaction, RunState::Running)
                    };
                    (new_run, Phase::Marking { spool_id })
                }
                Ok(_) => {
                    let queued = new_run(&certname, &transaction, RunState::Ready);
                    (queued, Phase::Waiting)
                }
            };
            unsuccessful += usize::from(matches!(phase, Phase::Settled));
            row.runs.push(new_run);
            runs.push(Run {
                certname,
                transaction,
                via,
                as_task: false,
                phase,
                trace: None,
            });
        }
        let mut tally = Tally::new(runs.len() - unsuccessful, unsuccessful, Stop::No);
        let first = kind.first_states().iter();
        row.states
            .extend(first.map(|state| state.as_str().to_owned()));
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
            if let Some(trace) = &mut trace {
                trace.decided(state);
            }
        }
        let draft = Draft {
            kind,
            action,
            timeout,
            noop,
            keeps_secrets,
            after_restart,
            runs,
            tally,
            trace,
            since: SystemTime::now(),
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
                if matches!(error, StoreError::OutcomeUnknown(_)) {
                    return self.doubt(key, draft, error, reply);
                }
                if error.is_end() {
                    self.lost = Some(error.clone());
                }
                // A caller that is gone needs no answer.
                let _ = reply.send(Err(NotRun::Store(error)));
                return;
            }
        };
        count(&self.parts.metrics.jobs_created);
        let _ = reply.send(Ok(number));
        self.trace_inserted(draft.trace.as_ref(), draft.since);
        if draft.tally.open() == 0 {
            if let Some(trace) = draft.trace {
                self.trace_over(trace, number);
            }
            return self.scheduler.remove(key);
        }
        let since = draft.since;
        // Not after its runs.
        let begin = Instant::now();
        let mut job = draft.into_job(number, &self.parts.patience);
        if job.started {
            self.parts.running.begin(number, begin);
        }
        let flying: Vec<RunKey> = job
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| matches!(run.phase, Phase::Flying(_)))
            .map(|(index, _)| RunKey { job: key, index })
            .collect();
        for run in &flying {
            job.trace_run(run.index, since);
        }
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

/// A node that is not asked: its run is over before it began.
fn refused(
    kind: Kind,
    certname: &Certname,
    transaction: &TransactionId,
    verdict: &Verdict,
    at_ms: i64,
) -> NewRun {
    let (state, message) = (verdict.state(), verdict.message(certname));
    NewRun {
        result: Some(verdict.result(certname).to_string()),
        details: Some(events::message_details(&message)),
        event: Some(events::ended(kind, certname, state, &message, None, at_ms)),
        ..new_run(certname, transaction, state)
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
