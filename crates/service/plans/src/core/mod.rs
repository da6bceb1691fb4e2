//! The core of a plan, without I/O, clock or stack: the branch that runs next, the rows that are written, and the
//! answers from the journal.
//!
//! [`PlanCore`] takes the [calls](PlanCore::call) of branches, the outcomes that [arrived](PlanCore::arrived) and the
//! [committed](PlanCore::committed) batches; it returns the [next](PlanCore::next) branch and [`JournalBatch`]es. Invariants:
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

use self::batch::PendingBatch;
pub(crate) use self::batch::{EffectStart, JournalBatch};
use self::branches::BranchTree;
pub(crate) use self::call::step_key;
use self::deliver::PendingStep;
use self::replay::JournalReplay;
pub(crate) use self::replay::RecordedStep;
use crate::divergence::PlanDivergence;
use crate::program::{BranchReply, BranchResult, PlanFault, PlanStop};
use crate::step::{BranchId, StepId, StepRequest};

/// One plan while it is evaluated.
pub(crate) struct PlanCore {
    branches: BranchTree,
    /// Branches that run as soon as they may, with what they are told.
    ready: VecDeque<(BranchId, BranchReply)>,
    /// A branch that stands still, and all with it, until the next commit.
    paused_branch: Option<(BranchId, BranchReply)>,
    replay: JournalReplay,
    pending: HashMap<StepId, PendingStep>,
    /// Outcomes that arrived and were not delivered, in the order of arrival.
    arrived: VecDeque<StepId>,
    pending_batch: PendingBatch,
    /// The last place given out among beginnings and deliveries.
    last_place: i64,
    now_ms: i64,
    /// The result of the plan, once it has ended.
    end: Option<BranchResult>,
    /// True once the end was handed out.
    end_handed_out: bool,
}

/// A call of a branch to the engine.
pub(crate) enum EngineCall {
    Step(StepRequest),
    Spawn,
    Wait(Vec<BranchId>, Option<StepRequest>),
    Cancel(Vec<BranchId>),
    GetResult(BranchId),
}

/// The state of the branch after its call.
pub(crate) enum BranchTurn {
    /// The branch goes on at once.
    Go(BranchReply),
    /// The branch waits.
    Wait,
}

/// A plan in which nothing moves until something arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdlePlan {
    /// Everything that it waits for can be waited for without it.
    pub(crate) evictable: bool,
    /// All that it waits for takes long, a person or a sleep, and none is over before this time.
    pub(crate) long_until_ms: Option<i64>,
}

// === impl Core ===

impl PlanCore {
    /// A plan with its journal; a new one has none.
    pub(crate) fn new(journal: Vec<RecordedStep>) -> Self {
        let replay = JournalReplay::new(journal);
        let mut branches = BranchTree::default();
        let root = branches.add_root();
        Self {
            branches,
            ready: VecDeque::from([(root, BranchReply::Go)]),
            paused_branch: None,
            last_place: replay.last_place(),
            pending_batch: PendingBatch::resume_after(&replay),
            replay,
            pending: HashMap::new(),
            arrived: VecDeque::new(),
            now_ms: 0,
            end: None,
            end_handed_out: false,
        }
    }

    /// Sets the current time, for the rows that are written.
    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// The branch that runs next, and the answer for it. `None`: nothing to do until something arrives or
    /// is committed.
    pub(crate) fn next(&mut self) -> Option<(BranchId, BranchReply)> {
        loop {
            if self.end.is_some() {
                return None;
            }
            if self.paused_branch.is_some() {
                return match self.pending_batch.is_full() {
                    true => None,
                    false => self.paused_branch.take(),
                };
            }
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if !self.deliver() {
                self.fail_if_deadlocked();
                return None;
            }
        }
    }

    /// A branch has come to its end.
    pub(crate) fn end_branch(&mut self, branch: &BranchId, ended: BranchResult) {
        if *branch == BranchId::root() {
            return self.finish(ended);
        }
        self.branches.end(branch, ended);
        self.wake_waiting();
    }

    fn finish(&mut self, ended: BranchResult) {
        // Whatever was decided before counts, a divergence above all.
        if self.end.is_some() {
            return;
        }
        if let Some(expected) = self.replay.next_unplayed() {
            let divergence = PlanDivergence {
                step: expected.id.clone(),
                expected: expected.summarize(),
                met: None,
            };
            self.report_divergence(&divergence);
            return;
        }
        self.end = Some(ended);
    }

    /// The plan ends with a fault, whatever its branches do.
    pub(crate) fn fail(&mut self, fault: PlanFault) {
        self.end = Some(Err(fault));
    }

    /// Returns true if the plan has come to its end, so that its branches are to be unwound.
    pub(crate) fn is_ending(&self) -> bool {
        self.end.is_some()
    }

    /// The wait of the plan; `None` if there is something to do, to write, or to deliver.
    pub(crate) fn idle_wait(&self) -> Option<IdlePlan> {
        let busy = self.end.is_some()
            || self.paused_branch.is_some()
            || !self.ready.is_empty()
            || !self.arrived.is_empty()
            || !self.pending_batch.is_idle()
            || !self.replay.is_over();
        if busy || self.pending.is_empty() {
            return None;
        }
        let waits = || self.pending.values();
        let long = waits().map(PendingStep::long_until_ms);
        Some(IdlePlan {
            evictable: waits().all(PendingStep::is_remembered),
            long_until_ms: long
                .collect::<Option<Vec<i64>>>()
                .and_then(|all| all.into_iter().min()),
        })
    }

    /// Branches that wait for each other, and for nothing else, would wait for ever.
    fn fail_if_deadlocked(&mut self) {
        let stuck = self.end.is_none() && self.pending.is_empty() && self.replay.is_over();
        if stuck {
            let msg = "the branches of the plan wait for each other, and nothing else will happen";
            self.fail(PlanFault::new("tutti/plan-deadlock", msg));
        }
    }

    fn report_divergence(&mut self, divergence: &PlanDivergence) -> BranchTurn {
        tracing::error!(%divergence, "a plan was evaluated again and took another way");
        self.fail(PlanFault::Failed(divergence.error()));
        BranchTurn::Go(BranchReply::Stop(PlanStop::Ended))
    }

    fn wake_waiting(&mut self) {
        for (branch, ended, timer) in self.branches.take_satisfied() {
            if let Some(timer) = timer {
                self.drop_step(&timer);
            }
            self.ready.push_back((branch, BranchReply::Ended(ended)));
        }
    }
}

/// The error that a program gets when it exceeds a limit.
fn limit_error(what: &str, most: usize) -> Value {
    json!({
        "kind": "tutti/plan-limit",
        "msg": format!("{what}; a plan may have {most} at the most"),
        "details": {"limit": most},
    })
}
