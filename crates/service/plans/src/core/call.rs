//! The calls of branches, and their replies.

use serde_json::Value;
use store::{AwaitedAnswer, NewPlanEvent, NewPlanStep, PlanChange, PlanStepKey};

use super::batch::EffectStart;
use super::deliver::{AwaitedOutcome, PendingStep};
use super::replay::RecordedStep;
use super::{BranchTurn, EngineCall, PlanCore, limit_error};
use crate::canonical::fingerprint;
use crate::defaults::{ARGUMENTS_SHOWN_BYTES, BRANCH_DEPTH, LIVE_BRANCHES, SITE_BYTES, SLEEP_MAX};
use crate::divergence::{PlanDivergence, StepSummary};
use crate::program::{BranchReply, PlanStop};
use crate::step::{BranchId, PlanEventMessage, StepId, StepOutcome, StepRequest, StepWork};

/// The error kind of a step whose outcome is unknown.
pub(super) const KIND_UNKNOWN: &str = "tutti/outcome-unknown";

// === impl PlanCore ===

impl PlanCore {
    /// Handles a call of the running branch.
    pub(crate) fn call(&mut self, branch: &BranchId, asked: EngineCall) -> BranchTurn {
        if self.end.is_some() {
            return BranchTurn::Go(BranchReply::Stop(PlanStop::Ended));
        }
        match asked {
            EngineCall::Step(request) => self.step(branch, request),
            EngineCall::Spawn => self.spawn(branch),
            EngineCall::Wait(on, timer) => self.wait(branch, on, timer),
            EngineCall::Cancel(branches) => self.cancel(branch, &branches),
            EngineCall::GetResult(other) => {
                BranchTurn::Go(BranchReply::Ended(self.branches.results_of(&[other])))
            }
        }
    }

    fn spawn(&mut self, branch: &BranchId) -> BranchTurn {
        if self.branches.live_count() >= LIVE_BRANCHES {
            let error = limit_error("too many branches of the plan run at once", LIVE_BRANCHES);
            return BranchTurn::Go(BranchReply::Refused(error));
        }
        if branch.depth() >= BRANCH_DEPTH {
            let error = limit_error("the branches of the plan are nested too deep", BRANCH_DEPTH);
            return BranchTurn::Go(BranchReply::Refused(error));
        }
        let child = self.branches.spawn(branch);
        self.ready.push_back((child.clone(), BranchReply::Go));
        BranchTurn::Go(BranchReply::Branch(child))
    }

    fn wait(
        &mut self,
        branch: &BranchId,
        on: Vec<BranchId>,
        timer: Option<StepRequest>,
    ) -> BranchTurn {
        if self.branches.have_ended(&on) {
            return BranchTurn::Go(BranchReply::Ended(self.branches.results_of(&on)));
        }
        let Some(timer) = timer else {
            self.branches.wait(branch, on, None);
            return BranchTurn::Wait;
        };
        let id = self.branches.next_step(branch);
        self.branches.wait(branch, on, Some(id.clone()));
        self.take(id, timer)
    }

    fn cancel(&mut self, by: &BranchId, branches: &[BranchId]) -> BranchTurn {
        for id in self.branches.branches_within(branches) {
            // A branch cannot cancel itself, or a branch that contains it.
            if by.is_within(&id) {
                continue;
            }
            if let Some(timer) = self.branches.stop_waiting(&id) {
                self.drop_step(&timer);
            }
            let steps: Vec<StepId> = self
                .pending
                .keys()
                .filter(|step| step.branch == id)
                .cloned()
                .collect();
            steps.iter().for_each(|step| self.drop_step(step));
            self.ready.retain(|(ready, _)| *ready != id);
            self.ready
                .push_back((id, BranchReply::Stop(PlanStop::Cancelled)));
        }
        BranchTurn::Go(BranchReply::Go)
    }

