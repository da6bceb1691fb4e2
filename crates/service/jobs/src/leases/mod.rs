//! Leases: while a job whose runs are ordered has the leases of its nodes, no other run of Puppet starts there.
//!
//! [`JobLeases`] has the jobs that hold leases or wait for them, [`LeaseHolding`] the requests to the nodes of one job.
//! Invariants: no two jobs hold the lease of a node at a time; and leases end by themselves when no engine renews them.

mod holding;
mod node_lease;
mod queue;
mod requests;

use std::collections::{BTreeSet, HashMap};

use pcp::Certname;
use tokio::task::JoinSet;

use self::holding::LeaseEnd;
pub(crate) use self::holding::{LeaseHolding, LeaseServices};
pub(crate) use self::node_lease::LeaseSummary;
use self::queue::LeaseQueue;
pub use self::requests::NodeAnswer;
pub(crate) use self::requests::{release_all, show_all};
use crate::keys::JobKey;

/// The leases of all jobs.
#[derive(Default)]
pub(crate) struct JobLeases {
    queue: LeaseQueue,
    /// Holdings that wait until earlier jobs are over.
    waiting: HashMap<JobKey, LeaseHolding>,
    /// The jobs that hold leases, or take them now.
    holders: HashMap<JobKey, LeaseHolder>,
    /// One task for each holding, and its follow-up; ends with the engine, without a release.
    tasks: JoinSet<LeaseStep>,
}

/// A job that holds leases.
struct LeaseHolder {
    nodes: BTreeSet<Certname>,
    end: LeaseEnd,
}

/// A completed step of a holding.
pub(crate) enum LeaseStep {
    /// Every node that can be held is held.
    Taken {
        job: JobKey,
        summary: LeaseSummary,
        holding: LeaseHolding,
    },
    /// The leases are released, so that the next job can take them.
    Released(JobKey),
}

/// The earlier job that a holding waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseWait {
    pub(crate) job: JobKey,
    /// Number of nodes that it holds of those wanted.
    pub(crate) nodes: usize,
}

// === impl JobLeases ===

impl JobLeases {
    /// Takes the leases of a job as soon as no earlier job wants one of its nodes. Returns one that does.
    pub(crate) fn take(&mut self, job: JobKey, holding: LeaseHolding) -> Option<LeaseWait> {
        self.queue.add(job, holding.nodes());
        let before = self.queue.first_before(job);
        match before {
            Some(_) => _ = self.waiting.insert(job, holding),
            None => self.start(job, holding),
        }
        before
    }

    /// Those of these nodes that the job holds, or takes now.
    pub(crate) fn held_of<'a>(
        &self,
        job: JobKey,
        nodes: impl Iterator<Item = &'a Certname>,
    ) -> Vec<&'a Certname> {
        match self.holders.get(&job) {
            Some(holder) => nodes.filter(|node| holder.nodes.contains(*node)).collect(),
            None => Vec::new(),
        }
    }

    /// Releases the leases of a job that is over, except for those of nodes in quarantine.
    pub(crate) fn release(&mut self, job: JobKey, quarantined: BTreeSet<Certname>) {
        if let Some(holder) = self.holders.remove(&job) {
            holder.end.end(quarantined);
        }
        if self.waiting.remove(&job).is_some() {
            self.forget(job);
        }
    }

    /// Forgets a job that has no leases any more, and takes those of the jobs that waited for it.
    pub(crate) fn forget(&mut self, job: JobKey) {
        for next in self.queue.remove(job) {
            if let Some(holding) = self.waiting.remove(&next) {
                self.start(next, holding);
            }
        }
    }

    /// The next completed step; `None` if no holding is under way.
    pub(crate) async fn next_step(&mut self) -> Option<Result<LeaseStep, tokio::task::JoinError>> {
        self.tasks.join_next().await
    }

    /// Renews the leases of a job until they are released.
    pub(crate) fn keep(&mut self, job: JobKey, holding: LeaseHolding) {
        self.tasks.spawn(async move {
            holding.keep().await;
            LeaseStep::Released(job)
        });
    }

    fn start(&mut self, job: JobKey, mut holding: LeaseHolding) {
        let holder = LeaseHolder {
            nodes: holding.nodes().iter().cloned().collect(),
            end: holding.end(),
        };
        self.holders.insert(job, holder);
        self.tasks.spawn(async move {
            match holding.take().await {
                Some(summary) => LeaseStep::Taken {
                    job,
                    summary,
                    holding,
                },
                None => LeaseStep::Released(job),
            }
        });
    }
}
