//! Starts and ends of runs, in memory: decisions made here are durable after the next commit.

use std::sync::Arc;
use std::time::SystemTime;

use pxp::AgentCapabilities;
use serde_json::Value;
use store::{EventChange, JobChange, JobRunChange, RunChange};
use tokio::time::Instant;
use uuid::Uuid;

use super::active_jobs::RunPhase;
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::events::{self, RunMark};
use crate::keys::{JobKey, RunKey};
use crate::leases::QuarantineSummary;
use crate::outcome::RunOutcome;
use crate::rollout::{add_failed_node, is_failure};
use crate::state::{JobState, RunState};
use crate::verdict::RunVerdict;

/// A run's end before it is written.
pub(super) struct RunEnd {
    pub(super) state: RunState,
    pub(super) result: String,
    pub(super) details: String,
    pub(super) message: String,
    /// As in [`RunOutcome::event_detail`].
    pub(super) event_detail: Option<Value>,
    /// As in [`RunOutcome::sealed`].
    pub(super) sealed: Option<Vec<u8>>,
    /// The agent keeps the outcome until it is acknowledged.
    pub(super) acknowledge: bool,
}

// === impl JobEngine ===

impl JobEngine {
    /// Gives the free slots to the runs that wait, in turns of their jobs.
    pub(super) fn start_waiting_runs(&mut self) {
        while let Some(key) = self.scheduler.next() {
            self.start_next(key);
        }
    }

    /// Starts the job's next run, which has a slot.
    fn start_next(&mut self, key: JobKey) {
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let Some(index) = job.waiting.pop_front() else {
            return self.scheduler.release(key);
        };
        let run_key = RunKey { job: key, index };
        let (after_restart, readable) = (job.after_restart, job.dispatch.action.is_some());
        let (certname, kind) = (job.runs[index].certname.clone(), job.kind);
        let over_ssh = job.dispatch.over_ssh();
        let way = self.choose_transport(&certname, kind, &over_ssh);
        let Some((via, presence)) = way else {
            self.scheduler.release(key);
            if !self
                .active_jobs
                .run(run_key)
                .is_some_and(|run| run.is_awaited)
            {
                return self.give_up(run_key, &self.no_transport_verdict(&certname, kind));
            }
            let until = Instant::now() + self.deps.away_grace;
            let until = match after_restart {
                true => until.max(self.recovering_until),
                false => until,
            };
            return self.awaiting_nodes.add_run(certname, run_key, until);
        };
        if self.park_for_lease(run_key, &certname) {
            return;
        }
        if let Some(other) = self.active_jobs.left_to(run_key) {
            self.scheduler.release(key);
            return self.give_up(run_key, &RunVerdict::LeftToJob(other));
        }
        let Some(run) = self.active_jobs.run_mut(run_key) else {
            return;
        };
        run.phase = RunPhase::Marking { spool_id: None };
        run.via = via;
        match readable {
            true => self.record_mark(run_key, presence.capabilities.as_ref()),
            false => self.give_up(run_key, &RunVerdict::Unreadable),
        }
    }

    /// Records that the run's request is about to be sent.
    fn record_mark(&mut self, key: RunKey, capabilities: Option<&Arc<AgentCapabilities>>) {
        let spool_id = capabilities.and_then(|capabilities| capabilities.spool_id);
        let at_ms = self.deps.clock.now_ms();
        let mark = self.new_mark(spool_id);
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        if !job.started {
            job.started = true;
            self.deps.running.begin(job.number, Instant::now());
            let change = events::job_change(job.number, JobState::Running, at_ms, None);
            self.ledger.push(
                JobRunChange::Job(change),
                CommitFollowUp::EventWritten(key.job),
            );
        }
        job.trace_run(key.index, SystemTime::now());
        let run = &mut job.runs[key.index];
        self.leases.record_begin(key.job, &run.certname);
        run.phase = RunPhase::Marking { spool_id };
        let change = RunChange {
            job: job.number,
            certname: run.certname.to_string(),
            to_state: RunState::Running.as_str().to_owned(),
            at_ms,
            duration_ms: None,
            result: None,
            details: Some(mark.to_details(run.via)),
            sealed: None,
            event: Some(events::run_started(
                job.kind,
                &run.certname,
                job.dispatch.noop,
                at_ms,
            )),
        };
        self.ledger
            .push(JobRunChange::Run(change), CommitFollowUp::Marked(key));
    }

    /// The mark of a run whose request is about to be sent.
    pub(super) fn new_mark(&self, spool_id: Option<Uuid>) -> RunMark {
        RunMark {
            spool_id,
            marked_ms: Some(self.deps.clock.steady_ms()),
            silent_until_ms: None,
        }
    }

    /// Ends a run without an outcome.
    pub(super) fn give_up(&mut self, key: RunKey, verdict: &RunVerdict) {
        self.end_with(key, verdict, false);
    }

