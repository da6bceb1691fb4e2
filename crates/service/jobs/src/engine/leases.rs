//! Leases of the nodes of jobs whose runs are ordered, and the runs of other jobs there.
//!
//! Invariants: no ordered run of a new job starts before every node of the order that can be held is held; the leases are
//! released after the job's end is durable; and a run that waits for a lease of another job has no slot.

use std::collections::{BTreeMap, BTreeSet};

use pcp::Certname;
use store::{EventChange, JobNumber, JobRunChange, NewEvent};

use super::active_jobs::{ActiveJob, RunPhase};
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::events;
use crate::keys::{JobKey, RunKey};
use crate::kind::JobKind;
use crate::leases::{LeaseHolding, LeaseServices, LeaseStep, RunEndKind, WantedLease};
use crate::state::{JobState, RunState};
use crate::verdict::RunVerdict;

/// Runs of other jobs on nodes that a job holds, by that job.
#[derive(Debug, Default)]
pub(super) struct RunsAwaitingLeases {
    by_holder: BTreeMap<JobKey, Vec<RunKey>>,
}

// === impl RunsAwaitingLeases ===

impl RunsAwaitingLeases {
    /// Adds a run. `true` for the first one of its job that waits for this holder.
    fn add_run(&mut self, holder: JobKey, run: RunKey) -> bool {
        let runs = self.by_holder.entry(holder).or_default();
        let is_first = runs.iter().all(|other| other.job != run.job);
        runs.push(run);
        is_first
    }

    /// Takes the runs of a job, none of which will start.
    pub(super) fn take_by_job(&mut self, job: JobKey) -> Vec<RunKey> {
        let runs = self.by_holder.values_mut();
        let taken = runs.flat_map(|runs| runs.extract_if(.., |run| run.job == job));
        taken.collect()
    }
}

// === impl JobEngine ===

