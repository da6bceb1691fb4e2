//! Starts and ends of runs, in memory: decisions made here are durable after the next commit.

use std::sync::Arc;
use std::time::SystemTime;

use pxp::Capabilities;
use serde_json::Value;
use store::{Change, JobChange, RunChange};
use tokio::time::Instant;
use uuid::Uuid;

use super::book::Phase;
use super::ledger::After;
use super::state::Engine;
use crate::events::{self, RunMark};
use crate::keys::{JobKey, RunKey};
use crate::metrics::count;
use crate::outcome::Shaped;
use crate::rollout::{is_failure, remember};
use crate::state::{JobState, RunState};
use crate::verdict::Verdict;

/// A run's end before it is written.
pub(super) struct End {
    pub(super) state: RunState,
    pub(super) result: String,
    pub(super) details: String,
    pub(super) message: String,
    /// As in [`Shaped::told`].
    pub(super) told: Option<Value>,
    /// As in [`Shaped::sealed`].
    pub(super) sealed: Option<Vec<u8>>,
    /// The agent keeps the outcome until it is acknowledged.
    pub(super) acknowledge: bool,
}

// === impl Engine ===

impl Engine {
    /// Gives the free slots to the runs that wait, in turns of their jobs.
    pub(super) fn pump(&mut self) {
        while let Some(key) = self.scheduler.next() {
            self.start_next(key);
        }
    }

    /// Starts the job's next run, which has a slot.
    fn start_next(&mut self, key: JobKey) {
        let Some(job) = self.book.jobs.get_mut(&key) else {
            return;
        };
        let Some(index) = job.waiting.pop_front() else {
            return self.scheduler.release(key);
        };
        let run_key = RunKey { job: key, index };
        let (after_restart, readable) = (job.after_restart, job.action.is_some());
        let (certname, kind) = (job.runs[index].certname.clone(), job.kind);
        let over_ssh = job
            .action
            .as_ref()
            .map(|action| Arc::clone(&action.over_ssh));
        let way = self.way(&certname, kind, &over_ssh.unwrap_or_default());
        let Some((via, presence)) = way else {
            self.scheduler.release(key);
            if !self.book.run(run_key).is_some_and(|run| run.is_awaited) {
                return self.give_up(run_key, &self.no_way(&certname, kind));
            }
            let until = Instant::now() + self.parts.away_grace;
            let until = match after_restart {
                true => until.max(self.recovering_until),
                false => until,
            };
            return self.parked.park(certname, run_key, until);
        };
        let Some(run) = self.book.run_mut(run_key) else {
            return;
        };
        run.phase = Phase::Marking { spool_id: None };
        run.via = via;
        match readable {
            true => self.mark(run_key, presence.capabilities.as_ref()),
            false => self.give_up(run_key, &Verdict::Unreadable),
        }
    }

    /// Records that the run's request is about to be sent.
    fn mark(&mut self, key: RunKey, capabilities: Option<&Arc<Capabilities>>) {
        let spool_id = capabilities.and_then(|capabilities| capabilities.spool_id);
        let at_ms = self.parts.clock.now_ms();
        let mark = self.mark_of(spool_id);
        let Some(job) = self.book.jobs.get_mut(&key.job) else {
            return;
        };
        if !job.started {
            job.started = true;
            self.parts.running.begin(job.number, Instant::now());
            let change = events::job_change(job.number, JobState::Running, at_ms, None);
            self.ledger.push(Change::Job(change), After::Told(key.job));
        }
        job.trace_run(key.index, SystemTime::now());
        let run = &mut job.runs[key.index];
        run.phase = Phase::Marking { spool_id };
        let change = RunChange {
            job: job.number,
            certname: run.certname.to_string(),
            to_state: RunState::Running.as_str().to_owned(),
            at_ms,
            duration_ms: None,
            result: None,
            details: Some(mark.to_details(run.via)),
            sealed: None,
            event: Some(events::running(job.kind, &run.certname, job.noop, at_ms)),
        };
        self.ledger.push(Change::Run(change), After::Marked(key));
    }

