//! Leases of the nodes of jobs whose runs are ordered.
//!
//! Invariant: no ordered run of a new job starts before every node of the order that can be held is held; and the
//! leases are released after the job's end is durable.

use pcp::Certname;
use store::{EventChange, JobNumber, JobRunChange, NewEvent};
use uuid::Uuid;

use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::applications::StoredNodeOrder;
use crate::events;
use crate::keys::JobKey;
use crate::leases::{LeaseHolding, LeaseServices, LeaseStep};

/// The lease that a job wants on nodes.
pub(super) struct WantedLease {
    pub(super) lease: Uuid,
    pub(super) nodes: Vec<Certname>,
    /// Nodes on which the run did not succeed stay held.
    pub(super) has_quarantine: bool,
}

// === impl WantedLease ===

impl WantedLease {
    /// `None` in jobs of older servers.
    pub(super) fn of(order: StoredNodeOrder) -> Option<Self> {
        let StoredNodeOrder {
            lease,
            nodes,
            has_quarantine,
            ..
        } = order;
        lease.map(|lease| Self {
            lease,
            nodes,
            has_quarantine,
        })
    }
}

// === impl JobEngine ===

impl JobEngine {
    /// Takes the leases of a job, as soon as earlier jobs have released them.
    pub(super) fn take_leases(&mut self, key: JobKey, number: JobNumber, wanted: WantedLease) {
        let services = LeaseServices {
            fabric: self.deps.fabric.clone(),
            requests: self.deps.blocking_requests.clone(),
            returning: self.deps.returning.clone(),
            times: self.deps.leases,
        };
        let holding = LeaseHolding::new(services, number, wanted.lease, wanted.nodes);
        let Some(wait) = self.leases.take(key, holding) else {
            return;
        };
        if let Some(before) = self.active_jobs.jobs.get(&wait.job) {
            let event = events::leases_awaited(before.number, wait.nodes, self.deps.clock.now_ms());
            self.record_event(key, number, event);
        }
    }

    /// Handles a completed step: the runs of a job whose nodes are held start.
    pub(super) fn handle_lease_step(&mut self, step: LeaseStep) {
        let (key, summary, holding) = match step {
            LeaseStep::Released(key) => return self.leases.forget(key),
            LeaseStep::Taken {
                job,
                summary,
                holding,
            } => (job, summary, holding),
        };
        self.leases.keep(key, holding);
        let Some(job) = self.active_jobs.jobs.get_mut(&key) else {
            return;
        };
        let Some(order) = &mut job.order else { return };
        let released = order.record_leases();
        let count = job.queue(released);
        let number = job.number;
        self.scheduler.add_waiting(key, count);
        let event = events::leases_taken(&summary, self.deps.clock.now_ms());
        self.record_event(key, number, event);
    }

    /// Releases the leases of a job whose end is durable, except for those of nodes in quarantine.
    pub(super) fn release_leases(&mut self, key: JobKey) {
        let job = self.active_jobs.jobs.get_mut(&key);
        let quarantined = job.and_then(|job| job.quarantine.take());
        self.leases.release(key, quarantined.unwrap_or_default());
    }

    fn record_event(&mut self, key: JobKey, job: JobNumber, event: NewEvent) {
        let change = EventChange { job, event };
        self.ledger.push(
            JobRunChange::Event(change),
            CommitFollowUp::EventWritten(key),
        );
    }
}