impl JobEngine {
    /// Takes the leases of a job, as soon as the jobs that wanted them before have released them.
    pub(super) fn take_leases(&mut self, key: JobKey, wanted: &WantedLease) {
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return;
        };
        let number = job.number;
        let holding = LeaseHolding::new(self.lease_services(), number, wanted);
        // Also nodes without order: two jobs that each hold a node on which the other one runs would wait for each other.
        let nodes = job.runs.iter().map(|run| &run.certname);
        let nodes: BTreeSet<Certname> = nodes.chain(&wanted.nodes).cloned().collect();
        let wait = self.leases.take(key, nodes, holding);
        self.record_previous_ends(key);
        let before = wait.and_then(|wait| self.active_jobs.jobs.get(&wait.job).zip(Some(wait)));
        if let Some((before, wait)) = before {
            let event = events::leases_awaited(before.number, wait.nodes, self.deps.clock.now_ms());
            self.record_event(key, number, event);
        }
    }

    /// Handles a completed step: the runs of a job whose nodes are held start.
    pub(super) fn handle_lease_step(&mut self, step: LeaseStep) {
        let at_ms = self.deps.clock.now_ms();
        match step {
            LeaseStep::Taken(key, summary, holding) => {
                self.leases.keep(key, holding);
                self.start_leased(key);
                self.record_event_of(key, events::leases_taken(&summary, at_ms));
            }
            LeaseStep::Delayed(key, summary, holding) => {
                self.leases.resume(key, holding);
                self.record_event_of(key, events::leases_delayed(&summary, at_ms));
            }
            LeaseStep::KeepsAnswered(key) => {
                self.leases.await_keeps(key);
                self.end_job_if_due(key);
            }
            LeaseStep::PassedOn(key, holding) => {
                self.leases.pass_on(key, holding);
                self.start_parked(key);
            }
            LeaseStep::Released(key) => {
                self.leases.forget(key);
                self.start_parked(key);
            }
        }
    }

    fn start_leased(&mut self, key: JobKey) {
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let Some(order) = &mut job.order else { return };
        let released = order.record_leases();
        let count = job.queue(released);
        self.scheduler.add_waiting(key, count);
    }

    /// True if a job keeps other runs of this kind from starting on a node.
    pub(super) fn is_held(&self, kind: JobKind, certname: &Certname) -> bool {
        kind == JobKind::Puppet && self.leases.holder_of(certname).is_some()
    }

    /// Lets a run that has its turn wait if another job holds its node. `true`: it waits, or has ended.
    pub(super) fn park_for_lease(&mut self, run: RunKey, certname: &Certname) -> bool {
        let holder = self.leases.holder_of(certname);
        let Some(holder) = holder.filter(|holder| holder.key != run.job) else {
            return false;
        };
        let Some(job) = self.active_jobs.jobs.get(&run.job) else {
            return false;
        };
        if job.kind != JobKind::Puppet {
            return false;
        }
        let is_splayed = job.splayed.is_some();
        self.scheduler.release(run.job);
        if is_splayed {
            self.give_up(run, &RunVerdict::LeftToJob(holder.number));
        } else if self.awaiting_leases.add_run(holder.key, run) {
            let event = events::leases_awaited(holder.number, 1, self.deps.clock.now_ms());
            self.record_event_of(run.job, event);
        }
        true
    }

    /// Lets runs that waited for the leases of a job go on.
    fn start_parked(&mut self, holder: JobKey) {
        let runs = self.awaiting_leases.by_holder.remove(&holder);
        for run in runs.unwrap_or_default() {
            if let Some(job) = self.active_jobs.jobs.get_mut(&run.job) {
                job.waiting.push_back(run.index);
                self.scheduler.add_waiting(run.job, 1);
            }
        }
    }

    /// Keeps no node for a later pass if a job that ends in this state lets none follow.
    pub(super) fn end_passes(&self, key: JobKey, state: JobState) {
        let job = self.active_jobs.jobs.get(&key);
        if state == JobState::Stopped || job.is_some_and(|job| job.halted.is_some()) {
            self.leases.end_passes(key);
        }
    }

    /// Records for the leases how a run ended.
    pub(super) fn record_lease_end(&self, key: RunKey, state: RunState) {
        if let Some(job) = self.active_jobs.jobs.get(&key.job) {
            let certname = &job.runs[key.index].certname;
            self.leases
                .record_end(key.job, certname, end_kind(job, state));
        }
    }

    /// Records the ends of runs from before the job wanted its leases: refused ones.
    fn record_previous_ends(&self, key: JobKey) {
        let Some(job) = self.active_jobs.jobs.get(&key) else {
            return;
        };
        for run in &job.runs {
            match run.phase {
                RunPhase::Settled => {
                    self.leases
                        .record_end(key, &run.certname, RunEndKind::Failed);
                }
                RunPhase::Marking { .. } | RunPhase::Dispatched(_) => {
                    self.leases.record_begin(key, &run.certname);
                }
                RunPhase::Waiting => {}
            }
        }
    }

    fn lease_services(&self) -> LeaseServices {
        LeaseServices {
            fabric: self.deps.fabric.clone(),
            requests: self.deps.blocking_requests.clone(),
            returning: self.deps.returning.clone(),
            times: self.deps.leases,
        }
    }

    fn record_event_of(&mut self, key: JobKey, event: NewEvent) {
        if let Some(number) = self.active_jobs.jobs.get(&key).map(|job| job.number) {
            self.record_event(key, number, event);
        }
    }

    fn record_event(&mut self, key: JobKey, job: JobNumber, event: NewEvent) {
        let change = EventChange { job, event };
        self.ledger.push(
            JobRunChange::Event(change),
            CommitFollowUp::EventWritten(key),
        );
    }
}

/// The end of a run of this job, as far as leases depend on it.
pub(super) fn end_kind(job: &ActiveJob, state: RunState) -> RunEndKind {
    match state {
        RunState::Finished if job.dispatch.noop => RunEndKind::Noop,
        RunState::Finished => RunEndKind::Succeeded,
        _ => RunEndKind::Failed,
    }
}
