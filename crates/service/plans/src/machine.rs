//! A plan in memory: its [`PlanCore`] and the coroutines of its branches, which never leave their
//! thread.
//!
//! [`PlanMachine`] is resumed by [`PlanMachine::run_turn`]. Invariants: a coroutine that was
//! started is always run to its end, with a [`PlanStop`] if necessary; and a panic of a program
//! ends only that plan.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::core::{BranchTurn, EngineCall, IdlePlan, JournalBatch, PlanCore, RecordedStep};
use crate::defaults::{BRANCH_STACK_BYTES, TURN_CALLS};
use crate::program::{
    BranchBody, BranchReply, BranchRequest, BranchResult, PlanBranch, PlanFault, PlanProgram,
    PlanStop, PlanTornDown,
};
use crate::step::{BranchId, StepId, StepOutcome};

type BranchCoroutine = Coroutine<BranchReply, BranchRequest, BranchResult>;

/// A plan that is being evaluated.
pub(crate) struct PlanMachine {
    core: PlanCore,
    running: HashMap<BranchId, BranchCoroutine>,
    /// Branches that were created and have not started.
    bodies: HashMap<BranchId, BranchBody>,
    /// A branch that used up its time slice, with the reply for its next turn.
    preempted: Option<(BranchId, BranchReply)>,
    /// The most coroutines that the plan may have during this turn.
    stack_limit: usize,
}

/// The state of a machine after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineTurn {
    /// The time slice is used up.
    SliceUsedUp,
    /// The plan waits for an outcome or a commit.
    Idle,
}

// === impl PlanMachine ===

impl PlanMachine {
    pub(crate) fn new(program: Arc<dyn PlanProgram>, journal: Vec<RecordedStep>) -> Self {
        let body: BranchBody = Box::new(move |branch| program.run(branch));
        Self {
            core: PlanCore::new(journal),
            running: HashMap::new(),
            bodies: HashMap::from([(BranchId::root(), body)]),
            preempted: None,
            stack_limit: usize::MAX,
        }
    }

    /// Runs the runnable branches for one time slice; `room` is the number of further stacks that
    /// it may take.
    pub(crate) fn run_turn(&mut self, now_ms: i64, room: usize) -> MachineTurn {
        self.core.set_now(now_ms);
        self.stack_limit = room.saturating_add(self.running.len());
        let mut calls = TURN_CALLS;
        loop {
            let next = self.preempted.take().or_else(|| self.core.next());
            let Some((branch, reply)) = next else {
                break;
            };
            self.resume(branch, reply, &mut calls);
            if calls == 0 {
                return MachineTurn::SliceUsedUp;
            }
        }
        if self.core.is_ending() {
            self.unwind(PlanStop::Ended);
        }
        MachineTurn::Idle
    }

