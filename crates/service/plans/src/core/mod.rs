//! The core of a plan, without I/O, clock or stack: the branch that runs next, the rows that are written, and the
//! answers from the journal.
//!
//! [`Core`] takes the [calls](Core::call) of branches, the outcomes that [arrived](Core::arrived) and the
//! [committed](Core::committed) batches; it returns the [next](Core::next) branch and [`Batch`]es. Invariants:
//! - one branch runs at a time, and between two *deliveries* (of an outcome to the branch that waits
//!   for it) everything follows from what the branches do, so the order of deliveries is all that the
//!   journal must know to have the same evaluation again;
//! - an effect is handed out only in a batch that also holds everything that was delivered or noted
//!   before it, so whatever a plan had seen when it began an effect, it sees again;
//! - an outcome that is stored nowhere else is committed before it is delivered.

mod batch;
mod branches;
mod call;
mod deliver;
mod replay;

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use self::batch::Outgoing;
pub(crate) use self::batch::{Batch, Start};
use self::branches::Branches;
pub(crate) use self::call::key;
use self::deliver::Pending;
pub(crate) use self::replay::Recorded;
use self::replay::Replay;
use crate::divergence::Divergence;
use crate::program::{Ended, Fault, Reply, Stop};
use crate::step::{BranchId, StepId, StepRequest};

/// One plan while it is evaluated.
pub(crate) struct Core {
    branches: Branches,
    /// Branches that run as soon as they may, with what they are told.
    ready: VecDeque<(BranchId, Reply)>,
    /// A branch that stands still, and all with it, until the next commit.
    held: Option<(BranchId, Reply)>,
    replay: Replay,
    pending: HashMap<StepId, Pending>,
    /// Outcomes that arrived and were not delivered, in the order of arrival.
    arrived: VecDeque<StepId>,
    out: Outgoing,
    /// The last place given out among beginnings and deliveries.
    place: i64,
    now_ms: i64,
    /// The result of the plan, once it has ended.
    end: Option<Ended>,
    /// True once the end was handed out.
    over: bool,
}

/// A call of a branch to the engine.
pub(crate) enum Asked {
    Step(StepRequest),
    Spawn,
    Wait(Vec<BranchId>, Option<StepRequest>),
    Cancel(Vec<BranchId>),
    Look(BranchId),
}

/// The state of the branch after its call.
pub(crate) enum Turn {
    /// The branch goes on at once.
    Go(Reply),
    /// The branch waits.
    Wait,
}

/// A plan in which nothing moves until something arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Everything that it waits for can be waited for without it.
    pub(crate) evictable: bool,
    /// All that it waits for takes long, a person or a sleep, and none is over before this time.
    pub(crate) long_until_ms: Option<i64>,
}

// === impl Core ===

impl Core {
    /// A plan with its journal; a new one has none.
    pub(crate) fn new(journal: Vec<Recorded>) -> Self {
        let replay = Replay::new(journal);
        let mut branches = Branches::default();
        let root = branches.root();
        Self {
            branches,
            ready: VecDeque::from([(root, Reply::Go)]),
            held: None,
            place: replay.last_place(),
            out: Outgoing::after(&replay),
            replay,
            pending: HashMap::new(),
            arrived: VecDeque::new(),
            now_ms: 0,
            end: None,
            over: false,
        }
    }

    /// Sets the current time, for the rows that are written.
    pub(crate) fn at(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// The branch that runs next, and the answer for it. `None`: nothing to do until something arrives or
    /// is committed.
    pub(crate) fn next(&mut self) -> Option<(BranchId, Reply)> {
        loop {
            if self.end.is_some() {
                return None;
            }
            if self.held.is_some() {
                return match self.out.is_full() {
                    true => None,
                    false => self.held.take(),
                };
            }
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if !self.deliver() {
                self.unstick();
                return None;
            }
        }
    }

    /// A branch has come to its end.
    pub(crate) fn ended(&mut self, branch: &BranchId, ended: Ended) {
        if *branch == BranchId::root() {
            return self.finish(ended);
        }
        self.branches.end(branch, ended);
        self.wake_waiting();
    }

    fn finish(&mut self, ended: Ended) {
        // Whatever was decided before counts, a divergence above all.
        if self.end.is_some() {
            return;
        }
        if let Some(expected) = self.replay.left() {
            let divergence = Divergence {
                step: expected.id.clone(),
                expected: expected.shown(),
                met: None,
            };
            self.diverged(&divergence);
            return;
        }
        self.end = Some(ended);
    }

    /// The plan ends with a fault, whatever its branches do.
    pub(crate) fn fail(&mut self, fault: Fault) {
        self.end = Some(Err(fault));
    }

    /// Returns true if the plan has come to its end, so that its branches are to be unwound.
    pub(crate) fn is_ending(&self) -> bool {
        self.end.is_some()
    }

    /// The wait of the plan; `None` if there is something to do, to write, or to deliver.
    pub(crate) fn rest(&self) -> Option<Rest> {
        let busy = self.end.is_some()
            || self.held.is_some()
            || !self.ready.is_empty()
            || !self.arrived.is_empty()
            || !self.out.is_idle()
            || !self.replay.is_over();
        if busy || self.pending.is_empty() {
            return None;
        }
        let waits = || self.pending.values();
        let long = waits().map(Pending::long_until_ms);
        Some(Rest {
            evictable: waits().all(Pending::is_remembered),
            long_until_ms: long
                .collect::<Option<Vec<i64>>>()
                .and_then(|all| all.into_iter().min()),
        })
    }

    /// Branches that wait for each other, and for nothing else, would wait for ever.
    fn unstick(&mut self) {
        let stuck = self.end.is_none() && self.pending.is_empty() && self.replay.is_over();
        if stuck {
            let msg = "the branches of the plan wait for each other, and nothing else will happen";
            self.fail(Fault::new("tutti/plan-deadlock", msg));
        }
    }

    fn diverged(&mut self, divergence: &Divergence) -> Turn {
        tracing::error!(%divergence, "a plan was evaluated again and took another way");
        self.fail(Fault::Failed(divergence.error()));
        Turn::Go(Reply::Stop(Stop::Over))
    }

    fn wake_waiting(&mut self) {
        for (branch, ended, timer) in self.branches.take_satisfied() {
            if let Some(timer) = timer {
                self.drop_step(&timer);
            }
            self.ready.push_back((branch, Reply::Ended(ended)));
        }
    }
}

/// The error that a program gets when it exceeds a limit.
fn limit(what: &str, most: usize) -> Value {
    json!({
        "kind": "tutti/plan-limit",
        "msg": format!("{what}; a plan may have {most} at the most"),
        "details": {"limit": most},
    })
}
