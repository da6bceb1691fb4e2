//! Plans as the engine sees them: a [`Program`], which runs from its start to its end and requests from its
//! [`Branch`] for everything that it does or learns.
//!
//! Invariants: a program is deterministic but for the outcomes of its steps; and a [`Stop`] is handed up at
//! once and never caught, since the program is then only being torn down, to be run again later.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use corosensei::Yielder;
use serde_json::{Value, json};

use crate::defaults::{BRANCH_STACK_BYTES, IGNORED_STOPS};
use crate::step::{BranchId, Outcome, StepRequest, Work};

/// The code of a plan.
pub trait Program: Send + Sync + 'static {
    /// Runs it; on the stack of a coroutine.
    fn run(&self, branch: &mut Branch<'_>) -> Ended;
}

impl<F: Fn(&mut Branch<'_>) -> Ended + Send + Sync + 'static> Program for F {
    fn run(&self, branch: &mut Branch<'_>) -> Ended {
        self(branch)
    }
}

/// The result of a plan or of a branch of it.
pub type Ended = Result<Value, Fault>;

/// The code that runs in a branch.
pub type Body = Box<dyn FnOnce(&mut Branch<'_>) -> Ended>;

/// The reason why a plan or a branch of it has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It failed; holds an error in Puppet's form: `{kind, msg, details}`.
    Failed(Value),
    /// It was stopped from outside.
    Stop(Stop),
}

/// The reason why a program must end now. It is handed up, never caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Nothing is wrong: it leaves the memory, and is run again when there is something to do.
    #[error("the plan goes to sleep")]
    Evicted,
    /// The plan is over, or broken.
    #[error("the plan has ended")]
    Over,
    /// This branch was cancelled by another one.
    #[error("the branch was cancelled")]
    Cancelled,
}

/// A branch of a plan that runs: its way to the engine.
pub struct Branch<'a> {
    yielder: &'a Yielder<Reply, Call>,
    id: BranchId,
    stopped: Cell<Option<Stop>>,
    ignored: Cell<u32>,
}

/// A request of a program to the engine.
pub(crate) enum Call {
    Step(StepRequest),
    Spawn(Body),
    /// Until all of these have ended, or until the step (a sleep) is over.
    Wait(Vec<BranchId>, Option<StepRequest>),
    Cancel(Vec<BranchId>),
    Look(BranchId),
    /// Others on the thread have their turn.
    Breathe,
}

/// The answer to a [`Call`].
#[derive(Debug)]
pub(crate) enum Reply {
    Go,
    Answer(Outcome),
    Branch(BranchId),
    Ended(Vec<Option<Ended>>),
    Refused(Value),
    Stop(Stop),
}

// === impl Branch ===

impl<'a> Branch<'a> {
    pub(crate) fn new(yielder: &'a Yielder<Reply, Call>, id: BranchId) -> Self {
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
    pub fn step(&self, request: StepRequest) -> Result<Outcome, Fault> {
        match self.call(Call::Step(request))? {
            Reply::Answer(outcome) => Ok(outcome),
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
        compute: impl FnOnce() -> Outcome + 'static,
    ) -> Result<Outcome, Fault> {
        self.step(StepRequest {
            kind: kind.into(),
            site: site.to_owned(),
            arguments,
            work: Work::Here(Box::new(compute)),
        })
    }

    /// Lets something run beside this branch; it begins when this one waits.
    pub fn spawn(
        &self,
        body: impl FnOnce(&mut Branch<'_>) -> Ended + 'static,
    ) -> Result<BranchId, Fault> {
        match self.call(Call::Spawn(Box::new(body)))? {
            Reply::Branch(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until all of these branches have ended.
    pub fn wait(&self, branches: &[BranchId]) -> Result<Vec<Ended>, Fault> {
        let ended = self.waited(branches, None)?;
        Ok(ended.into_iter().flatten().collect())
    }

    /// As [`Branch::wait`], for a while: `None` for those that have not ended by then.
    pub fn wait_for(
        &self,
        branches: &[BranchId],
        site: &str,
        patience: Duration,
    ) -> Result<Vec<Option<Ended>>, Fault> {
        let names: Vec<String> = branches.iter().map(BranchId::to_string).collect();
        let timer = StepRequest {
            kind: "wait".into(),
            site: site.to_owned(),
            arguments: json!({"branches": names, "ms": patience.as_millis().to_string()}),
            work: Work::Sleep(patience),
        };
        self.waited(branches, Some(timer))
    }

    fn waited(
        &self,
        branches: &[BranchId],
        timer: Option<StepRequest>,
    ) -> Result<Vec<Option<Ended>>, Fault> {
        match self.call(Call::Wait(branches.to_vec(), timer))? {
            Reply::Ended(ended) => Ok(ended),
            other => Err(unexpected(&other)),
        }
    }

    /// The result of a branch; `None` if it has not ended.
    pub fn look(&self, branch: &BranchId) -> Result<Option<Ended>, Fault> {
        match self.call(Call::Look(branch.clone()))? {
            Reply::Ended(mut ended) => Ok(ended.pop().flatten()),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends these branches and all below them; what they began goes on by itself.
    pub fn cancel(&self, branches: &[BranchId]) -> Result<(), Fault> {
        match self.call(Call::Cancel(branches.to_vec()))? {
            Reply::Go => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets other plans have their turn on this thread: to be called now and then by a program that computes
    /// for long.
    pub fn breathe(&self) -> Result<(), Fault> {
        match self.call(Call::Breathe)? {
            Reply::Go => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn call(&self, call: Call) -> Result<Reply, Fault> {
        if let Some(stop) = self.stopped.get() {
            self.ignored.set(self.ignored.get() + 1);
            if self.ignored.get() > IGNORED_STOPS {
                // It catches what must not be caught, in a loop.
                std::panic::resume_unwind(Box::new(TornDown));
            }
            return Err(Fault::Stop(stop));
        }
        match self.yielder.suspend(call) {
            Reply::Stop(stop) => {
                self.stopped.set(Some(stop));
                Err(Fault::Stop(stop))
            }
            Reply::Refused(error) => Err(Fault::Failed(error)),
            reply => Ok(reply),
        }
    }
}

/// The program was ended by force.
pub(crate) struct TornDown;

fn unexpected(reply: &Reply) -> Fault {
    unreachable!("the engine answers each call in its own way, not with {reply:?}")
}

// === impl Fault ===

impl Fault {
    /// Fails with an error of this kind.
    pub fn new(kind: &str, msg: &str) -> Self {
        Self::Failed(json!({"kind": kind, "msg": msg, "details": {}}))
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl fmt::Display for Fault {
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

impl std::error::Error for Fault {}

impl fmt::Debug for Branch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branch")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
