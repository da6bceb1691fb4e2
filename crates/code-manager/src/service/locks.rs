//! Waiting for an environment: [`Locks`].
//!
//! The rule that must hold: whoever is gone, also by an error, holds nothing.

use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deploy::EnvironmentName;
use tokio::sync::oneshot;

use super::holds::{Blockers, Holds, Ticket, Who};

/// Who holds which environment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    holds: Holds,
    told: HashMap<Ticket, oneshot::Sender<()>>,
    /// What plans hold that run.
    plans: HashMap<i64, (EnvironmentName, Ticket)>,
}

/// An environment that is held, or a place in the line for it; given back when it is dropped.
#[derive(Debug)]
pub struct Hold {
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
    ) -> Result<Hold, Blockers> {
        let (tell, told) = oneshot::channel();
        let hold = {
            let mut inner = self.inner();
            let ticket = inner.holds.ask(environment, who);
            inner.told.insert(ticket, tell);
            inner.admit(environment);
            Hold {
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

    /// A plan runs with what it holds, until it is [over](Self::keep_only).
    pub(super) fn keep(&self, plan: i64, hold: Hold) {
        // From now on it is the plan's.
        let hold = ManuallyDrop::new(hold);
        let (environment, ticket) = (hold.environment.clone(), hold.ticket);
        let mut inner = self.inner();
        inner.holds.name(&environment, ticket, plan);
        inner.own(plan, environment, ticket);
    }

    /// A plan of before a restart, which held its environment.
    pub(super) fn restore(&self, plan: i64, environment: &EnvironmentName) {
        let mut inner = self.inner();
        let ticket = inner.holds.ask(environment, Who::Plan(Some(plan)));
        inner.admit(environment);
        inner.own(plan, environment.clone(), ticket);
    }

    /// Whether any plan holds anything.
    pub(super) fn has_plans(&self) -> bool {
        !self.inner().plans.is_empty()
    }

    /// Gives back what plans hold that are not among these.
    pub(super) fn keep_only(&self, running: &HashSet<i64>) {
        let mut inner = self.inner();
        let over: Vec<i64> = inner
            .plans
            .keys()
            .filter(|plan| !running.contains(plan))
            .copied()
            .collect();
        for plan in over {
            if let Some((environment, ticket)) = inner.plans.remove(&plan) {
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
    fn own(&mut self, plan: i64, environment: EnvironmentName, ticket: Ticket) {
        if let Some((environment, ticket)) = self.plans.insert(plan, (environment, ticket)) {
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

impl Drop for Hold {
    fn drop(&mut self) {
        self.locks.inner().leave(&self.environment, self.ticket);
    }
}
