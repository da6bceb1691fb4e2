//! Plans as the engine runs them: a [`PlanProgram`] runs from start to end and requests every
//! effect and every input from its [`PlanBranch`].
//!
//! Invariants: a program is deterministic apart from the outcomes of its steps; and a [`PlanStop`]
//! is returned at once and never caught, since the program is then only being unwound, possibly to
//! be run again later.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use corosensei::Yielder;
use partial_debug::partial_debug;
use serde_json::{Value, json};

use crate::defaults::{BRANCH_STACK_BYTES, IGNORED_STOPS};
use crate::step::{BranchId, StepOutcome, StepRequest, StepWork};

/// The code of a plan.
pub trait PlanProgram: Send + Sync + 'static {
    /// Runs the plan, on the stack of a coroutine.
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult;
}

impl<F: Fn(&mut PlanBranch<'_>) -> BranchResult + Send + Sync + 'static> PlanProgram for F {
    fn run(&self, branch: &mut PlanBranch<'_>) -> BranchResult {
        self(branch)
    }
}

/// The result of a plan or of one of its branches.
pub type BranchResult = Result<Value, PlanFault>;

/// The code that runs in a branch.
pub type BranchBody = Box<dyn FnOnce(&mut PlanBranch<'_>) -> BranchResult>;

/// The reason why a plan or one of its branches has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanFault {
    /// The plan or branch failed; holds an error in Puppet's form: `{kind, msg, details}`.
    Failed(Value),
    /// The plan or branch was stopped from outside.
    Stop(PlanStop),
}

/// The reason why a program must end now. A program returns it and never catches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanStop {
    /// The plan leaves memory without an error, and is run again when an outcome arrives.
    #[error("the plan goes to sleep")]
    Evicted,
    /// The plan has ended or failed.
    #[error("the plan has ended")]
    Ended,
    /// This branch was cancelled by another one.
    #[error("the branch was cancelled")]
    Cancelled,
}

/// A running branch of a plan, and its connection to the engine.
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
    /// Waits until all of these branches have ended, or until the step (a sleep) has.
    Wait(Vec<BranchId>, Option<StepRequest>),
    Cancel(Vec<BranchId>),
    GetResult(BranchId),
    /// Lets other plans on the thread have their turn.
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

// === impl PlanBranch ===

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

    /// The size of the stack on which the program runs, in bytes; recursion must stop well before.
    pub fn stack_bytes(&self) -> usize {
        BRANCH_STACK_BYTES
    }

    /// Takes a step, which performs an effect or reads input. When the plan is evaluated again, the
    /// outcome comes from the journal.
    pub fn step(&self, request: StepRequest) -> Result<StepOutcome, PlanFault> {
        match self.call(BranchRequest::Step(request))? {
            BranchReply::Answer(outcome) => Ok(outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes a step that computes a value which may differ each time. The computation must be quick
    /// and change nothing.
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

    /// Creates a parallel branch; it starts when this one waits.
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

    /// Waits like [`PlanBranch::wait`], at most for `patience`; `None` for branches that have not
    /// ended by then.
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

    /// Ends these branches and all below them; jobs that they started continue.
    pub fn cancel(&self, branches: &[BranchId]) -> Result<(), PlanFault> {
        match self.call(BranchRequest::Cancel(branches.to_vec()))? {
            BranchReply::Go => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets other plans on this thread have their turn. Programs that compute for long must call
    /// this regularly.
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
                // The program catches `PlanStop` in a loop, so it is unwound by a panic.
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

/// The payload of the panic that unwinds a program by force.
pub(crate) struct PlanTornDown;

fn unexpected(reply: &BranchReply) -> PlanFault {
    unreachable!("the engine answers each call in its own way, not with {reply:?}")
}

// === impl PlanFault ===

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

partial_debug!(PlanBranch<'_> { id });
