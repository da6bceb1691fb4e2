//! Starts and ends that follow from the order of a job's runs.
//!
//! Invariant: a run is released only when the success of all runs that it waits for is durable; so it never runs beside
//! a producer that the store shows as failed.

use pcp::Certname;

use super::draft::JobTarget;
use super::state::JobEngine;
use crate::applications::{BlockedRun, BlockingNodes, RunOrder};
use crate::keys::RunKey;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// Starts the runs that waited for this one, whose success is durable. If the store has another end of the run
    /// (`is_recorded` is false), they are skipped.
    pub(super) fn follow_success(&mut self, key: RunKey, is_recorded: bool) {
        if !is_recorded {
            self.skip_dependents(key);
            self.advance(key.job);
            return self.end_job_if_due(key.job);
        }
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        let Some(order) = &mut job.order else { return };
        let released = order.record_success(key.index);
        let count = job.queue(released);
        self.scheduler.add_waiting(key.job, count);
    }

    /// Ends a run that waits for a node which did not succeed, and those that depend on it.
    pub(super) fn skip_blocked(&mut self, key: RunKey, by: BlockingNodes) {
        let BlockingNodes { waits_for, failed } = by;
        let verdict = RunVerdict::DependencyFailed {
            waits_for,
            failed: failed.clone(),
        };
        self.record_verdict(key, &verdict);
        for (run, verdict) in self.blocked_runs(key, &failed) {
            self.record_verdict(run, &verdict);
        }
        self.advance(key.job);
        self.end_job_if_due(key.job);
    }

    /// Ends the runs that depend on this one, which did not succeed. The rollout takes no step before all of them
    /// have ended, so that it counts them.
    pub(super) fn skip_dependents(&mut self, key: RunKey) {
        let Some(failed) = self.active_jobs.run(key).map(|run| run.certname.clone()) else {
            return;
        };
        for (run, verdict) in self.blocked_runs(key, &failed) {
            self.record_verdict(run, &verdict);
        }
    }

    /// The runs that depend on this one, each once, with the reason that `failed` did not succeed.
    fn blocked_runs(&mut self, key: RunKey, failed: &Certname) -> Vec<(RunKey, RunVerdict)> {
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return Vec::new();
        };
        let Some(order) = &mut job.order else {
            return Vec::new();
        };
        let blocked = order.record_failure(key.index).into_iter();
        let certname = |index: usize| job.runs[index].certname.clone();
        let verdict = |BlockedRun { index, waits_for }| {
            let verdict = RunVerdict::DependencyFailed {
                waits_for: certname(waits_for),
                failed: failed.clone(),
            };
            (RunKey { index, ..key }, verdict)
        };
        blocked.map(verdict).collect()
    }
}

/// The runs that cannot start because these did not succeed, each with the reason.
pub(super) fn blocked_by(
    order: &mut RunOrder,
    refused: &[usize],
    targets: &[JobTarget],
) -> Vec<(usize, RunVerdict)> {
    let mut blocked = Vec::new();
    for index in refused {
        let dependents = order.record_failure(*index).into_iter();
        blocked.extend(dependents.map(|run| {
            let verdict = RunVerdict::DependencyFailed {
                waits_for: targets[run.waits_for].certname.clone(),
                failed: targets[*index].certname.clone(),
            };
            (run.index, verdict)
        }));
    }
    blocked
}
