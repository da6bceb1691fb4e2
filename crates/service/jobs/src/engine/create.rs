//! A new job: its runs are decided, committed and only then sent.
//!
//! Invariant: one transaction holds the job, its runs, their transaction ids and the first events.
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
use crate::over_ssh::{OverSsh, Via};
use crate::rollout::{Rollout, remember};
use crate::state::{JobState, RunState};
use crate::tally::{Stop, Tally};
use crate::verdict::Verdict;

/// The first step of a run.
enum RunBegin {
    /// The run is over before it began.
    Refused(Verdict),
    /// The run starts when it gets a slot.
    Ready(Via, Presence),
    /// The run waits for its node or for its batch.
    Waits {
        /// The node counts as connected.
        is_there: bool,
    },
}

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
            rollout: options,
            noop,
            keeps_secrets,
            after_restart,
            mut trace,
        } = prepared;
        let key = self.new_key();
        // A plan that goes on after a restart is quicker than the nodes that reconnect.
        let after_restart = after_restart && Instant::now() < self.recovering_until;
        let mut rollout = Rollout::new(&options, targets.len());
        let batches: Vec<u32> = rollout.batch_of_each().collect();
        let begins: Vec<RunBegin> = targets
            .iter()
            .zip(&batches)
            .map(|(target, batch)| {
                self.begin_of(target, kind, &action.over_ssh, *batch, after_restart)
            })
            .collect();
        let mut failed = Vec::new();
        for ((target, batch), begin) in targets.iter().zip(&batches).zip(&begins) {
            if let RunBegin::Refused(verdict) = begin {
                rollout.run_ended(*batch, verdict.state());
                remember(&mut failed, &target.certname);
            }
        }
        let ready = begins
            .iter()
            .filter(|begin| matches!(begin, RunBegin::Ready(..)))
            .count();
        // If too many failed before anything was sent, nothing is sent.
        let wanted = if rollout.is_exceeded() { 0 } else { ready };
        let mut slots = self
            .scheduler
            .reserve(key, kind.pool(), concurrency, wanted);
        let at_ms = row.created_ms;
        let mut runs = Vec::with_capacity(targets.len());
        let mut unsuccessful = 0;
        row.runs = Vec::with_capacity(targets.len());
        row.batches = options.batch.is_some().then(|| rollout.batches());
        for ((target, batch), begin) in targets.into_iter().zip(batches).zip(begins) {
            let certname = target.certname;
            let transaction = TransactionId::random();
            let (mut via, mut is_awaited) = (Via::Agent, true);
            let (mut new_run, phase) = match begin {
                RunBegin::Refused(verdict) => {
                    let new_run = refused(kind, &certname, &transaction, &verdict, at_ms);
                    (new_run, Phase::Settled)
                }
                RunBegin::Ready(way, presence) if slots > 0 => {
                    slots -= 1;
                    via = way;
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
                RunBegin::Ready(way, _) => {
                    via = way;
                    let queued = new_run(&certname, &transaction, RunState::Ready);
                    (queued, Phase::Waiting)
                }
                RunBegin::Waits { is_there } => {
                    is_awaited = is_there;
                    let queued = new_run(&certname, &transaction, RunState::Ready);
                    (queued, Phase::Waiting)
                }
            };
            new_run.batch = row.batches.map(|_| batch);
            unsuccessful += usize::from(matches!(phase, Phase::Settled));
            row.runs.push(new_run);
            runs.push(Run {
                certname,
                transaction,
                via,
                batch,
                is_awaited,
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
            // No node is connected: the job is over in the transaction that makes it.
            row.states.push(state.as_str().to_owned());
            row.events.push(events::job_ended(event, state, at_ms));
            row.sealed = None;
            if let Some(trace) = &mut trace {
                trace.decided(state);
            }
        } else if row.batches.is_some() {
            let begun = rollout.current();
            let event = events::batch_started(begun, rollout.batches(), at_ms);
            row.events.push(event);
        }
        let draft = Draft {
            kind,
            action,
            timeout,
            noop,
            keeps_secrets,
            after_restart,
            runs,
            rollout,
            has_batches: row.batches.is_some(),
            failed,
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

    /// Handles a durable job: the caller gets its number, and the requests of marked runs are sent.
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
        // The job must not begin after its runs.
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
        self.advance(key);
    }

    /// The first step of a node's run in a new job. Nodes of later batches are checked at their
    /// turn; only permanent reasons against them count now.
    fn begin_of(
        &self,
        target: &Target,
        kind: Kind,
        over_ssh: &OverSsh,
        batch: u32,
        after_restart: bool,
    ) -> RunBegin {
        let certname = &target.certname;
        if let Some(refusal) = &target.refusal {
            return RunBegin::Refused(refusal.clone());
        }
        let way = self.way(certname, kind, over_ssh);
        let is_there = way.is_some() || after_restart || self.is_returning(certname);
        match way {
            _ if batch > 1 => RunBegin::Waits { is_there },
            Some((via, presence)) => RunBegin::Ready(via, presence),
            None => match self.no_way(certname, kind) {
                Verdict::NotConnected if is_there => RunBegin::Waits { is_there },
                verdict => RunBegin::Refused(verdict),
            },
        }
    }

    pub(super) fn new_key(&mut self) -> JobKey {
        self.next_key += 1;
        JobKey(self.next_key)
    }
}

/// The row of a node that is not asked: its run is over before it began.
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
        batch: None,
        event: None,
    }
}
