//! Waiting for an environment: [`Locks`].
//!
//! The rule that must hold: whoever is gone, also by an error, holds nothing.

use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use environments::EnvironmentName;
use tokio::sync::oneshot;

use super::holds::{Blockers, Holds, Ticket, Who, Worker};

/// Who holds which environment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    holds: Holds,
    told: HashMap<Ticket, oneshot::Sender<()>>,
    /// What plans and jobs hold that run.
    workers: HashMap<Worker, (EnvironmentName, Ticket)>,
}

/// An environment that is held, or a place in the line for it; given back when it is dropped.
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

    /// Waits for an environment; whom for, if it takes too long.
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
        // It is given back only after that.
        drop(inner);
        Err(blockers)
    }

    /// A worker runs with what it holds, until it is [over](Self::keep_only).
    pub(super) fn keep(&self, worker: Worker, hold: EnvironmentHold) {
        // From now on it is the worker's.
        let hold = ManuallyDrop::new(hold);
        let (environment, ticket) = (hold.environment.clone(), hold.ticket);
        let mut inner = self.inner();
        inner.holds.name(&environment, ticket, worker);
        inner.own(worker, environment, ticket);
    }

    /// A worker of before a restart, which held its environment.
    pub(super) fn restore(&self, worker: Worker, environment: &EnvironmentName) {
        let mut inner = self.inner();
        let ticket = inner.holds.ask(environment, Who::Worker(Some(worker)));
        inner.admit(environment);
        inner.own(worker, environment.clone(), ticket);
    }

    /// Whether any plan or job holds anything.
    pub(super) fn has_workers(&self) -> bool {
        !self.inner().workers.is_empty()
    }

    /// Gives back what workers hold that are not among these.
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

    /// Whom the deployments of an environment wait for that wait for somebody.
    pub(super) fn waiting(&self) -> HashMap<i64, Blockers> {
        self.inner().holds.waiting_deployments()
    }
}

impl Inner {
    /// A plan that held already, and was resumed, gives back what it had.
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
                // Who gave up in this moment leaves at once.
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
