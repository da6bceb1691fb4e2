//! Plans as the engine sees them: a [`PlanProgram`], which runs from its start to its end and requests from its
//! [`PlanBranch`] for everything that it does or learns.
//!
//! Invariants: a program is deterministic but for the outcomes of its steps; and a [`PlanStop`] is handed up at
//! once and never caught, since the program is then only being torn down, to be run again later.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use corosensei::Yielder;
use serde_json::{Value, json};

use crate::defaults::{BRANCH_STACK_BYTES, IGNORED_STOPS};
use crate::step::{BranchId, StepOutcome, StepRequest, StepWork};

/// The code of a plan.
pub trait PlanProgram: Send + Sync + 'static {
    /// Runs it; on the stack of a coroutine.
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult;
}

impl<F: Fn(&mut PlanBranch<'_>) -> BranchResult + Send + Sync + 'static> PlanProgram for F {
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult {
        self(branch)
    }
}

/// The result of a plan or of a branch of it.
pub type BranchResult = Result<Value, PlanFault>;

/// The code that runs in a branch.
pub type BranchBody = Box<dyn FnOnce(&mut PlanBranch<'_>) -> BranchResult>;

/// The reason why a plan or a branch of it has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanFault {
    /// It failed; holds an error in Puppet's form: `{kind, msg, details}`.
    Failed(Value),
    /// It was stopped from outside.
    Stop(PlanStop),
}

/// The reason why a program must end now. It is handed up, never caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanStop {
    /// Nothing is wrong: it leaves the memory, and is run again when there is something to do.
    #[error("the plan goes to sleep")]
    Evicted,
    /// The plan is over, or broken.
    #[error("the plan has ended")]
    Ended,
    /// This branch was cancelled by another one.
    #[error("the branch was cancelled")]
    Cancelled,
}

/// A branch of a plan that runs: its way to the engine.
pub struct PlanBranch<'a> {
    yielder: &'a Yielder<BranchReply, BranchRequest>,
    id: BranchId,
    stopped: Cell<Option<PlanStop>>,
    ignored: Cell<u32>,
}

/// A request of a program to the engine.
pub(crate) enum BranchRequest {
    Step(StepRequest),
    Spawn(BranchBody),
    /// Until all of these have ended, or until the step (a sleep) is over.
    Wait(Vec<BranchId>, Option<StepRequest>),
    Cancel(Vec<BranchId>),
    GetResult(BranchId),
    /// Others on the thread have their turn.
    YieldTurn,
}

/// The answer to a [`BranchRequest`].
#[derive(Debug)]
pub(crate) enum BranchReply {
    Go,
    Answer(StepOutcome),
    Branch(BranchId),
    Ended(Vec<Option<BranchResult>>),
    Refused(Value),
    Stop(PlanStop),
}

// === impl Branch ===

impl<'a> PlanBranch<'a> {
    pub(crate) fn new(yielder: &'a Yielder<BranchReply, BranchRequest>, id: BranchId) -> Self {
        Self {
            yielder,
            id,
            stopped: Cell::new(None),
            ignored: Cell::new(0),
        }
    }

    /// The id of this branch.
    pub fn id(&self) -> &BranchId {
        &self.id
    }

    /// The size of the stack that the program runs on: recursion must stop well before.
    pub fn stack_bytes(&self) -> usize {
        BRANCH_STACK_BYTES
    }

