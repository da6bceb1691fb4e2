//! The calls of branches, and their results.

use serde_json::Value;
use store::{Asks, NewPlanEvent, NewPlanStep, PlanChange, PlanStepKey};

use super::batch::Start;
use super::deliver::{Awaits, Pending};
use super::replay::Recorded;
use super::{Asked, Core, Turn, limit};
use crate::canonical::fingerprint;
use crate::defaults::{ARGUMENTS_SHOWN_BYTES, BRANCH_DEPTH, LIVE_BRANCHES, SITE_BYTES, SLEEP_MAX};
use crate::divergence::{Divergence, Shown};
use crate::program::{Reply, Stop};
use crate::step::{BranchId, Outcome, StepId, StepRequest, Told, Work};

/// A step whose outcome is unknown.
pub(super) const KIND_UNKNOWN: &str = "tutti/outcome-unknown";

// === impl Core ===

impl Core {
    /// A branch that runs calls for something.
    pub(crate) fn call(&mut self, branch: &BranchId, asked: Asked) -> Turn {
        if self.end.is_some() {
            return Turn::Go(Reply::Stop(Stop::Over));
        }
        match asked {
            Asked::Step(request) => self.step(branch, request),
            Asked::Spawn => self.spawn(branch),
            Asked::Wait(on, timer) => self.wait(branch, on, timer),
            Asked::Cancel(branches) => self.cancel(branch, &branches),
            Asked::Look(other) => Turn::Go(Reply::Ended(self.branches.look(&[other]))),
        }
    }

    fn spawn(&mut self, branch: &BranchId) -> Turn {
        if self.branches.live() >= LIVE_BRANCHES {
            let error = limit("too many branches of the plan run at once", LIVE_BRANCHES);
            return Turn::Go(Reply::Refused(error));
        }
        if branch.depth() >= BRANCH_DEPTH {
            let error = limit("the branches of the plan are nested too deep", BRANCH_DEPTH);
            return Turn::Go(Reply::Refused(error));
        }
        let child = self.branches.spawn(branch);
        self.ready.push_back((child.clone(), Reply::Go));
        Turn::Go(Reply::Branch(child))
    }

    fn wait(&mut self, branch: &BranchId, on: Vec<BranchId>, timer: Option<StepRequest>) -> Turn {
        if self.branches.have_ended(&on) {
            return Turn::Go(Reply::Ended(self.branches.look(&on)));
        }
        let Some(timer) = timer else {
            self.branches.wait(branch, on, None);
            return Turn::Wait;
        };
        let id = self.branches.next_step(branch);
        self.branches.wait(branch, on, Some(id.clone()));
        self.take(id, timer)
    }

    fn cancel(&mut self, by: &BranchId, branches: &[BranchId]) -> Turn {
        for id in self.branches.within(branches) {
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
            self.ready.push_back((id, Reply::Stop(Stop::Cancelled)));
        }
        Turn::Go(Reply::Go)
    }

    fn step(&mut self, branch: &BranchId, request: StepRequest) -> Turn {
        let id = self.branches.next_step(branch);
        self.take(id, request)
    }

    fn take(&mut self, id: StepId, request: StepRequest) -> Turn {
        match self.replay.take(&id) {
            Some(recorded) => self.again(id, recorded, request),
            None => self.begin(id, request),
        }
    }

    /// The journal has this step.
    fn again(&mut self, id: StepId, recorded: Recorded, request: StepRequest) -> Turn {
        let hash = fingerprint(&request.kind, &request.arguments);
        let same = recorded.kind == request.kind
            && recorded.hash == hash
            && recorded.site == cut(&request.site, SITE_BYTES)
            && recorded.is_inline() == request.work.is_inline();
        if !same {
            let met = Some(Shown {
                kind: request.kind.into_owned(),
                site: request.site,
                arguments: shown(&request.arguments),
            });
            let expected = recorded.shown();
            return self.diverged(&Divergence {
                step: id,
                expected,
                met,
            });
        }
        if recorded.is_inline() {
            let outcome = recorded.outcome.unwrap_or(Outcome::ok(Value::Null));
            return Turn::Go(Reply::Answer(outcome));
        }
        let mut pending = Pending::again(&recorded, &request.work);
        let start = match (&recorded, request.work) {
            (
                Recorded {
                    outcome: Some(_), ..
                },
                _,
            ) => {
                // It came and was not seen.
                if recorded.delivered.is_none() {
                    self.arrived.push_back(id.clone());
                }
                None
            }
            (Recorded { dropped: true, .. }, _) => None,
            (Recorded { job: Some(job), .. }, _) => Some(Start::Await(*job)),
            (_, Work::Sleep(_)) => Some(Start::Until(recorded.until_ms.unwrap_or(0))),
            (_, Work::Ask(_)) => Some(Start::Answer),
            (_, Work::Do(deed)) if deed.is_repeatable() => Some(Start::Do(deed)),
            (_, Work::Do(_) | Work::Run(_) | Work::Here(_) | Work::Tell(_)) => {
                let msg = "the server went down while it did this, and nobody knows how far it came; \
                           look, and then let the plan go on from this step or the next";
                pending.outcome = Some(Outcome::error(KIND_UNKNOWN, msg));
                self.arrived.push_back(id.clone());
                None
            }
        };
        self.pending.insert(id.clone(), pending);
        if let Some(start) = start {
            self.out.again(id, start);
        }
        Turn::Wait
    }

