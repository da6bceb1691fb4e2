//! Asynchronous locks on environments: [`EnvironmentLocks`].
//!
//! Invariant: a worker or deployment that has ended, also by an error, holds nothing.

use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use environments::EnvironmentName;
use tokio::sync::oneshot;

use super::hold_queue::{CodeUser, EnvironmentHolds, HoldBlockers, HoldRequester, HoldTicket};

/// The holders of all environments. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct EnvironmentLocks {
    inner: Arc<Mutex<HoldRegistry>>,
}

#[derive(Debug, Default)]
struct HoldRegistry {
    holds: EnvironmentHolds,
    grant_senders: HashMap<HoldTicket, oneshot::Sender<()>>,
    /// The holds of running plans and jobs.
    workers: HashMap<CodeUser, (EnvironmentName, HoldTicket)>,
}

/// A hold on an environment, or a queued request for one; released on drop.
#[derive(Debug)]
pub struct EnvironmentHold {
    locks: EnvironmentLocks,
    environment: EnvironmentName,
    ticket: HoldTicket,
}

// === impl EnvironmentLocks ===

impl EnvironmentLocks {
    fn inner(&self) -> MutexGuard<'_, HoldRegistry> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an environment; on a timeout, returns the holders that it waited for.
    pub(super) async fn acquire(
        &self,
        environment: &EnvironmentName,
        who: HoldRequester,
        timeout: Duration,
    ) -> Result<EnvironmentHold, HoldBlockers> {
        let (tell, told) = oneshot::channel();
        let hold = {
            let mut inner = self.inner();
            let ticket = inner.holds.enqueue(environment, who);
            inner.grant_senders.insert(ticket, tell);
            inner.admit(environment);
            EnvironmentHold {
                locks: self.clone(),
                environment: environment.clone(),
                ticket,
            }
        };
        if tokio::time::timeout(timeout, told).await.is_ok() {
            return Ok(hold);
        }
        let inner = self.inner();
        let blockers = inner.holds.blockers(environment, hold.ticket);
        // The hold is released only after that.
        drop(inner);
        Err(blockers)
    }

    /// Assigns a hold to a worker, which keeps it until it is [over](Self::release_except).
    pub(super) fn assign(&self, worker: CodeUser, hold: EnvironmentHold) {
        // From now on the hold belongs to the worker.
        let hold = ManuallyDrop::new(hold);
        let (environment, ticket) = (hold.environment.clone(), hold.ticket);
        let mut inner = self.inner();
        inner.holds.set_worker(&environment, ticket, worker);
        inner.set_owner(worker, environment, ticket);
    }

    /// Restores the hold of a worker that started before a restart.
    pub(super) fn restore(&self, worker: CodeUser, environment: &EnvironmentName) {
        let mut inner = self.inner();
        let ticket = inner
            .holds
            .enqueue(environment, HoldRequester::Worker(Some(worker)));
        inner.admit(environment);
        inner.set_owner(worker, environment.clone(), ticket);
    }

    /// True if any plan or job holds an environment.
    pub(super) fn has_workers(&self) -> bool {
        !self.inner().workers.is_empty()
    }

    /// Releases the holds of all workers that are not among these.
    pub(super) fn release_except(&self, running: &HashSet<CodeUser>) {
        let mut inner = self.inner();
        let over: Vec<CodeUser> = inner
            .workers
            .keys()
            .filter(|worker| !running.contains(worker))
            .copied()
            .collect();
        for worker in over {
            if let Some((environment, ticket)) = inner.workers.remove(&worker) {
                inner.leave(&environment, ticket);
            }
        }
    }

    /// The waiting deployments of an environment, each with the holders that it waits for.
    pub(super) fn waiting_deployments(&self) -> HashMap<i64, HoldBlockers> {
        self.inner().holds.waiting_deployments()
    }
}

impl HoldRegistry {
    /// Releases the earlier hold of a plan that already had one and was resumed.
    fn set_owner(&mut self, worker: CodeUser, environment: EnvironmentName, ticket: HoldTicket) {
        if let Some((environment, ticket)) = self.workers.insert(worker, (environment, ticket)) {
            self.leave(&environment, ticket);
        }
    }

    fn leave(&mut self, environment: &EnvironmentName, ticket: HoldTicket) {
        self.grant_senders.remove(&ticket);
        self.holds.release(environment, ticket);
        self.admit(environment);
    }

    fn admit(&mut self, environment: &EnvironmentName) {
        for ticket in self.holds.grant_next(environment) {
            if let Some(tell) = self.grant_senders.remove(&ticket) {
                // A request that was abandoned at this moment is released at once.
                let _ = tell.send(());
            }
        }
    }
}

impl Drop for EnvironmentHold {
    fn drop(&mut self) {
        self.locks.inner().leave(&self.environment, self.ticket);
    }
}