    fn step(&mut self, branch: &BranchId, request: StepRequest) -> BranchTurn {
        let id = self.branches.next_step(branch);
        self.take(id, request)
    }

    fn take(&mut self, id: StepId, request: StepRequest) -> BranchTurn {
        match self.replay.take(&id) {
            Some(recorded) => self.replay_step(id, recorded, request),
            None => self.begin(id, request),
        }
    }

    /// Answers a step from the journal, or waits again for its outcome.
    fn replay_step(
        &mut self,
        id: StepId,
        recorded: RecordedStep,
        request: StepRequest,
    ) -> BranchTurn {
        let hash = fingerprint(&request.kind, &request.arguments);
        let same = recorded.kind == request.kind
            && recorded.hash == hash
            && recorded.site == truncate_text(&request.site, SITE_BYTES)
            && recorded.is_inline() == request.work.is_inline();
        if !same {
            let met = Some(StepSummary {
                kind: request.kind.into_owned(),
                site: request.site,
                arguments: shorten_arguments(&request.arguments),
            });
            let expected = recorded.summarize();
            return self.report_divergence(&PlanDivergence {
                step: id,
                expected,
                met,
            });
        }
        if recorded.is_inline() {
            let outcome = recorded.outcome.unwrap_or(StepOutcome::ok(Value::Null));
            return BranchTurn::Go(BranchReply::Answer(outcome));
        }
        let mut pending = PendingStep::resume_recorded(&recorded, &request.work);
        let start = match (&recorded, request.work) {
            (
                RecordedStep {
                    outcome: Some(_), ..
                },
                _,
            ) => {
                // The outcome had arrived, but was not delivered.
                if recorded.delivered.is_none() {
                    self.arrived.push_back(id.clone());
                }
                None
            }
            (RecordedStep { dropped: true, .. }, _) => None,
            (RecordedStep { job: Some(job), .. }, _) => Some(EffectStart::Await(*job)),
            (_, StepWork::Sleep(_)) => Some(EffectStart::Until(recorded.until_ms.unwrap_or(0))),
            (_, StepWork::Ask(_)) => Some(EffectStart::Answer),
            (_, StepWork::RunLocalEffect(deed)) if deed.is_repeatable() => {
                Some(EffectStart::RunLocalEffect(deed))
            }
            (
                _,
                StepWork::RunLocalEffect(_)
                | StepWork::Run(_)
                | StepWork::Compute(_)
                | StepWork::RecordEvent(_),
            ) => {
                let msg = "the server went down during this step, so its outcome is unknown; check its \
                           effect, then resume the plan from this step or from the next";
                pending.outcome = Some(StepOutcome::error(KIND_UNKNOWN, msg));
                self.arrived.push_back(id.clone());
                None
            }
        };
        self.pending.insert(id.clone(), pending);
        if let Some(start) = start {
            self.pending_batch.push_awaited(id, start);
        }
        BranchTurn::Wait
    }

