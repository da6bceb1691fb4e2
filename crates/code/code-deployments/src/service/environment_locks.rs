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

/// The holds of plans and jobs at one moment.
pub(super) type WorkerHolds = HashMap<CodeUser, HoldTicket>;

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

    /// The plans and jobs that hold an environment, with their holds.
    pub(super) fn worker_holds(&self) -> WorkerHolds {
        let inner = self.inner();
        let holds = inner.workers.iter();
        holds
            .map(|(worker, (_, ticket))| (*worker, *ticket))
            .collect()
    }

    /// Releases the holds of the workers that are not running. `holds` was read before `running`: a worker
    /// that got its hold meanwhile may be missing in `running`.
    pub(super) fn release_except(&self, holds: &WorkerHolds, running: &HashSet<CodeUser>) {
        let mut inner = self.inner();
        for (worker, held) in holds {
            if running.contains(worker) {
                continue;
            }
            let now = inner.workers.get(worker);
            if now.is_some_and(|(_, ticket)| ticket == held)
                && let Some((environment, ticket)) = inner.workers.remove(worker)
            {
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn assign(locks: &EnvironmentLocks, worker: CodeUser) {
        let production = "production".parse().unwrap();
        let nobody = HoldRequester::Worker(None);
        let hold = locks.acquire(&production, nobody, Duration::from_secs(30));
        locks.assign(worker, hold.await.unwrap());
    }

    #[tokio::test]
    async fn a_worker_that_gets_its_hold_while_the_running_ones_are_read_keeps_it() {
        let locks = EnvironmentLocks::default();
        let (ended, resumed, new) = (CodeUser::Job(1), CodeUser::Plan(1), CodeUser::Job(2));
        assign(&locks, ended).await;
        assign(&locks, resumed).await;
        let holds = locks.worker_holds();
        let running = HashSet::new();
        assign(&locks, resumed).await;
        assign(&locks, new).await;
        locks.release_except(&holds, &running);
        let kept: HashSet<CodeUser> = locks.worker_holds().into_keys().collect();
        assert_eq!(kept, HashSet::from([resumed, new]));
        locks.release_except(&locks.worker_holds(), &HashSet::from([new]));
        assert_eq!(locks.worker_holds().len(), 1);
    }
}