    /// Ends a run because of its agent's report; an agent that keeps this until it is acknowledged
    /// may forget it after the commit.
    pub(super) fn give_up_reported(&mut self, key: RunKey, verdict: &RunVerdict) {
        let acknowledge = self.has_acknowledgements(key);
        self.end_with(key, verdict, acknowledge);
    }

    fn end_with(&mut self, key: RunKey, verdict: &RunVerdict, acknowledge: bool) {
        if let Some(end) = self.verdict_end(key, verdict, acknowledge) {
            self.end_run(key, end);
        }
    }

    fn verdict_end(&self, key: RunKey, verdict: &RunVerdict, acknowledge: bool) -> Option<RunEnd> {
        let run = self.active_jobs.run(key)?;
        let message = verdict.message(&run.certname);
        Some(RunEnd {
            state: verdict.state(),
            result: verdict.result(&run.certname).to_string(),
            details: events::message_details(&message),
            message,
            event_detail: None,
            sealed: None,
            acknowledge,
        })
    }

    /// Ends a run with its outcome.
    pub(super) fn record_outcome(&mut self, key: RunKey, shaped: RunOutcome, acknowledge: bool) {
        let RunOutcome {
            state,
            result,
            details,
            message,
            event_detail: told,
            sealed,
        } = shaped;
        self.end_run(
            key,
            RunEnd {
                state,
                result,
                details,
                message,
                event_detail: told,
                sealed,
                acknowledge,
            },
        );
    }

    fn end_run(&mut self, key: RunKey, end: RunEnd) {
        let state = end.state;
        if !self.record_run_end(key, end) {
            return;
        }
        if state != RunState::Finished {
            self.skip_dependents(key);
        }
        self.advance(key.job);
        self.end_job_if_due(key.job);
    }

    /// Records the end of a run without an outcome, and no step that follows from it.
    pub(super) fn record_verdict(&mut self, key: RunKey, verdict: &RunVerdict) {
        if let Some(end) = self.verdict_end(key, verdict, false) {
            self.record_run_end(key, end);
        }
    }

    /// Records the end of a run, and no step that follows from it. `false`: it had ended before.
    fn record_run_end(&mut self, key: RunKey, end: RunEnd) -> bool {
        let Some(phase) = self.active_jobs.settle(key) else {
            return false;
        };
        self.trace(key, |trace| trace.record_end(end.state));
        let took = match &phase {
            RunPhase::Dispatched(flying) => flying.flight.age(Instant::now()),
            _ => None,
        };
        if !matches!(phase, RunPhase::Waiting) {
            self.scheduler.release(key.job);
        }
        self.deps.metrics.runs_ended.inc();
        if end.state == RunState::Errored {
            self.deps.metrics.runs_errored.inc();
        }
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return false;
        };
        let run = &job.runs[key.index];
        let certname = &run.certname;
        let (state, kind) = (end.state, job.kind);
        let event = events::run_ended(kind, certname, state, &end.message, end.event_detail, at_ms);
        let change = RunChange {
            job: job.number,
            certname: certname.to_string(),
            to_state: end.state.as_str().to_owned(),
            at_ms,
            result: Some(end.result),
            duration_ms: took.map(events::to_milliseconds),
            details: Some(events::add_transport(end.details, run.via)),
            sealed: end.sealed,
            event: Some(event),
        };
        let after = CommitFollowUp::Ended {
            run: key,
            acknowledge: end.acknowledge,
            is_success: end.state == RunState::Finished,
        };
        self.ledger.push(JobRunChange::Run(change), after);
        job.tally.record_run_end(end.state);
        if is_failure(end.state) {
            add_failed_node(&mut job.failed, &job.runs[key.index].certname);
        }
        job.rollout
            .record_run_end(job.runs[key.index].batch, end.state);
        self.record_lease_end(key, end.state);
        true
    }

    /// Records the job's end behind that of its last run, and after the answers of the nodes that are to stay in
    /// quarantine.
    pub(super) fn end_job_if_due(&mut self, key: JobKey) {
        if self.leases.awaits_keeps(key) {
            return;
        }
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let Some((state, event)) = job.tally.take_job_end() else {
            return;
        };
        if let Some(trace) = &mut job.dispatch.trace {
            trace.record_state(state);
        }
        self.end_passes(key, state);
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return;
        };
        let quarantined = self.leases.quarantine(key);
        if quarantined != QuarantineSummary::default() {
            let change = EventChange {
                job: job.number,
                event: events::nodes_quarantined(&quarantined, at_ms),
            };
            let after = CommitFollowUp::EventWritten(key);
            self.ledger.push(JobRunChange::Event(change), after);
        }
        let event = events::job_ended(event, state, at_ms);
        let took = self.deps.running.end(job.number);
        let change = JobChange {
            duration_ms: took.map(events::to_milliseconds),
            ..events::job_change(job.number, state, at_ms, Some(event))
        };
        self.ledger
            .push(JobRunChange::Job(change), CommitFollowUp::JobEnded(key));
    }
}
