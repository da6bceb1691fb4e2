//! The engine: one actor that owns every plan that has not ended. Main type: [`PlanEngine`].
//!
//! It is woken by commands, by its workers, and by its own finished tasks (commits, jobs, sleeps),
//! and never blocks on any of them. Invariants:
//! - an effect starts after the commit that writes its step, or in it;
//! - if the result of a commit is unknown, the plan leaves memory and is loaded again from the
//!   store;
//! - the waits of a sleeping plan continue.

mod commit;
mod load;
mod overdue;
mod plan_entry;
mod unload_idle;
mod waits;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use pki::seal::SealKey;
use store::{Clock, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use self::commit::CommittedBatch;
use self::load::LoadedPlanProgram;
use self::plan_entry::EnginePlan;
pub(crate) use self::plan_entry::PlanOperationError;
use crate::config::PlansConfig;
use crate::defaults::SHUTDOWN_GRACE;
use crate::effects::PlanEffects;
use crate::launch::PlanProgramSource;
use crate::step::{StepId, StepOutcome};
use crate::worker::{PlanIncarnation, PlanWorker, WorkerCommand, WorkerReport};

/// The dependencies of the engine.
pub(crate) struct PlanEngineDependencies {
    pub(crate) config: PlansConfig,
    pub(crate) store: Store,
    pub(crate) effects: Arc<dyn PlanEffects>,
    pub(crate) programs: Arc<dyn PlanProgramSource>,
    pub(crate) seal: Arc<SealKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stopped: CancellationToken,
    /// Counter of plans that have ended.
    pub(crate) over: watch::Sender<u64>,
}

/// A command from the handle to the engine.
pub(crate) enum PlanEngineCommand {
    /// Runs or resumes a plan until the given deadline; its row in the store is already updated.
    Run(i64, Option<i64>),
    /// The plan has been ended in the store.
    Stopped(i64),
    /// The answer of a user, which is already stored.
    Answered(i64, StepId, StepOutcome),
    /// Requests the number of plans in each state.
    Count(oneshot::Sender<PlanCounts>),
}

/// The number of plans in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCounts {
    /// The number of plans in memory.
    pub running: usize,
    /// The number of plans queued for memory, or waiting to retry after a failure of the store.
    pub queued: usize,
    /// The number of plans that wait for something and are not in memory.
    pub asleep: usize,
}

/// A finished task of the engine.
pub(crate) enum EngineTaskResult {
    Loaded(
        PlanIncarnation,
        Result<Box<LoadedPlanProgram>, PlanOperationError>,
    ),
    Committed(
        PlanIncarnation,
        Result<Box<CommittedBatch>, PlanOperationError>,
    ),
    Arrived(PlanIncarnation, StepId, StepOutcome),
    /// The store has recorded that the plan is asleep.
    Asleep(PlanIncarnation, Result<(), PlanOperationError>),
    /// The end of a plan that could not be loaded was written.
    Ended(PlanIncarnation, Result<(), PlanOperationError>),
    /// The end of a plan past its deadline was written; false if it had ended already.
    TimedOut(PlanIncarnation, Result<bool, StoreError>),
    /// The pause of a plan is over.
    Retry(PlanIncarnation),
    /// The task has no outcome.
    NoOutcome,
}

pub(crate) struct PlanEngine {
    parts: Arc<PlanEngineDependencies>,
    plans: HashMap<i64, EnginePlan>,
    /// Plans queued for memory.
    queue: VecDeque<i64>,
    /// Number of plans in memory.
    running: usize,
    workers: Vec<PlanWorker>,
    /// Commands that wait for capacity in a worker's queue, by worker.
    orders: Vec<VecDeque<WorkerCommand>>,
    reports: mpsc::Receiver<WorkerReport>,
    tasks: JoinSet<EngineTaskResult>,
    lives: u64,
    /// Number of the newest plan job from before this engine's start.
    newest_before: i64,
    lost: Option<StoreError>,
}

/// A worker's thread has panicked or ended.
struct WorkerGone;

// === impl PlanEngine ===

impl PlanEngine {
    pub(crate) fn new(
        parts: PlanEngineDependencies,
        workers: Vec<PlanWorker>,
        reports: mpsc::Receiver<WorkerReport>,
    ) -> Self {
        Self {
            parts: Arc::new(parts),
            plans: HashMap::new(),
            queue: VecDeque::new(),
            running: 0,
            orders: workers.iter().map(|_| VecDeque::new()).collect(),
            workers,
            reports,
            tasks: JoinSet::new(),
            lives: 0,
            newest_before: 0,
            lost: None,
        }
    }

