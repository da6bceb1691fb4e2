//! Asynchronous locks on environments: [`Locks`].
//!
//! Invariant: a worker or deployment that has ended, also by an error, holds nothing.

use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use environments::EnvironmentName;
use tokio::sync::oneshot;

use super::holds::{Blockers, Holds, Ticket, Who, Worker};

/// The holders of all environments. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    holds: Holds,
    told: HashMap<Ticket, oneshot::Sender<()>>,
    /// The holds of running plans and jobs.
    workers: HashMap<Worker, (EnvironmentName, Ticket)>,
}

/// A hold on an environment, or a queued request for one; released on drop.
#[derive(Debug)]
pub struct EnvironmentHold {
    locks: Locks,
    environment: EnvironmentName,
    ticket: Ticket,
}

// === impl Locks ===

impl Locks {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an environment; on a timeout, returns the holders that it waited for.
    pub(super) async fn take(
        &self,
        environment: &EnvironmentName,
        who: Who,
        timeout: Duration,
    ) -> Result<EnvironmentHold, Blockers> {
        let (tell, told) = oneshot::channel();
        let hold = {
            let mut inner = self.inner();
            let ticket = inner.holds.ask(environment, who);
            inner.told.insert(ticket, tell);
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

    /// Assigns a hold to a worker, which keeps it until it is [over](Self::keep_only).
    pub(super) fn keep(&self, worker: Worker, hold: EnvironmentHold) {
        // From now on the hold belongs to the worker.
        let hold = ManuallyDrop::new(hold);
        let (environment, ticket) = (hold.environment.clone(), hold.ticket);
        let mut inner = self.inner();
        inner.holds.name(&environment, ticket, worker);
        inner.own(worker, environment, ticket);
    }

    /// Restores the hold of a worker that started before a restart.
    pub(super) fn restore(&self, worker: Worker, environment: &EnvironmentName) {
        let mut inner = self.inner();
        let ticket = inner.holds.ask(environment, Who::Worker(Some(worker)));
        inner.admit(environment);
        inner.own(worker, environment.clone(), ticket);
    }

    /// True if any plan or job holds an environment.
    pub(super) fn has_workers(&self) -> bool {
        !self.inner().workers.is_empty()
    }

    /// Releases the holds of all workers that are not among these.
    pub(super) fn keep_only(&self, running: &HashSet<Worker>) {
        let mut inner = self.inner();
        let over: Vec<Worker> = inner
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
    pub(super) fn waiting(&self) -> HashMap<i64, Blockers> {
        self.inner().holds.waiting_deployments()
    }
}

impl Inner {
    /// Releases the earlier hold of a plan that already had one and was resumed.
    fn own(&mut self, worker: Worker, environment: EnvironmentName, ticket: Ticket) {
        if let Some((environment, ticket)) = self.workers.insert(worker, (environment, ticket)) {
            self.leave(&environment, ticket);
        }
    }

    fn leave(&mut self, environment: &EnvironmentName, ticket: Ticket) {
        self.told.remove(&ticket);
        self.holds.leave(environment, ticket);
        self.admit(environment);
    }

    fn admit(&mut self, environment: &EnvironmentName) {
        for ticket in self.holds.admit(environment) {
            if let Some(tell) = self.told.remove(&ticket) {
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