    /// The mark of a run whose request is about to be sent.
    pub(super) fn mark_of(&self, spool_id: Option<Uuid>) -> RunMark {
        RunMark {
            spool_id,
            marked_ms: Some(self.parts.clock.steady_ms()),
            silent_until_ms: None,
        }
    }

    /// Ends a run without an outcome.
    pub(super) fn give_up(&mut self, key: RunKey, verdict: &Verdict) {
        self.end_with(key, verdict, false);
    }

    /// Ends a run because of its agent's report; an agent that keeps this until it is acknowledged
    /// may forget it after the commit.
    pub(super) fn give_up_as_told(&mut self, key: RunKey, verdict: &Verdict) {
        let acknowledge = self.acknowledges(key);
        self.end_with(key, verdict, acknowledge);
    }

    fn end_with(&mut self, key: RunKey, verdict: &Verdict, acknowledge: bool) {
        let Some(run) = self.book.run(key) else {
            return;
        };
        let message = verdict.message(&run.certname);
        let result = verdict.result(&run.certname).to_string();
        let details = events::message_details(&message);
        let state = verdict.state();
        self.end(
            key,
            End {
                state,
                result,
                details,
                message,
                told: None,
                sealed: None,
                acknowledge,
            },
        );
    }

    /// Ends a run with its outcome.
    pub(super) fn record(&mut self, key: RunKey, shaped: Shaped, acknowledge: bool) {
        let Shaped {
            state,
            result,
            details,
            message,
            told,
            sealed,
        } = shaped;
        self.end(
            key,
            End {
                state,
                result,
                details,
                message,
                told,
                sealed,
                acknowledge,
            },
        );
    }

    fn end(&mut self, key: RunKey, end: End) {
        let Some(phase) = self.book.settle(key) else {
            return;
        };
        self.trace(key, |trace| trace.decided(end.state));
        let took = match &phase {
            Phase::Flying(flying) => flying.flight.age(Instant::now()),
            _ => None,
        };
        if !matches!(phase, Phase::Waiting) {
            self.scheduler.release(key.job);
        }
        count(&self.parts.metrics.runs_ended);
        if end.state == RunState::Errored {
            count(&self.parts.metrics.runs_errored);
        }
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get_mut(&key.job) else {
            return;
        };
        let run = &job.runs[key.index];
        let certname = &run.certname;
        let (state, kind) = (end.state, job.kind);
        let event = events::ended(kind, certname, state, &end.message, end.told, at_ms);
        let change = RunChange {
            job: job.number,
            certname: certname.to_string(),
            to_state: end.state.as_str().to_owned(),
            at_ms,
            result: Some(end.result),
            duration_ms: took.map(events::milliseconds),
            details: Some(events::details_via(end.details, run.via)),
            sealed: end.sealed,
            event: Some(event),
        };
        let after = After::Ended {
            run: key,
            acknowledge: end.acknowledge,
        };
        self.ledger.push(Change::Run(change), after);
        job.tally.run_ended(end.state);
        if is_failure(end.state) {
            remember(&mut job.failed, &job.runs[key.index].certname);
        }
        job.rollout.run_ended(job.runs[key.index].batch, end.state);
        self.advance(key.job);
        self.end_job_if_due(key.job);
    }

    /// Records the job's end behind that of its last run.
    pub(super) fn end_job_if_due(&mut self, key: JobKey) {
        let at_ms = self.parts.clock.now_ms();
        let Some(job) = self.book.jobs.get_mut(&key) else {
            return;
        };
        let Some((state, event)) = job.tally.end() else {
            return;
        };
        if let Some(trace) = &mut job.trace {
            trace.decided(state);
        }
        let event = events::job_ended(event, state, at_ms);
        let took = self.parts.running.end(job.number);
        let change = JobChange {
            duration_ms: took.map(events::milliseconds),
            ..events::job_change(job.number, state, at_ms, Some(event))
        };
        self.ledger.push(Change::Job(change), After::JobEnded(key));
    }
}