    /// Runs until shutdown, or until the store is lost, and returns the reason.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<PlanEngineCommand>,
    ) -> Option<StoreError> {
        let stopped = self.parts.stopped.clone();
        let mut tick = tokio::time::interval(self.parts.config.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.lost.is_none() {
            self.admit();
            let Ok(full) = self.hand_over() else {
                // A worker's thread has ended.
                break;
            };
            tokio::select! {
                biased;
                () = stopped.cancelled() => break,
                // The queue has capacity again, which the next iteration uses.
                () = has_room(full.clone()), if full.is_some() => {}
                Some(done) = self.tasks.join_next() => self.finish_task(task_result(done)),
                Some(report) = self.reports.recv() => self.report(report),
                Some(command) = commands.recv() => self.command(command),
                _ = tick.tick() => {
                    self.unload_idle_plans(Instant::now());
                    self.end_overdue();
                }
            }
        }
        self.drain().await
    }

    fn command(&mut self, command: PlanEngineCommand) {
        match command {
            PlanEngineCommand::Run(plan, until_ms) => self.begin(plan, until_ms),
            PlanEngineCommand::Stopped(plan) => self.forget(plan),
            PlanEngineCommand::Answered(plan, step, outcome) => {
                self.accept_answer(plan, step, outcome)
            }
            PlanEngineCommand::Count(reply) => {
                let asleep = self.plans.values().filter(|plan| plan.is_asleep()).count();
                // A caller that has gone needs no reply.
                let _ = reply.send(PlanCounts {
                    running: self.running,
                    queued: self.plans.len() - self.running - asleep,
                    asleep,
                });
            }
        }
    }

    fn report(&mut self, report: WorkerReport) {
        match report {
            WorkerReport::Batch(life, batch) => self.write(life, batch),
            WorkerReport::Resting(life, rest, taken) => self.note_idle(life, rest, taken),
        }
    }

    fn finish_task(&mut self, done: EngineTaskResult) {
        match done {
            EngineTaskResult::Loaded(life, loaded) => self.finish_load(life, loaded),
            EngineTaskResult::Committed(life, committed) => self.finish_commit(life, committed),
            EngineTaskResult::Arrived(life, step, outcome) => {
                self.accept_outcome(life, step, outcome)
            }
            EngineTaskResult::Asleep(life, marked) => self.finish_sleep(life, marked),
            EngineTaskResult::Ended(life, ended) => self.finish_ending(life, ended),
            EngineTaskResult::TimedOut(life, ended) => self.finish_timeout(life, ended),
            EngineTaskResult::Retry(life) => self.retry(life),
            EngineTaskResult::NoOutcome => {}
        }
    }

    fn send_to_worker(&mut self, life: PlanIncarnation, order: WorkerCommand) {
        if let Some(entry) = self.current_plan(life) {
            entry.orders += 1;
            entry.rest = None;
        }
        let worker = usize::try_from(life.number).unwrap_or(0) % self.workers.len();
        self.orders[worker].push_back(order);
    }

    /// Sends commands to the workers while their queues have capacity; returns the sender of a full
    /// queue, if any.
    fn hand_over(&mut self) -> Result<Option<mpsc::Sender<WorkerCommand>>, WorkerGone> {
        let mut full = None;
        for (worker, orders) in self.workers.iter().zip(&mut self.orders) {
            while !orders.is_empty() {
                let permit = match worker.orders.try_reserve() {
                    Ok(permit) => permit,
                    Err(mpsc::error::TrySendError::Full(())) => {
                        full = Some(worker.orders.clone());
                        break;
                    }
                    Err(mpsc::error::TrySendError::Closed(())) => return Err(WorkerGone),
                };
                if let Some(order) = orders.pop_front() {
                    permit.send(order);
                }
            }
        }
        Ok(full)
    }

    /// Waits at shutdown for pending commits, for a bounded time.
    async fn drain(mut self) -> Option<StoreError> {
        for entry in self.plans.values_mut() {
            entry.stop_waiting();
        }
        self.reports.close();
        let deadline = Instant::now() + SHUTDOWN_GRACE;
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout_at(deadline, ended).await.is_err() {
            tracing::warn!("plans ended before everything was written; they are taken up again");
        }
        let workers = std::mem::take(&mut self.workers);
        let joined = tokio::task::spawn_blocking(move || {
            for PlanWorker { orders, thread } in workers {
                drop(orders);
                if thread.join().is_err() {
                    tracing::error!("a thread of plans broke down (a bug; please report it)");
                }
            }
        });
        if tokio::time::timeout_at(deadline, joined).await.is_err() {
            tracing::error!("a plan computes and does not stop; it ends with the process");
        }
        self.lost
    }
}

/// Returns when the queue of a worker has capacity, or the worker has ended.
async fn has_room(orders: Option<mpsc::Sender<WorkerCommand>>) {
    if let Some(orders) = orders {
        drop(orders.reserve().await);
    }
}

/// Returns the result of one of the engine's tasks. A panic in it is a bug, and is propagated.
fn task_result(joined: Result<EngineTaskResult, JoinError>) -> EngineTaskResult {
    match joined {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The task was cancelled.
            Err(_) => EngineTaskResult::NoOutcome,
        },
    }
}