    /// Begins a step that is not in the journal.
    fn begin(&mut self, id: StepId, request: StepRequest) -> BranchTurn {
        if let Some((what, most)) = self.pending_batch.exceeded_limit() {
            // The program cannot do anything about a limit, so the whole plan fails.
            self.fail(crate::PlanFault::Failed(limit_error(what, most)));
            return BranchTurn::Go(BranchReply::Stop(PlanStop::Ended));
        }
        self.last_place += 1;
        let mut row = self.row(&id, &request);
        match request.work {
            StepWork::Compute(compute) => {
                let outcome = compute();
                self.note(row, &outcome);
                self.answer(id, outcome)
            }
            StepWork::RecordEvent(told) => {
                let outcome = StepOutcome::ok(Value::Null);
                self.note(row, &outcome);
                self.tell(told);
                self.answer(id, outcome)
            }
            StepWork::Sleep(time) => {
                let ms = i64::try_from(time.min(SLEEP_MAX).as_millis()).unwrap_or(i64::MAX);
                let until_ms = self.now_ms.saturating_add(ms);
                row.until_ms = Some(until_ms);
                self.pending_batch.push(PlanChange::Begin(row));
                self.suspend(
                    id,
                    AwaitedOutcome::Time(until_ms),
                    EffectStart::Until(until_ms),
                )
            }
            StepWork::Ask(mut told) => {
                let step = Value::from(id.to_string());
                told.details.insert("step".to_owned(), step);
                self.pending_batch.push(PlanChange::Begin(row));
                self.tell(told);
                self.suspend(id, AwaitedOutcome::UserAnswer, EffectStart::Answer)
            }
            StepWork::Run(order) => self.suspend(
                id,
                AwaitedOutcome::Job,
                EffectStart::Job(Box::new(row), order),
            ),
            StepWork::RunLocalEffect(deed) => {
                self.pending_batch.push(PlanChange::Begin(row));
                self.suspend(
                    id,
                    AwaitedOutcome::LocalEffect,
                    EffectStart::RunLocalEffect(deed),
                )
            }
        }
    }

    fn row(&self, id: &StepId, request: &StepRequest) -> NewPlanStep {
        NewPlanStep {
            key: step_key(id),
            kind: request.kind.to_string(),
            site: truncate_text(&request.site, SITE_BYTES).to_owned(),
            arguments: shorten_arguments(&request.arguments),
            hash: fingerprint(&request.kind, &request.arguments),
            state: "begun".to_owned(),
            began: self.last_place,
            delivered: None,
            until_ms: None,
            asks: asks(&request.work),
            outcome: None,
            begun_ms: self.now_ms,
        }
    }

    /// Writes a step that is begun and delivered at once.
    fn note(&mut self, mut row: NewPlanStep, outcome: &StepOutcome) {
        state_of(outcome).clone_into(&mut row.state);
        row.delivered = Some(row.began);
        row.outcome = Some(outcome.value.to_string());
        self.pending_batch.push(PlanChange::Begin(row));
    }

    fn tell(&mut self, told: PlanEventMessage) {
        self.pending_batch.push(PlanChange::Event(NewPlanEvent {
            kind: told.kind,
            at_ms: self.now_ms,
            details: Value::Object(told.details).to_string(),
            message: told.message,
        }));
    }

    /// Replies at once, unless the batch is full and must be committed first.
    fn answer(&mut self, id: StepId, outcome: StepOutcome) -> BranchTurn {
        let reply = BranchReply::Answer(outcome);
        if self.pending_batch.is_full() {
            self.paused_branch = Some((id.branch, reply));
            return BranchTurn::Wait;
        }
        BranchTurn::Go(reply)
    }

    fn suspend(&mut self, id: StepId, awaits: AwaitedOutcome, start: EffectStart) -> BranchTurn {
        self.pending.insert(id.clone(), PendingStep::new(awaits));
        self.pending_batch.start(id, start);
        BranchTurn::Wait
    }
}

pub(crate) fn step_key(id: &StepId) -> PlanStepKey {
    PlanStepKey {
        branch: id.branch.to_string(),
        step: i64::from(id.number),
    }
}

pub(super) fn state_of(outcome: &StepOutcome) -> &'static str {
    if outcome.ok { "done" } else { "failed" }
}

/// Returns whether the step waits for a user, and whether the answer is secret.
fn asks(work: &StepWork) -> AwaitedAnswer {
    match work {
        StepWork::Ask(told) if told.details.get("sensitive") == Some(&Value::Bool(true)) => {
            AwaitedAnswer::Sealed
        }
        StepWork::Ask(_) => AwaitedAnswer::Plain,
        _ => AwaitedAnswer::NotAwaited,
    }
}

fn shorten_arguments(arguments: &Value) -> String {
    truncate_text(&arguments.to_string(), ARGUMENTS_SHOWN_BYTES).to_owned()
}

fn truncate_text(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
