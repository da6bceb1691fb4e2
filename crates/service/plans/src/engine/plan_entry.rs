//! A plan in the engine: [`EnginePlan`], and its state ([`EnginePlanState`]).
//!
//! Invariant: a plan has one incarnation at a time, and the waits of an earlier incarnation are
//! dropped when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use store::StoreError;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{EngineTaskResult, PlanEngine};
use crate::core::IdlePlan;
use crate::effects::PlanActor;
use crate::program::PlanFault;
use crate::step::StepId;
use crate::worker::{PlanIncarnation, WorkerCommand};

pub(super) struct EnginePlan {
    pub(super) life: PlanIncarnation,
    pub(super) state: EnginePlanState,
    pub(super) actor: Option<Arc<PlanActor>>,
    /// The deadline on the steady clock, in milliseconds; `None` for no limit.
    pub(super) until_ms: Option<i64>,
    /// Set if the plan was resumed before it left the engine: it starts again with this deadline
    /// afterwards.
    restart_deadline: Option<Option<i64>>,
    /// The running waits, by step.
    waits: HashMap<StepId, AbortHandle>,
    /// The time since when the plan is idle, and its waits.
    pub(super) rest: Option<(Instant, IdlePlan)>,
    /// The number of commands sent to its worker.
    pub(super) orders: u64,
    /// The number of jobs that are being created for the plan.
    pub(super) starting: usize,
}

/// The state of a plan in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnginePlanState {
    /// Queued for memory.
    Queued,
    /// Being loaded into memory.
    Loading,
    /// In memory.
    Running,
    /// The end of the plan is being written.
    Ending,
    /// Out of memory, but not yet recorded in the store as asleep. True if an outcome arrived
    /// meanwhile.
    FallingAsleep(bool),
    /// Out of memory until an awaited outcome arrives.
    Asleep,
    /// Out of memory for a pause, since the store or the job engine failed.
    Paused,
}

/// The reason why an operation of a plan failed.
#[derive(Debug)]
pub(crate) enum PlanOperationError {
    /// The store cannot be used now, or it is unknown whether the commit succeeded.
    Store(StoreError),
    /// The store cannot be used any more until a restart.
    Lost(StoreError),
    /// The plan was ended from outside.
    PlanEnded,
    /// The plan cannot be continued, and ends with this error.
    Broken(PlanFault),
    /// The job engine cannot create the job now, or the runtime is shutting down.
    Unavailable(String),
}

// === impl EnginePlan ===

impl EnginePlan {
    pub(super) fn new(life: PlanIncarnation, at: EnginePlanState) -> Self {
        Self {
            life,
            state: at,
            actor: None,
            until_ms: None,
            restart_deadline: None,
            waits: HashMap::new(),
            rest: None,
            orders: 0,
            starting: 0,
        }
    }

    pub(super) fn is_asleep(&self) -> bool {
        matches!(
            self.state,
            EnginePlanState::Asleep | EnginePlanState::FallingAsleep(_)
        )
    }

    /// Returns true if the plan occupies memory.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(
            self.state,
            EnginePlanState::Loading | EnginePlanState::Running | EnginePlanState::Ending
        )
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

    pub(super) fn remove_wait(&mut self, step: &StepId) {
        self.waits.remove(step);
    }

    pub(super) fn stop_waiting(&mut self) {
        for (_, handle) in self.waits.drain() {
            handle.abort();
        }
    }
}

// === impl PlanOperationError ===

impl From<StoreError> for PlanOperationError {
    fn from(error: StoreError) -> Self {
        match error {
            error if error.is_final() => Self::Lost(error),
            error => Self::Store(error),
        }
    }
}

// === impl PlanEngine ===

impl PlanEngine {
    pub(super) fn new_incarnation(&mut self, plan: i64) -> PlanIncarnation {
        self.lives += 1;
        PlanIncarnation {
            plan,
            number: self.lives,
        }
    }

    /// Returns the plan, if this is still its incarnation.
    pub(super) fn current_plan(&mut self, life: PlanIncarnation) -> Option<&mut EnginePlan> {
        self.plans
            .get_mut(&life.plan)
            .filter(|entry| entry.life == life)
    }

    /// Queues a plan that is new or resumed; a resumed plan may not have left the engine yet.
    pub(super) fn begin(&mut self, plan: i64, until_ms: Option<i64>) {
        if let Some(entry) = self.plans.get_mut(&plan) {
            entry.restart_deadline = Some(until_ms);
            return;
        }
        self.enqueue(plan);
        if let Some(entry) = self.plans.get_mut(&plan) {
            entry.until_ms = until_ms;
        }
    }

    /// Queues a plan for memory.
    pub(super) fn enqueue(&mut self, plan: i64) {
        let life = self.new_incarnation(plan);
        if let Some(entry) = self.plans.get(&plan)
            && !matches!(
                entry.state,
                EnginePlanState::Asleep | EnginePlanState::Paused
            )
        {
            return;
        }
        let mut entry = EnginePlan::new(life, EnginePlanState::Queued);
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
                && entry.state == EnginePlanState::Queued
            {
                entry.state = EnginePlanState::Loading;
                let life = entry.life;
                self.running += 1;
                self.load(life);
            }
        }
    }

    /// Removes the plan from memory.
    pub(super) fn unload(&mut self, plan: i64, to: EnginePlanState) {
        let Some(entry) = self.plans.get_mut(&plan) else {
            return;
        };
        if entry.is_in_memory() {
            self.running -= 1;
        }
        entry.state = to;
        entry.rest = None;
        let life = entry.life;
        self.send_to_worker(life, WorkerCommand::Unload(life));
    }

    /// Removes a plan that has ended.
    pub(super) fn forget(&mut self, plan: i64) {
        self.unload(plan, EnginePlanState::Ending);
        self.parts.over.send_modify(|over| *over += 1);
        if let Some(mut entry) = self.plans.remove(&plan) {
            entry.stop_waiting();
            if let Some(until_ms) = entry.restart_deadline {
                self.begin(plan, until_ms);
            }
        }
    }

    /// Handles a failed operation: the plan leaves memory and is loaded again after a pause, or it
    /// ends.
    pub(super) fn handle_operation_error(
        &mut self,
        life: PlanIncarnation,
        trouble: PlanOperationError,
    ) {
        if self.current_plan(life).is_none() {
            return;
        }
        let plan = life.plan;
        match trouble {
            PlanOperationError::Lost(error) => self.lost = Some(error),
            PlanOperationError::PlanEnded => self.forget(plan),
            PlanOperationError::Broken(fault) => self.end_broken(life, fault),
            PlanOperationError::Store(error) => {
                let source = std::error::Error::source(&error);
                tracing::error!(plan, %error, source, "a plan cannot be written; tried again");
                self.pause(life);
            }
            PlanOperationError::Unavailable(reason) => {
                tracing::error!(plan, %reason, "a job of a plan cannot be made; tried again");
                self.pause(life);
            }
        }
    }

    fn pause(&mut self, life: PlanIncarnation) {
        self.unload(life.plan, EnginePlanState::Paused);
        if let Some(entry) = self.current_plan(life) {
            entry.stop_waiting();
        }
        let pause = self.parts.config.store_retry;
        self.tasks.spawn(async move {
            tokio::time::sleep(pause).await;
            EngineTaskResult::Retry(life)
        });
    }

    pub(super) fn retry(&mut self, life: PlanIncarnation) {
        if self
            .current_plan(life)
            .is_some_and(|plan| plan.state == EnginePlanState::Paused)
        {
            self.enqueue(life.plan);
        }
    }
}
