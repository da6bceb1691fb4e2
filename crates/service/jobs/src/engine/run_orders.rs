//! Starts and ends that follow from the order of a job's runs.
//!
//! Invariant: decisions of [`RunOrder`] are carried out in the order of the ledger, so a success is in the store before
//! a run that waited for it is marked.

use super::draft::JobTarget;
use super::state::JobEngine;
use crate::applications::{BlockedRun, RunOrder};
use crate::keys::RunKey;
use crate::state::RunState;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// After the end of a run: starts the runs that waited for it, or skips those that depend on it.
    pub(super) fn follow_order(&mut self, key: RunKey, state: RunState) {
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        let Some(order) = &mut job.order else { return };
        if state == RunState::Finished {
            let released = order.record_success(key.index);
            let count = job.queue(released);
            self.scheduler.add_waiting(key.job, count);
            return;
        }
        let blocked = order.record_failure(key.index);
        let certname = |index: usize| job.runs[index].certname.clone();
        let verdicts: Vec<(RunKey, RunVerdict)> = blocked
            .into_iter()
            .map(|BlockedRun { index, waits_for }| {
                let verdict = RunVerdict::DependencyFailed {
                    waits_for: certname(waits_for),
                    failed: certname(key.index),
                };
                (RunKey { index, ..key }, verdict)
            })
            .collect();
        for (run, verdict) in verdicts {
            self.give_up(run, &verdict);
        }
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
