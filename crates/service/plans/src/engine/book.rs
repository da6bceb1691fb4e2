//! A plan as the engine knows it: [`Entry`], and where it [is](Where).
//!
//! Invariant: a plan has one life at a time, and the waits of an earlier life are dropped when it
//! ends.

use std::collections::HashMap;
use std::sync::Arc;

use store::StoreError;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Done, Engine};
use crate::core::Rest;
use crate::effects::Actor;
use crate::program::Fault;
use crate::step::StepId;
use crate::worker::{Life, Order};

pub(super) struct Entry {
    pub(super) life: Life,
    pub(super) at: Where,
    pub(super) actor: Option<Arc<Actor>>,
    /// The deadline of the plan.
    pub(super) until_ms: Option<i64>,
    /// It was over and goes on: it is taken up again when it has left.
    again: Option<Option<i64>>,
    /// The outcomes that the plan waits for.
    waits: HashMap<StepId, AbortHandle>,
    /// Since when nothing moves, and what it waits for.
    pub(super) rest: Option<(Instant, Rest)>,
    /// The number of orders sent to its worker.
    pub(super) orders: u64,
    /// The number of jobs that are being created for the plan.
    pub(super) starting: usize,
}

/// The state of a plan in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Queued for memory.
    Queued,
    /// Being loaded into memory.
    Loading,
    /// In memory.
    Running,
    /// Its end is being written.
    Ending,
    /// Out of memory; the store does not know it yet. `true`: it is wanted again.
    FallingAsleep(bool),
    /// Out of memory, until something happens that it waits for.
    Asleep,
    /// Out of memory, since the store failed it.
    Paused,
}

/// The reason why an operation of a plan was not done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The store cannot be used now, or it is unknown whether the commit succeeded.
    Store(StoreError),
    /// The store cannot be used any more.
    Lost(StoreError),
    /// The plan was ended from outside.
    Over,
    /// The plan cannot go on.
    Broken(Fault),
    /// The same, but of those who make jobs.
    Unavailable(String),
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(life: Life, at: Where) -> Self {
        Self {
            life,
            at,
            actor: None,
            until_ms: None,
            again: None,
            waits: HashMap::new(),
            rest: None,
            orders: 0,
            starting: 0,
        }
    }

    pub(super) fn is_asleep(&self) -> bool {
        matches!(self.at, Where::Asleep | Where::FallingAsleep(_))
    }

    /// Returns true if the plan occupies memory.
    pub(super) fn has_place(&self) -> bool {
        matches!(self.at, Where::Loading | Where::Running | Where::Ending)
    }

    pub(super) fn wait(&mut self, step: StepId, handle: AbortHandle) {
        if let Some(before) = self.waits.insert(step, handle) {
            before.abort();
        }
    }

    pub(super) fn drop_wait(&mut self, step: &StepId) {
        if let Some(handle) = self.waits.remove(step) {
            handle.abort();
        }
    }

    pub(super) fn arrived(&mut self, step: &StepId) {
        self.waits.remove(step);
    }

    pub(super) fn stop_waiting(&mut self) {
        for (_, handle) in self.waits.drain() {
            handle.abort();
        }
    }
}

// === impl Trouble ===

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            error if error.is_end() => Self::Lost(error),
            error => Self::Store(error),
        }
    }
}

// === impl Engine ===

impl Engine {
    pub(super) fn new_life(&mut self, plan: i64) -> Life {
        self.lives += 1;
        Life {
            plan,
            number: self.lives,
        }
    }

    /// Returns the plan, if this is still its life.
    pub(super) fn alive(&mut self, life: Life) -> Option<&mut Entry> {
        self.plans
            .get_mut(&life.plan)
            .filter(|entry| entry.life == life)
    }

    /// A plan is new, or goes on after it failed; then it may not have left yet.
    pub(super) fn begin(&mut self, plan: i64, until_ms: Option<i64>) {
        if let Some(entry) = self.plans.get_mut(&plan) {
            entry.again = Some(until_ms);
            return;
        }
        self.enqueue(plan);
        if let Some(entry) = self.plans.get_mut(&plan) {
            entry.until_ms = until_ms;
        }
    }

    /// Queues a plan for memory.
    pub(super) fn enqueue(&mut self, plan: i64) {
        let life = self.new_life(plan);
        if let Some(entry) = self.plans.get(&plan)
            && !matches!(entry.at, Where::Asleep | Where::Paused)
        {
            return;
        }
        let mut entry = Entry::new(life, Where::Queued);
        if let Some(mut before) = self.plans.remove(&plan) {
            before.stop_waiting();
            entry.actor = before.actor;
            entry.until_ms = before.until_ms;
        }
        self.plans.insert(plan, entry);
        self.queue.push_back(plan);
    }

    /// Loads queued plans while there is capacity.
    pub(super) fn admit(&mut self) {
        while self.running < self.parts.config.running_plans {
            let Some(plan) = self.queue.pop_front() else {
                return;
            };
            if let Some(entry) = self.plans.get_mut(&plan)
                && entry.at == Where::Queued
            {
                entry.at = Where::Loading;
                let life = entry.life;
                self.running += 1;
                self.load(life);
            }
        }
    }

    /// Releases the memory slot of the plan.
    pub(super) fn unload(&mut self, plan: i64, to: Where) {
        let Some(entry) = self.plans.get_mut(&plan) else {
            return;
        };
        if entry.has_place() {
            self.running -= 1;
        }
        entry.at = to;
        entry.rest = None;
        let life = entry.life;
        self.order(life, Order::Unload(life));
    }

    /// The plan is over.
    pub(super) fn forget(&mut self, plan: i64) {
        self.unload(plan, Where::Ending);
        self.parts.over.send_modify(|over| *over += 1);
        if let Some(mut entry) = self.plans.remove(&plan) {
            entry.stop_waiting();
            if let Some(until_ms) = entry.again {
                self.begin(plan, until_ms);
            }
        }
    }

    /// The plan leaves the memory and is taken up again in a while; or it is over.
    pub(super) fn trouble(&mut self, life: Life, trouble: Trouble) {
        if self.alive(life).is_none() {
            return;
        }
        let plan = life.plan;
        match trouble {
            Trouble::Lost(error) => self.lost = Some(error),
            Trouble::Over => self.forget(plan),
            Trouble::Broken(fault) => self.end_broken(life, fault),
            Trouble::Store(error) => {
                let source = std::error::Error::source(&error);
                tracing::error!(plan, %error, source, "a plan cannot be written; tried again");
                self.pause(life);
            }
            Trouble::Unavailable(reason) => {
                tracing::error!(plan, %reason, "a job of a plan cannot be made; tried again");
                self.pause(life);
            }
        }
    }

    fn pause(&mut self, life: Life) {
        self.unload(life.plan, Where::Paused);
        if let Some(entry) = self.alive(life) {
            entry.stop_waiting();
        }
        let pause = self.parts.config.store_retry;
        self.tasks.spawn(async move {
            tokio::time::sleep(pause).await;
            Done::Retry(life)
        });
    }

    pub(super) fn retry(&mut self, life: Life) {
        if self
            .alive(life)
            .is_some_and(|plan| plan.at == Where::Paused)
        {
            self.enqueue(life.plan);
        }
    }
}
