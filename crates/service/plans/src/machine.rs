//! A plan in memory: its [`Core`] and the coroutines of its branches, which never leave their thread.
//!
//! [`Machine`] is resumed by [`Machine::turn`]. Invariants: a coroutine that was begun is always brought
//! to its end, by a [`Stop`] if need be; and a panic of a program ends that plan and nothing
//! else.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::core::{Asked, Batch, Core, Recorded, Rest, Turn};
use crate::defaults::{BRANCH_STACK_BYTES, TURN_CALLS};
use crate::program::{Body, Branch, Call, Ended, Fault, Program, Reply, Stop, TornDown};
use crate::step::{BranchId, Outcome, StepId};

type Running = Coroutine<Reply, Call, Ended>;

/// A plan that is evaluated.
pub(crate) struct Machine {
    core: Core,
    running: HashMap<BranchId, Running>,
    /// Branches that were made and have not begun.
    bodies: HashMap<BranchId, Body>,
    /// A branch that used up its time slice, and goes on at its next turn.
    carried: Option<(BranchId, Reply)>,
    /// Coroutines that it may have, now.
    room: usize,
}

/// The state of a machine after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The time slice is used up.
    More,
    /// Nothing can be done until something arrives or is committed.
    Quiet,
}

// === impl Machine ===

impl Machine {
    pub(crate) fn new(program: Arc<dyn Program>, journal: Vec<Recorded>) -> Self {
        let body: Body = Box::new(move |branch| program.run(branch));
        Self {
            core: Core::new(journal),
            running: HashMap::new(),
            bodies: HashMap::from([(BranchId::root(), body)]),
            carried: None,
            room: usize::MAX,
        }
    }

    /// Runs the runnable branches for a while; `room` is the number of further stacks that it may take.
    pub(crate) fn turn(&mut self, now_ms: i64, room: usize) -> Pace {
        self.core.at(now_ms);
        self.room = room.saturating_add(self.running.len());
        let mut calls = TURN_CALLS;
        loop {
            let next = self.carried.take().or_else(|| self.core.next());
            let Some((branch, reply)) = next else {
                break;
            };
            self.resume(branch, reply, &mut calls);
            if calls == 0 {
                return Pace::More;
            }
        }
        if self.core.is_ending() {
            self.unwind(Stop::Over);
        }
        Pace::Quiet
    }

    /// Stacks in use.
    pub(crate) fn stacks(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn arrived(&mut self, step: &StepId, outcome: Outcome) {
        self.core.arrived(step, outcome);
    }

    pub(crate) fn committed(&mut self) {
        self.core.committed();
    }

    pub(crate) fn take_batch(&mut self) -> Option<Batch> {
        self.core.take_batch()
    }

    pub(crate) fn rest(&self) -> Option<Rest> {
        self.core.rest().filter(|_| self.carried.is_none())
    }

    /// Brings every branch to its end; the machine is of no use afterwards, but for its last batch.
    pub(crate) fn unwind(&mut self, stop: Stop) {
        self.carried = None;
        self.bodies.clear();
        for (id, mut coroutine) in std::mem::take(&mut self.running) {
            // Bounded: a stopped branch is refused everything, and torn down in the end.
            while !coroutine.done() {
                if let CoroutineResult::Return(_) = coroutine.resume(Reply::Stop(stop)) {
                    break;
                }
            }
            tracing::trace!(branch = %id, %stop, "a branch was unwound");
        }
    }

    /// Runs a branch until it waits, ends, or has used up its time slice.
    fn resume(&mut self, branch: BranchId, reply: Reply, calls: &mut usize) {
        let Some(mut coroutine) = self.coroutine(&branch, &reply) else {
            return;
        };
        let mut reply = reply;
        loop {
            let call = match coroutine.resume(reply) {
                CoroutineResult::Yield(call) => call,
                CoroutineResult::Return(ended) => return self.core.ended(&branch, ended),
            };
            *calls = calls.saturating_sub(1);
            match self.called(&branch, call) {
                Turn::Go(next) if *calls > 0 => reply = next,
                Turn::Go(next) => {
                    self.carried = Some((branch.clone(), next));
                    break;
                }
                Turn::Wait => break,
            }
        }
        self.running.insert(branch, coroutine);
    }

    fn called(&mut self, branch: &BranchId, call: Call) -> Turn {
        match call {
            Call::Step(request) => self.core.call(branch, Asked::Step(request)),
            Call::Wait(on, timer) => self.core.call(branch, Asked::Wait(on, timer)),
            Call::Cancel(branches) => self.core.call(branch, Asked::Cancel(branches)),
            Call::Look(other) => self.core.call(branch, Asked::Look(other)),
            Call::Breathe => Turn::Go(Reply::Go),
            Call::Spawn(body) => {
                let turn = self.core.call(branch, Asked::Spawn);
                if let Turn::Go(Reply::Branch(child)) = &turn {
                    self.bodies.insert(child.clone(), body);
                }
                turn
            }
        }
    }

    /// The coroutine of a branch; `None`: the branch is over, or cannot begin.
    fn coroutine(&mut self, branch: &BranchId, reply: &Reply) -> Option<Running> {
        if let Some(running) = self.running.remove(branch) {
            return Some(running);
        }
        let body = self.bodies.remove(branch)?;
        if let Reply::Stop(stop) = reply {
            self.core.ended(branch, Err(Fault::Stop(*stop)));
            return None;
        }
        let stack = if self.running.len() < self.room {
            DefaultStack::new(BRANCH_STACK_BYTES).map_err(|error| error.to_string())
        } else {
            Err("too many branches of plans run at once".to_owned())
        };
        match stack {
            Ok(stack) => Some(begin(stack, body, branch.clone())),
            Err(reason) => {
                let msg = format!("there is no memory for the stack of a branch: {reason}");
                // Not the branch's own end: that would not be the same at the next evaluation.
                self.core.fail(Fault::new("tutti/plan-limit", &msg));
                None
            }
        }
    }
}

/// A coroutine is never dropped while it is suspended.
impl Drop for Machine {
    fn drop(&mut self) {
        self.unwind(Stop::Evicted);
    }
}

fn begin(stack: DefaultStack, body: Body, id: BranchId) -> Running {
    Coroutine::with_stack(stack, move |yielder, _: Reply| {
        let mut branch = Branch::new(yielder, id);
        let ran = catch_unwind(AssertUnwindSafe(|| body(&mut branch)));
        ran.unwrap_or_else(|panic| Err(broken(&*panic)))
    })
}

fn broken(panic: &(dyn Any + Send)) -> Fault {
    if panic.is::<TornDown>() {
        return Fault::Stop(Stop::Over);
    }
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    let msg = format!(
        "the plan broke (a bug of the server; please report it): {}",
        text.as_deref().unwrap_or("it does not say why")
    );
    Fault::new("tutti/plan-broken", &msg)
}
