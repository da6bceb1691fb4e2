//! The threads on which plans run: a [`PlanWorkerThread`] owns the machines of its plans, which
//! never leave it.
//!
//! It takes [`WorkerCommand`]s and sends [`WorkerReport`]s. Invariants: plans have short turns one
//! after the other; a worker waits if the engine does not take its reports, and the engine never
//! waits for a worker.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use store::Clock;
use tokio::sync::mpsc;

use crate::core::{IdlePlan, JournalBatch, RecordedStep};
use crate::defaults::{WORKER_BRANCHES, WORKER_QUEUE};
use crate::machine::{MachineTurn, PlanMachine};
use crate::program::PlanProgram;
use crate::step::{StepId, StepOutcome};

/// One stay of a plan in memory. A plan that is loaded again gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlanIncarnation {
    pub(crate) plan: i64,
    pub(crate) number: u64,
}

/// A message from the engine to a worker.
pub(crate) enum WorkerCommand {
    Begin(PlanIncarnation, Arc<dyn PlanProgram>, Vec<RecordedStep>),
    Arrived(PlanIncarnation, StepId, StepOutcome),
    Committed(PlanIncarnation),
    /// The plan is removed from memory.
    Unload(PlanIncarnation),
}

/// A message from a worker to the engine.
pub(crate) enum WorkerReport {
    Batch(PlanIncarnation, JournalBatch),
    /// The plan is idle after this number of commands.
    Resting(PlanIncarnation, IdlePlan, u64),
}

/// The engine's handle of a worker.
pub(crate) struct PlanWorker {
    pub(crate) orders: mpsc::Sender<WorkerCommand>,
    pub(crate) thread: JoinHandle<()>,
}

struct PlanWorkerThread {
    machines: HashMap<PlanIncarnation, WorkerPlan>,
    /// Plans that can run.
    turns: VecDeque<PlanIncarnation>,
    reports: mpsc::Sender<WorkerReport>,
    clock: Arc<dyn Clock>,
    stacks: usize,
}

/// A plan on this thread.
struct WorkerPlan {
    machine: PlanMachine,
    /// The number of commands handled for this plan.
    commands_taken: u64,
}

// === impl PlanWorker ===

impl PlanWorker {
    pub(crate) fn start(
        index: usize,
        reports: mpsc::Sender<WorkerReport>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (orders, queue) = mpsc::channel(WORKER_QUEUE);
        let work = move || {
            let plans = PlanWorkerThread {
                machines: HashMap::new(),
                turns: VecDeque::new(),
                reports,
                clock,
                stacks: 0,
            };
            plans.run(queue);
        };
        let thread = std::thread::Builder::new()
            .name(format!("plans-{index}"))
            .spawn(work)?;
        Ok(Self { orders, thread })
    }
}

// === impl PlanWorkerThread ===

impl PlanWorkerThread {
    /// Runs until the engine drops its handle.
    fn run(mut self, mut orders: mpsc::Receiver<WorkerCommand>) {
        loop {
            if self.turns.is_empty() {
                let Some(order) = orders.blocking_recv() else {
                    return;
                };
                self.take(order);
            }
            // Commands that arrived meanwhile are handled before the next turn.
            for _ in 0..WORKER_QUEUE {
                match orders.try_recv() {
                    Ok(order) => self.take(order),
                    Err(mpsc::error::TryRecvError::Empty) => break,
                    Err(mpsc::error::TryRecvError::Disconnected) => return,
                }
            }
            if let Some(life) = self.turns.pop_front()
                && !self.turn(life)
            {
                return;
            }
        }
    }

    fn take(&mut self, order: WorkerCommand) {
        match order {
            WorkerCommand::Begin(life, program, journal) => {
                let machine = PlanMachine::new(program, journal);
                self.machines.insert(
                    life,
                    WorkerPlan {
                        machine,
                        commands_taken: 0,
                    },
                );
                self.with_machine(life, |_| {});
            }
            WorkerCommand::Arrived(life, step, outcome) => {
                self.with_machine(life, |machine| machine.deliver_outcome(&step, outcome));
            }
            WorkerCommand::Committed(life) => self.with_machine(life, PlanMachine::confirm_commit),
            WorkerCommand::Unload(life) => {
                if let Some(WorkerPlan { machine, .. }) = self.machines.remove(&life) {
                    self.stacks -= machine.stack_count();
                    // Dropping the machine unwinds its branches.
                    drop(machine);
                }
            }
        }
    }

    fn with_machine(&mut self, life: PlanIncarnation, order: impl FnOnce(&mut PlanMachine)) {
        if let Some(seat) = self.machines.get_mut(&life) {
            seat.commands_taken += 1;
            order(&mut seat.machine);
            self.wake(life);
        }
    }

    fn wake(&mut self, life: PlanIncarnation) {
        if self.turns.back() != Some(&life) {
            self.turns.push_back(life);
        }
    }

    /// Gives one plan a turn. Returns false if the engine has ended.
    fn turn(&mut self, life: PlanIncarnation) -> bool {
        let Some(WorkerPlan {
            machine,
            commands_taken: taken,
        }) = self.machines.get_mut(&life)
        else {
            return true;
        };
        let before = machine.stack_count();
        let room = WORKER_BRANCHES.saturating_sub(self.stacks);
        let pace = machine.run_turn(self.clock.steady_ms(), room);
        self.stacks = self.stacks - before + machine.stack_count();
        let report = match pace {
            MachineTurn::SliceUsedUp => {
                self.turns.push_back(life);
                None
            }
            MachineTurn::Idle => machine
                .take_batch()
                .map(|batch| WorkerReport::Batch(life, batch))
                .or_else(|| Some(WorkerReport::Resting(life, machine.idle_wait()?, *taken))),
        };
        match report {
            Some(report) => self.reports.blocking_send(report).is_ok(),
            None => true,
        }
    }
}