    /// A step that was never taken before.
    fn begin(&mut self, id: StepId, request: StepRequest) -> Turn {
        if let Some((what, most)) = self.out.exhausted() {
            // Nothing that the program does can help: it fails as a whole.
            self.fail(crate::Fault::Failed(limit(what, most)));
            return Turn::Go(Reply::Stop(Stop::Over));
        }
        self.place += 1;
        let mut row = self.row(&id, &request);
        match request.work {
            Work::Here(compute) => {
                let outcome = compute();
                self.note(row, &outcome);
                self.answer(id, outcome)
            }
            Work::Tell(told) => {
                let outcome = Outcome::ok(Value::Null);
                self.note(row, &outcome);
                self.tell(told);
                self.answer(id, outcome)
            }
            Work::Sleep(time) => {
                let ms = i64::try_from(time.min(SLEEP_MAX).as_millis()).unwrap_or(i64::MAX);
                let until_ms = self.now_ms.saturating_add(ms);
                row.until_ms = Some(until_ms);
                self.out.push(PlanChange::Begin(row));
                self.suspend(id, Awaits::Time(until_ms), Start::Until(until_ms))
            }
            Work::Ask(mut told) => {
                let step = Value::from(id.to_string());
                told.details.insert("step".to_owned(), step);
                self.out.push(PlanChange::Begin(row));
                self.tell(told);
                self.suspend(id, Awaits::Person, Start::Answer)
            }
            Work::Run(order) => self.suspend(id, Awaits::Job, Start::Job(Box::new(row), order)),
            Work::Do(deed) => {
                self.out.push(PlanChange::Begin(row));
                self.suspend(id, Awaits::Deed, Start::Do(deed))
            }
        }
    }

    fn row(&self, id: &StepId, request: &StepRequest) -> NewPlanStep {
        NewPlanStep {
            key: key(id),
            kind: request.kind.to_string(),
            site: cut(&request.site, SITE_BYTES).to_owned(),
            arguments: shown(&request.arguments),
            hash: fingerprint(&request.kind, &request.arguments),
            state: "begun".to_owned(),
            began: self.place,
            delivered: None,
            until_ms: None,
            asks: asks(&request.work),
            outcome: None,
            begun_ms: self.now_ms,
        }
    }

    /// Over as soon as it was asked for.
    fn note(&mut self, mut row: NewPlanStep, outcome: &Outcome) {
        state_of(outcome).clone_into(&mut row.state);
        row.delivered = Some(row.began);
        row.outcome = Some(outcome.value.to_string());
        self.out.push(PlanChange::Begin(row));
    }

    fn tell(&mut self, told: Told) {
        self.out.push(PlanChange::Event(NewPlanEvent {
            kind: told.kind,
            at_ms: self.now_ms,
            details: Value::Object(told.details).to_string(),
            message: told.message,
        }));
    }

    /// At once, unless too much waits to be written.
    fn answer(&mut self, id: StepId, outcome: Outcome) -> Turn {
        let reply = Reply::Answer(outcome);
        if self.out.is_full() {
            self.held = Some((id.branch, reply));
            return Turn::Wait;
        }
        Turn::Go(reply)
    }

    fn suspend(&mut self, id: StepId, awaits: Awaits, start: Start) -> Turn {
        self.pending.insert(id.clone(), Pending::new(awaits));
        self.out.start(id, start);
        Turn::Wait
    }
}

pub(crate) fn key(id: &StepId) -> PlanStepKey {
    PlanStepKey {
        branch: id.branch.to_string(),
        step: i64::from(id.number),
    }
}

pub(super) fn state_of(outcome: &Outcome) -> &'static str {
    if outcome.ok { "done" } else { "failed" }
}

/// Returns whether a user is asked, and for a secret.
fn asks(work: &Work) -> Asks {
    match work {
        Work::Ask(told) if told.details.get("sensitive") == Some(&Value::Bool(true)) => {
            Asks::Secretly
        }
        Work::Ask(_) => Asks::Openly,
        _ => Asks::Nobody,
    }
}

fn shown(arguments: &Value) -> String {
    cut(&arguments.to_string(), ARGUMENTS_SHOWN_BYTES).to_owned()
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
