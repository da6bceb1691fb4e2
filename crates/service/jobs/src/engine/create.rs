//! A new job: its runs are decided, committed and only then sent.
//!
//! Invariant: one transaction holds the job, its runs, their transaction ids and the first events.
//! Runs that get a slot at once are marked in it, so that no second commit precedes their request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fabric::NodePresence;
use pcp::Certname;
use pxp::TransactionId;
use store::{JobNumber, NewRun, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::active_jobs::{ActiveRun, RunPhase};
use super::dispatch::JobDispatch;
use super::draft::{JobDraft, JobInsertion, JobTarget, PreparedJob};
use super::outgoing::OutgoingMessage;
use super::run_orders::blocked_by;
use super::state::JobEngine;
use crate::applications::RunOrder;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::kind::JobKind;
use crate::leases::WantedLease;
use crate::over_ssh::{NodeTransport, OverSsh};
use crate::rollout::{Rollout, add_failed_node, is_failure};
use crate::state::{JobState, RunState};
use crate::submit::JobSubmitError;
use crate::tally::{RunTally, StopSeverity};
use crate::verdict::RunVerdict;

/// The first step of a run.
enum RunStart {
    /// The run is over before it began.
    Refused(RunVerdict),
    /// The run starts when it gets a slot.
    Ready(NodeTransport, NodePresence),
    /// The run waits for its node, its batch or its time.
    Waiting {
        /// The node counts as connected.
        is_there: bool,
    },
}

// === impl JobEngine ===

impl JobEngine {
    pub(super) fn create(
        &mut self,
        prepared: PreparedJob,
        reply: oneshot::Sender<Result<JobNumber, JobSubmitError>>,
    ) {
        if let Some(doubts) = self.check_in_doubt_limit() {
            let error = StoreError::Unavailable(Arc::new(doubts));
            // A caller that is gone needs no answer.
            let _ = reply.send(Err(error.into()));
            return;
        }
        let PreparedJob {
            mut row,
            targets,
            kind,
            mut dispatch,
            rollout: options,
            after_restart,
        } = prepared;
        let (over_ssh, concurrency, noop) =
            (dispatch.over_ssh(), dispatch.concurrency, dispatch.noop);
        let key = self.new_key();
        // A plan that goes on after a restart is quicker than the nodes that reconnect.
        let after_restart = after_restart && Instant::now() < self.recovering_until;
        let mut rollout = Rollout::new(&options, targets.len());
        let splay = options.splay.map(Duration::from_secs);
        let batches: Vec<u32> = rollout.batch_numbers().collect();
        let (mut order, lease) = new_order(&mut dispatch, &targets).unzip();
        let lease = lease.flatten();
        let waits = |index| order.as_ref().is_some_and(|it| it.is_waiting(index));
        let mut begins: Vec<RunStart> = targets
            .iter()
            .zip(&batches)
            .enumerate()
            .map(|(index, (target, batch))| {
                let is_later = *batch > 1
                    || splay.is_some()
                    || waits(index)
                    || self.is_held(kind, &target.certname);
                self.choose_begin(target, kind, &over_ssh, is_later, after_restart)
            })
            .collect();
        if let Some(order) = &mut order {
            refuse_blocked(order, &targets, &mut begins);
        }
        let mut failed = Vec::new();
        for ((target, batch), begin) in targets.iter().zip(&batches).zip(&begins) {
            if let RunStart::Refused(verdict) = begin {
                rollout.record_run_end(*batch, verdict.state());
                if is_failure(verdict.state()) {
                    add_failed_node(&mut failed, &target.certname);
                }
            }
        }
        let ready = begins
            .iter()
            .filter(|begin| matches!(begin, RunStart::Ready(..)))
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
            let (mut via, mut is_awaited) = (NodeTransport::Agent, true);
            let (mut new_run, phase) = match begin {
                RunStart::Refused(verdict) => {
                    let new_run = refused_run_row(kind, &certname, &transaction, &verdict, at_ms);
                    (new_run, RunPhase::Settled)
                }
                RunStart::Ready(way, presence) if slots > 0 => {
                    slots -= 1;
                    via = way;
                    let spool_id = presence.capabilities.and_then(|known| known.spool_id);
                    let details = Some(self.new_mark(spool_id).to_details(via));
                    let event = Some(events::run_started(kind, &certname, noop, at_ms));
                    let new_run = NewRun {
                        details,
                        event,
                        ..new_run_row(&certname, &transaction, RunState::Running)
                    };
                    (new_run, RunPhase::Marking { spool_id })
                }
                RunStart::Ready(way, _) => {
                    via = way;
                    let queued = new_run_row(&certname, &transaction, RunState::Ready);
                    (queued, RunPhase::Waiting)
                }
                RunStart::Waiting { is_there } => {
                    is_awaited = is_there;
                    let queued = new_run_row(&certname, &transaction, RunState::Ready);
                    (queued, RunPhase::Waiting)
                }
            };
            new_run.batch = row.batches.map(|_| batch);
            unsuccessful += usize::from(matches!(phase, RunPhase::Settled));
            row.runs.push(new_run);
            runs.push(ActiveRun {
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
        let mut tally = RunTally::new(runs.len() - unsuccessful, unsuccessful, StopSeverity::No);
        let first = kind.initial_states().iter();
        row.states
            .extend(first.map(|state| state.as_str().to_owned()));
        if runs
            .iter()
            .any(|run| matches!(run.phase, RunPhase::Marking { .. }))
        {
            row.states.push(JobState::Running.as_str().to_owned());
        }
        if let Some((state, event)) = tally.take_job_end() {
            // No node is connected: the job is over in the transaction that makes it.
            row.states.push(state.as_str().to_owned());
            row.events.push(events::job_ended(event, state, at_ms));
            row.sealed = None;
            if let Some(trace) = &mut dispatch.trace {
                trace.record_state(state);
            }
        } else if row.batches.is_some() {
            let begun = rollout.current_batch();
            let event = events::batch_started(begun, rollout.batches(), at_ms);
            row.events.push(event);
        }
        let draft = JobDraft {
            kind,
            dispatch,
            after_restart,
            runs,
            rollout,
            splay,
            order,
            lease,
            has_batches: row.batches.is_some(),
            failed,
            tally,
            since: SystemTime::now(),
        };
        let store = self.deps.store.clone();
        self.inserting.spawn(async move {
            let outcome = store.insert_job(row).await;
            JobInsertion {
                key,
                outcome,
                draft,
                reply,
            }
        });
    }

    /// Handles a durable job: the caller gets its number, and the requests of marked runs are sent.
    pub(super) fn handle_inserted(&mut self, inserted: JobInsertion) {
        let JobInsertion {
            key,
            outcome,
            mut draft,
            reply,
        } = inserted;
        let number = match outcome {
            Ok(number) => number,
            Err(error) => {
                self.scheduler.remove(key);
                if matches!(error, StoreError::OutcomeUnknown(_)) {
                    return self.withdraw_in_doubt(key, draft, error, reply);
                }
                if error.is_final() {
                    self.lost = Some(error.clone());
                }
                // A caller that is gone needs no answer.
                let _ = reply.send(Err(error.into()));
                return;
            }
        };
        self.deps.metrics.jobs_created.inc();
        let _ = reply.send(Ok(number));
        self.trace_inserted(draft.dispatch.trace.as_ref(), draft.since);
        if draft.tally.open_runs() == 0 {
            if let Some(trace) = draft.dispatch.trace {
                self.trace_finished_job(trace, number);
            }
            return self.scheduler.remove(key);
        }
        let since = draft.since;
        // The job must not begin after its runs.
        let begin = Instant::now();
        let lease = draft.lease.take();
        let mut job = draft.into_job(number, &self.deps.poll_settings);
        if job.started {
            self.deps.running.begin(number, begin);
        }
        let flying: Vec<RunKey> = job
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| matches!(run.phase, RunPhase::Dispatched(_)))
            .map(|(index, _)| RunKey { job: key, index })
            .collect();
        for run in &flying {
            job.trace_run(run.index, since);
        }
        let waiting = job.waiting.len();
        self.active_jobs.insert(key, job);
        self.scheduler.add_waiting(key, waiting);
        let outgoing: Vec<OutgoingMessage> = flying
            .into_iter()
            .filter_map(|run| {
                self.deps.metrics.runs_started.inc();
                self.build_request(run)
            })
            .collect();
        self.send(outgoing);
        if let Some(lease) = lease {
            self.take_leases(key, &lease);
        }
        self.start_splayed(key);
        self.advance(key);
    }

    /// The first step of a node's run in a new job. Nodes of later batches, of a splay, and those that wait for others or
    /// for a lease,
    /// are checked at their turn (`is_later`); only permanent reasons against them count now.
    fn choose_begin(
        &self,
        target: &JobTarget,
        kind: JobKind,
        over_ssh: &OverSsh,
        is_later: bool,
        after_restart: bool,
    ) -> RunStart {
        let certname = &target.certname;
        if let Some(refusal) = &target.refusal {
            return RunStart::Refused(refusal.clone());
        }
        let way = self.choose_transport(certname, kind, over_ssh);
        let is_there = way.is_some() || after_restart || self.is_returning(certname);
        match way {
            _ if is_later => RunStart::Waiting { is_there },
            Some((via, presence)) => RunStart::Ready(via, presence),
            None => match self.no_transport_verdict(certname, kind) {
                RunVerdict::NotConnected if is_there => RunStart::Waiting { is_there },
                verdict => RunStart::Refused(verdict),
            },
        }
    }

    pub(super) fn new_key(&mut self) -> JobKey {
        self.next_key += 1;
        JobKey(self.next_key)
    }
}

/// The order of the runs of a new job, and the lease of their nodes; `None` if none waits for another.
fn new_order(
    dispatch: &mut JobDispatch,
    targets: &[JobTarget],
) -> Option<(RunOrder, Option<WantedLease>)> {
    // the job's row, which is sealed, has it
    let stored = dispatch.order.take()?;
    let nodes = targets.iter().map(|target| &target.certname);
    let (order, _) = RunOrder::restore(&stored, nodes, &HashMap::new());
    Some((order, WantedLease::of(stored)))
}

/// Refuses the runs that wait for refused ones.
fn refuse_blocked(order: &mut RunOrder, targets: &[JobTarget], begins: &mut [RunStart]) {
    let is_refused = |begin: &RunStart| matches!(begin, RunStart::Refused(_));
    let refused: Vec<usize> = (0..begins.len())
        .filter(|index| is_refused(&begins[*index]))
        .collect();
    for (index, verdict) in blocked_by(order, &refused, targets) {
        if !is_refused(&begins[index]) {
            begins[index] = RunStart::Refused(verdict);
        }
    }
}

/// The row of a node that is not asked: its run is over before it began.
fn refused_run_row(
    kind: JobKind,
    certname: &Certname,
    transaction: &TransactionId,
    verdict: &RunVerdict,
    at_ms: i64,
) -> NewRun {
    let (state, message) = (verdict.state(), verdict.message(certname));
    NewRun {
        result: Some(verdict.result(certname).to_string()),
        details: Some(events::message_details(&message)),
        event: Some(events::run_ended(
            kind, certname, state, &message, None, at_ms,
        )),
        ..new_run_row(certname, transaction, state)
    }
}

fn new_run_row(certname: &Certname, transaction: &TransactionId, state: RunState) -> NewRun {
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
