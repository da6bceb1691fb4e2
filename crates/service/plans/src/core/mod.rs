//! The core of a plan, without I/O, clock or stack: it chooses the branch that runs next, collects
//! the rows to be written, and answers from the journal.
//!
//! [`PlanCore`] takes the [calls](PlanCore::call) of branches, [outcomes](PlanCore::accept_outcome)
//! and [commits](PlanCore::confirm_commit); it returns the [next](PlanCore::next) branch and
//! [`JournalBatch`]es. Invariants:
//! - one branch runs at a time, and between two *deliveries* (of an outcome to the branch that
//!   waits for it) everything follows from the branches' code, so the order of deliveries is all
//!   that the journal must record to repeat an evaluation;
//! - an effect is handed out only in a batch that also contains everything delivered or noted
//!   before it, so that a repeated evaluation sees everything that the plan had seen when it
//!   started the effect;
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

/// The state of one plan while it is evaluated.
pub(crate) struct PlanCore {
    branches: BranchTree,
    /// Branches that can run, with the replies that they get.
    ready: VecDeque<(BranchId, BranchReply)>,
    /// A branch that waits for the next commit, and with it the whole plan.
    paused_branch: Option<(BranchId, BranchReply)>,
    replay: JournalReplay,
    pending: HashMap<StepId, PendingStep>,
    /// Outcomes that arrived and are not delivered yet, in the order of arrival.
    arrived: VecDeque<StepId>,
    pending_batch: PendingBatch,
    /// The last sequence number given to a begin or delivery.
    last_place: i64,
    now_ms: i64,
    /// The result of the plan, once it has ended.
    end: Option<BranchResult>,
    /// True once the batch with the end was handed out.
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

/// The state of a branch after its call.
pub(crate) enum BranchTurn {
    /// The branch continues at once with this reply.
    Go(BranchReply),
    /// The branch waits.
    Wait,
}

/// The waits of a plan in which nothing can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdlePlan {
    /// True if everything that it waits for can be awaited without the plan in memory.
    pub(crate) evictable: bool,
    /// The earliest end of the waits, if all of them are long: sleeps or answers of users. `None`
    /// if one may end soon.
    pub(crate) long_until_ms: Option<i64>,
}

// === impl PlanCore ===

impl PlanCore {
    /// Creates the state of a plan with its journal, which is empty for a new plan.
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

    /// Sets the current time for the rows that are written, in milliseconds of the steady clock.
    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// Returns the branch that runs next, with its reply. `None` if the plan must wait for an
    /// outcome or a commit.
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

    /// Handles the end of a branch.
    pub(crate) fn end_branch(&mut self, branch: &BranchId, ended: BranchResult) {
        if *branch == BranchId::root() {
            return self.finish(ended);
        }
        self.branches.end(branch, ended);
        self.wake_waiting();
    }

    fn finish(&mut self, ended: BranchResult) {
        // The first end counts, above all a divergence.
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

    /// Ends the plan with a fault, whatever its branches do.
    pub(crate) fn fail(&mut self, fault: PlanFault) {
        self.end = Some(Err(fault));
    }

    /// Returns true if the plan has ended, so that its branches must be unwound.
    pub(crate) fn is_ending(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the waits of the plan; `None` if there is something to run, to write, or to deliver.
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

    /// Fails the plan if its branches wait only for each other.
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

/// The error of a program that exceeds a limit.
fn limit_error(what: &str, most: usize) -> Value {
    json!({
        "kind": "tutti/plan-limit",
        "msg": format!("{what}; a plan may have {most} at the most"),
        "details": {"limit": most},
    })
}