    /// Takes a step: does something, or learns something. When the plan is evaluated again, the
    /// journal answers.
    pub fn step(&self, request: StepRequest) -> Result<StepOutcome, PlanFault> {
        match self.call(BranchRequest::Step(request))? {
            BranchReply::Answer(outcome) => Ok(outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// Computes something that is not the same every time. A step that is quickly done and changes
    /// nothing.
    pub fn note(
        &self,
        kind: &'static str,
        site: &str,
        arguments: Value,
        compute: impl FnOnce() -> StepOutcome + 'static,
    ) -> Result<StepOutcome, PlanFault> {
        self.step(StepRequest {
            kind: kind.into(),
            site: site.to_owned(),
            arguments,
            work: StepWork::Compute(Box::new(compute)),
        })
    }

    /// Lets something run beside this branch; it begins when this one waits.
    pub fn spawn(
        &self,
        body: impl FnOnce(&mut PlanBranch<'_>) -> BranchResult + 'static,
    ) -> Result<BranchId, PlanFault> {
        match self.call(BranchRequest::Spawn(Box::new(body)))? {
            BranchReply::Branch(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until all of these branches have ended.
    pub fn wait(&self, branches: &[BranchId]) -> Result<Vec<BranchResult>, PlanFault> {
        let ended = self.wait_until(branches, None)?;
        Ok(ended.into_iter().flatten().collect())
    }

    /// As [`PlanBranch::wait`], for a while: `None` for those that have not ended by then.
    pub fn wait_for(
        &self,
        branches: &[BranchId],
        site: &str,
        patience: Duration,
    ) -> Result<Vec<Option<BranchResult>>, PlanFault> {
        let names: Vec<String> = branches.iter().map(BranchId::to_string).collect();
        let timer = StepRequest {
            kind: "wait".into(),
            site: site.to_owned(),
            arguments: json!({"branches": names, "ms": patience.as_millis().to_string()}),
            work: StepWork::Sleep(patience),
        };
        self.wait_until(branches, Some(timer))
    }

    fn wait_until(
        &self,
        branches: &[BranchId],
        timer: Option<StepRequest>,
    ) -> Result<Vec<Option<BranchResult>>, PlanFault> {
        match self.call(BranchRequest::Wait(branches.to_vec(), timer))? {
            BranchReply::Ended(ended) => Ok(ended),
            other => Err(unexpected(&other)),
        }
    }

    /// The result of a branch; `None` if it has not ended.
    pub fn branch_result(&self, branch: &BranchId) -> Result<Option<BranchResult>, PlanFault> {
        match self.call(BranchRequest::GetResult(branch.clone()))? {
            BranchReply::Ended(mut ended) => Ok(ended.pop().flatten()),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends these branches and all below them; what they began goes on by itself.
    pub fn cancel(&self, branches: &[BranchId]) -> Result<(), PlanFault> {
        match self.call(BranchRequest::Cancel(branches.to_vec()))? {
            BranchReply::Go => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets other plans have their turn on this thread: to be called now and then by a program that computes
    /// for long.
    pub fn yield_turn(&self) -> Result<(), PlanFault> {
        match self.call(BranchRequest::YieldTurn)? {
            BranchReply::Go => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn call(&self, call: BranchRequest) -> Result<BranchReply, PlanFault> {
        if let Some(stop) = self.stopped.get() {
            self.ignored.set(self.ignored.get() + 1);
            if self.ignored.get() > IGNORED_STOPS {
                // It catches what must not be caught, in a loop.
                std::panic::resume_unwind(Box::new(PlanTornDown));
            }
            return Err(PlanFault::Stop(stop));
        }
        match self.yielder.suspend(call) {
            BranchReply::Stop(stop) => {
                self.stopped.set(Some(stop));
                Err(PlanFault::Stop(stop))
            }
            BranchReply::Refused(error) => Err(PlanFault::Failed(error)),
            reply => Ok(reply),
        }
    }
}

/// The program was ended by force.
pub(crate) struct PlanTornDown;

fn unexpected(reply: &BranchReply) -> PlanFault {
    unreachable!("the engine answers each call in its own way, not with {reply:?}")
}

// === impl Fault ===

impl PlanFault {
    /// Fails with an error of this kind.
    pub fn new(kind: &str, msg: &str) -> Self {
        Self::Failed(json!({"kind": kind, "msg": msg, "details": {}}))
    }
}

impl From<PlanStop> for PlanFault {
    fn from(stop: PlanStop) -> Self {
        Self::Stop(stop)
    }
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => {
                let msg = error.get("msg").and_then(Value::as_str);
                f.write_str(msg.unwrap_or("the plan failed"))
            }
            Self::Stop(stop) => stop.fmt(f),
        }
    }
}

impl std::error::Error for PlanFault {}

impl fmt::Debug for PlanBranch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branch")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