    /// Returns the number of stacks in use.
    pub(crate) fn stack_count(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn deliver_outcome(&mut self, step: &StepId, outcome: StepOutcome) {
        self.core.accept_outcome(step, outcome);
    }

    pub(crate) fn confirm_commit(&mut self) {
        self.core.confirm_commit();
    }

    pub(crate) fn take_batch(&mut self) -> Option<JournalBatch> {
        self.core.take_batch()
    }

    pub(crate) fn idle_wait(&self) -> Option<IdlePlan> {
        self.core.idle_wait().filter(|_| self.preempted.is_none())
    }

    /// Ends every branch. Afterwards the machine only holds its last batch.
    pub(crate) fn unwind(&mut self, stop: PlanStop) {
        self.preempted = None;
        self.bodies.clear();
        for (id, mut coroutine) in std::mem::take(&mut self.running) {
            // The loop is bounded: a stopped branch is refused everything, and unwound by force in
            // the end.
            while !coroutine.done() {
                if let CoroutineResult::Return(_) = coroutine.resume(BranchReply::Stop(stop)) {
                    break;
                }
            }
            tracing::trace!(branch = %id, %stop, "a branch was unwound");
        }
    }

    /// Runs a branch until it waits, ends, or has used up its time slice.
    fn resume(&mut self, branch: BranchId, reply: BranchReply, calls: &mut usize) {
        let Some(mut coroutine) = self.coroutine(&branch, &reply) else {
            return;
        };
        let mut reply = reply;
        loop {
            let call = match coroutine.resume(reply) {
                CoroutineResult::Yield(call) => call,
                CoroutineResult::Return(ended) => return self.core.end_branch(&branch, ended),
            };
            *calls = calls.saturating_sub(1);
            match self.handle_call(&branch, call) {
                BranchTurn::Go(next) if *calls > 0 => reply = next,
                BranchTurn::Go(next) => {
                    self.preempted = Some((branch.clone(), next));
                    break;
                }
                BranchTurn::Wait => break,
            }
        }
        self.running.insert(branch, coroutine);
    }

    fn handle_call(&mut self, branch: &BranchId, call: BranchRequest) -> BranchTurn {
        match call {
            BranchRequest::Step(request) => self.core.call(branch, EngineCall::Step(request)),
            BranchRequest::Wait(on, timer) => self.core.call(branch, EngineCall::Wait(on, timer)),
            BranchRequest::Cancel(branches) => self.core.call(branch, EngineCall::Cancel(branches)),
            BranchRequest::GetResult(other) => self.core.call(branch, EngineCall::GetResult(other)),
            BranchRequest::YieldTurn => BranchTurn::Go(BranchReply::Go),
            BranchRequest::Spawn(body) => {
                let turn = self.core.call(branch, EngineCall::Spawn);
                if let BranchTurn::Go(BranchReply::Branch(child)) = &turn {
                    self.bodies.insert(child.clone(), body);
                }
                turn
            }
        }
    }

    /// Returns the coroutine of a branch; `None` if the branch has ended or cannot start.
    fn coroutine(&mut self, branch: &BranchId, reply: &BranchReply) -> Option<BranchCoroutine> {
        if let Some(running) = self.running.remove(branch) {
            return Some(running);
        }
        let body = self.bodies.remove(branch)?;
        if let BranchReply::Stop(stop) = reply {
            self.core.end_branch(branch, Err(PlanFault::Stop(*stop)));
            return None;
        }
        let stack = if self.running.len() < self.stack_limit {
            DefaultStack::new(BRANCH_STACK_BYTES).map_err(|error| error.to_string())
        } else {
            Err("too many branches of plans run at once".to_owned())
        };
        match stack {
            Ok(stack) => Some(begin(stack, body, branch.clone())),
            Err(reason) => {
                let msg = format!("there is no memory for the stack of a branch: {reason}");
                // The plan fails, not only the branch, whose end would differ in the next
                // evaluation.
                self.core.fail(PlanFault::new("tutti/plan-limit", &msg));
                None
            }
        }
    }
}

/// Unwinds all branches, since a suspended coroutine must not be dropped.
impl Drop for PlanMachine {
    fn drop(&mut self) {
        self.unwind(PlanStop::Evicted);
    }
}

fn begin(stack: DefaultStack, body: BranchBody, id: BranchId) -> BranchCoroutine {
    Coroutine::with_stack(stack, move |yielder, _: BranchReply| {
        let mut branch = PlanBranch::new(yielder, id);
        let ran = catch_unwind(AssertUnwindSafe(|| body(&mut branch)));
        ran.unwrap_or_else(|panic| Err(panic_fault(&*panic)))
    })
}

fn panic_fault(panic: &(dyn Any + Send)) -> PlanFault {
    if panic.is::<PlanTornDown>() {
        return PlanFault::Stop(PlanStop::Ended);
    }
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    let msg = format!(
        "the plan broke (a bug of the server; please report it): {}",
        text.as_deref().unwrap_or("it does not say why")
    );
    PlanFault::new("tutti/plan-broken", &msg)
}
