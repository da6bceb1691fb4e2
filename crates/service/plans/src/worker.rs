//! The threads that plans run on: a [`Worker`] owns the machines of its plans, which never leave it.
//!
//! It takes [`Order`]s and gives [`Report`]s. Invariants: plans have their turns one after the other, none
//! for long; a worker waits for the engine when its reports are not taken, and the engine never waits
//! for a worker.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use jobs::Clock;
use tokio::sync::mpsc;

use crate::core::{Batch, Recorded, Rest};
use crate::defaults::{WORKER_BRANCHES, WORKER_QUEUE};
use crate::machine::{Machine, Pace};
use crate::program::Program;
use crate::step::{Outcome, StepId};

/// A plan in memory: the same plan has another life when it is taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Life {
    pub(crate) plan: i64,
    pub(crate) number: u64,
}

/// A message from the engine to a worker.
pub(crate) enum Order {
    Begin(Life, Arc<dyn Program>, Vec<Recorded>),
    Arrived(Life, StepId, Outcome),
    Committed(Life),
    /// The plan leaves the memory.
    Unload(Life),
}

/// A message from a worker to the engine.
pub(crate) enum Report {
    Batch(Life, Batch),
    /// Nothing moves in the plan, and it has taken so many orders.
    Resting(Life, Rest, u64),
}

/// The engine's end of a worker.
pub(crate) struct Worker {
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) thread: JoinHandle<()>,
}

struct Plans {
    machines: HashMap<Life, Seat>,
    /// Those that have something to do.
    turns: VecDeque<Life>,
    reports: mpsc::Sender<Report>,
    clock: Arc<dyn Clock>,
    stacks: usize,
}

/// A plan on this thread.
struct Seat {
    machine: Machine,
    /// Orders that it has taken.
    taken: u64,
}

// === impl Worker ===

impl Worker {
    pub(crate) fn start(
        index: usize,
        reports: mpsc::Sender<Report>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (orders, queue) = mpsc::channel(WORKER_QUEUE);
        let work = move || {
            let plans = Plans {
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

// === impl Plans ===

impl Plans {
    /// Works until the engine drops its end.
    fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        loop {
            if self.turns.is_empty() {
                let Some(order) = orders.blocking_recv() else {
                    return;
                };
                self.take(order);
            }
            // Orders that arrived meanwhile share the turns.
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

    fn take(&mut self, order: Order) {
        match order {
            Order::Begin(life, program, journal) => {
                let machine = Machine::new(program, journal);
                self.machines.insert(life, Seat { machine, taken: 0 });
                self.to(life, |_| {});
            }
            Order::Arrived(life, step, outcome) => {
                self.to(life, |machine| machine.arrived(&step, outcome));
            }
            Order::Committed(life) => self.to(life, Machine::committed),
            Order::Unload(life) => {
                if let Some(Seat { machine, .. }) = self.machines.remove(&life) {
                    self.stacks -= machine.stacks();
                    // Its branches are unwound.
                    drop(machine);
                }
            }
        }
    }

    fn to(&mut self, life: Life, order: impl FnOnce(&mut Machine)) {
        if let Some(seat) = self.machines.get_mut(&life) {
            seat.taken += 1;
            order(&mut seat.machine);
            self.wake(life);
        }
    }

    fn wake(&mut self, life: Life) {
        if self.turns.back() != Some(&life) {
            self.turns.push_back(life);
        }
    }

    /// One plan's turn. `false`: the engine is gone.
    fn turn(&mut self, life: Life) -> bool {
        let Some(Seat { machine, taken }) = self.machines.get_mut(&life) else {
            return true;
        };
        let before = machine.stacks();
        let room = WORKER_BRANCHES.saturating_sub(self.stacks);
        let pace = machine.turn(self.clock.steady_ms(), room);
        self.stacks = self.stacks - before + machine.stacks();
        let report = match pace {
            Pace::More => {
                self.turns.push_back(life);
                None
            }
            Pace::Quiet => machine
                .take_batch()
                .map(|batch| Report::Batch(life, batch))
                .or_else(|| Some(Report::Resting(life, machine.rest()?, *taken))),
        };
        match report {
            Some(report) => self.reports.blocking_send(report).is_ok(),
            None => true,
        }
    }
}
