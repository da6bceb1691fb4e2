//! The state that survives a crash: [`SimulatedWorld`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use store::{JobNumber, NewPlanStep, PlanChange, PlanStepKey};

use super::program::{self, SimulatedAct, SimulatedTranscript};
use super::rollout::SimulatedRollout;
use crate::core::{EffectStart, JournalBatch, RecordedStep};
use crate::effects::LocalEffect;
use crate::machine::{MachineTurn, PlanMachine};
use crate::program::{BranchResult, PlanBranch};
use crate::step::{StepId, StepOutcome};

/// A journal, simulated jobs, and one plan in memory.
pub(super) struct SimulatedWorld {
    program: Arc<Vec<SimulatedAct>>,
    journal: BTreeMap<PlanStepKey, SimulatedStepRow>,
    pub(super) events: usize,
    jobs: Vec<SimulatedJob>,
    pub(super) executed: HashMap<StepId, usize>,
    /// The outcomes that the plan had seen when it requested each of its effects.
    pub(super) seen_at: Vec<Vec<String>>,
    pub(super) result: Option<BranchResult>,
    pub(super) seen: SimulatedTranscript,
    machine: PlanMachine,
    flight: Option<JournalBatch>,
    /// The outcomes that the plan had seen when it handed out the batch in flight.
    seen_by_flight: Vec<String>,
    /// The awaited effects, lost in a crash.
    waits: Vec<(StepId, SimulatedWait)>,
    now_ms: i64,
}

/// A job, and the step that created it.
struct SimulatedJob {
    step: StepId,
    course: SimulatedCourse,
}

/// The course of a job.
enum SimulatedCourse {
    /// A job that ends at once; true for success.
    Plain(bool),
    Rollout(Box<SimulatedRollout>),
}

#[derive(Clone)]
struct SimulatedStepRow {
    step: NewPlanStep,
    job: Option<usize>,
}

enum SimulatedWait {
    Job(usize),
    Until(i64),
    Answer,
    LocalEffect,
}

pub(super) struct NoopLocalEffect;

#[async_trait]
impl LocalEffect for NoopLocalEffect {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        StepOutcome::ok(Value::Null)
    }
}

impl SimulatedWorld {
    pub(super) fn new(program: &[SimulatedAct]) -> Self {
        let program = Arc::new(program.to_vec());
        let seen = SimulatedTranscript::default();
        let machine = machine(&program, &seen, Vec::new());
        Self {
            program,
            journal: BTreeMap::new(),
            events: 0,
            jobs: Vec::new(),
            executed: HashMap::new(),
            seen_at: Vec::new(),
            result: None,
            seen,
            machine,
            flight: None,
            seen_by_flight: Vec::new(),
            waits: Vec::new(),
            now_ms: 1_000,
        }
    }

    /// Loses everything in memory.
    pub(super) fn crash(&mut self) {
        self.seen = SimulatedTranscript::default();
        let journal = self
            .journal
            .values()
            .map(SimulatedStepRow::recorded)
            .collect();
        self.machine = machine(&self.program, &self.seen, journal);
        self.flight = None;
        self.waits.clear();
        for job in &mut self.jobs {
            if let SimulatedCourse::Rollout(rollout) = &mut job.course {
                rollout.crash(self.now_ms);
            }
        }
    }

    /// Performs an event, chosen by `chance`. Returns false if the plan has ended.
    pub(super) fn step(&mut self, chance: usize) -> bool {
        if self.result.is_some() {
            return false;
        }
        while self.machine.run_turn(self.now_ms, 4_096) == MachineTurn::SliceUsedUp {}
        if self.flight.is_none() {
            self.flight = self.machine.take_batch();
            self.seen_by_flight = self.seen.lock().unwrap().clone();
        }
        let waits = self.waits.len();
        let commit = usize::from(self.flight.is_some());
        assert!(waits + commit > 0, "nothing can happen any more");
        let choice = chance % (waits + commit);
        match choice.checked_sub(commit) {
            None => self.commit(),
            Some(wait) => self.happen(wait, chance / (waits + commit)),
        }
        true
    }

    /// Advances the awaited effect: a part of a rollout, or the outcome.
    fn happen(&mut self, wait: usize, chance: usize) {
        if let (_, SimulatedWait::Job(job)) = self.waits[wait]
            && let SimulatedCourse::Rollout(rollout) = &mut self.jobs[job].course
            && rollout.outcome().is_none()
        {
            rollout.step(chance, &mut self.now_ms);
        } else {
            self.arrive(wait);
        }
    }

    fn commit(&mut self) {
        let Some(batch) = self.flight.take() else {
            return;
        };
        let writes = !batch.changes.is_empty() || batch.end.is_some() || batch.has_effect_starts();
        for change in batch.changes {
            self.write(change);
        }
        for id in batch.drops {
            self.waits.retain(|(waiting, _)| *waiting != id);
        }
        for (id, start) in batch.starts {
            let wait = self.start(&id, start);
            self.waits.push((id, wait));
        }
        if let Some(end) = batch.end {
            self.result = Some(end);
        }
        if writes {
            self.machine.confirm_commit();
        }
    }

    fn start(&mut self, id: &StepId, start: EffectStart) -> SimulatedWait {
        match start {
            EffectStart::Job(step, spec) => {
                let task = spec.work.task().expect("only tasks here");
                let job = self.jobs.len();
                let rollout =
                    SimulatedRollout::new(&spec).map(|job| SimulatedCourse::Rollout(Box::new(job)));
                self.jobs.push(SimulatedJob {
                    step: id.clone(),
                    course: rollout
                        .unwrap_or(SimulatedCourse::Plain(task.name.as_str() == "works")),
                });
                *self.executed.entry(id.clone()).or_default() += 1;
                let row = SimulatedStepRow {
                    step: *step,
                    job: Some(job),
                };
                let before = self.journal.insert(row.step.key.clone(), row);
                assert!(before.is_none(), "the store would refuse a second job");
                self.seen_at.push(self.seen_by_flight.clone());
                SimulatedWait::Job(job)
            }
            EffectStart::Await(number) => {
                SimulatedWait::Job(usize::try_from(number.get()).unwrap() - 1)
            }
            EffectStart::Until(until_ms) => SimulatedWait::Until(until_ms),
            EffectStart::Answer => SimulatedWait::Answer,
            EffectStart::RunLocalEffect(_) => {
                self.seen_at.push(self.seen_by_flight.clone());
                SimulatedWait::LocalEffect
            }
        }
    }

    fn arrive(&mut self, index: usize) {
        let (id, wait) = self.waits.swap_remove(index);
        let outcome = match wait {
            SimulatedWait::Job(job) => {
                let job = &self.jobs[job];
                assert_eq!(job.step, id);
                job.outcome()
            }
            SimulatedWait::Until(until_ms) => {
                self.now_ms = self.now_ms.max(until_ms);
                StepOutcome::ok(Value::Null)
            }
            SimulatedWait::Answer => {
                // The answer is stored before it is delivered.
                let row = self.journal.get_mut(&key(&id)).unwrap();
                row.step.outcome = Some(json!("yes").to_string());
                row.step.state = "done".to_owned();
                StepOutcome::ok(json!("yes"))
            }
            SimulatedWait::LocalEffect => StepOutcome::ok(json!("done")),
        };
        self.machine.deliver_outcome(&id, outcome);
    }

    /// Applies a change as the store does.
    fn write(&mut self, change: PlanChange) {
        match change {
            PlanChange::Begin(step) => {
                let row = SimulatedStepRow { step, job: None };
                let before = self.journal.insert(row.step.key.clone(), row);
                assert!(before.is_none(), "begun twice");
            }
            PlanChange::End(end) => {
                let row = self.journal.get_mut(&end.key).unwrap();
                assert_eq!(row.step.delivered, None, "ended twice");
                row.step.state = end.state;
                row.step.delivered = end.delivered;
                row.step.outcome = row.step.outcome.take().or(end.outcome);
            }
            PlanChange::Event(_) => self.events += 1,
        }
    }

    /// Replays the whole journal in a new machine, and returns its result and transcript.
    pub(super) fn replayed(&self) -> (Option<BranchResult>, Vec<String>) {
        let seen = SimulatedTranscript::default();
        let journal = self
            .journal
            .values()
            .map(SimulatedStepRow::recorded)
            .collect();
        let mut machine = machine(&self.program, &seen, journal);
        let mut end = None;
        loop {
            while machine.run_turn(self.now_ms, 4_096) == MachineTurn::SliceUsedUp {}
            let Some(batch) = machine.take_batch() else {
                break;
            };
            assert!(
                batch.changes.is_empty(),
                "a replay writes nothing: {:?}",
                batch.changes
            );
            if batch.has_effect_starts() {
                // An effect on the server may be started again; it is not awaited here.
                machine.confirm_commit();
            }
            for (id, start) in batch.starts {
                let EffectStart::Await(number) = start else {
                    continue;
                };
                let job = &self.jobs[usize::try_from(number.get()).unwrap() - 1];
                machine.deliver_outcome(&id, job.outcome());
            }
            if batch.end.is_some() {
                end = batch.end;
                break;
            }
        }
        let seen = seen.lock().unwrap().clone();
        (end, seen)
    }
}

impl SimulatedJob {
    /// The final outcome, which is the same in every interleaving.
    fn outcome(&self) -> StepOutcome {
        let works = match &self.course {
            SimulatedCourse::Rollout(rollout) => return rollout.expected(),
            SimulatedCourse::Plain(works) => *works,
        };
        let value = json!({"job": format!("of {}", self.step)});
        if works {
            StepOutcome::ok(value)
        } else {
            StepOutcome::failed(value)
        }
    }
}

impl SimulatedStepRow {
    fn recorded(&self) -> RecordedStep {
        let step = &self.step;
        let outcome = step.outcome.as_ref().map(|text| StepOutcome {
            ok: step.state == "done",
            value: Arc::new(serde_json::from_str(text).unwrap()),
        });
        // A sleep has no stored outcome.
        let slept = step.kind == "sleep" || step.kind == "wait";
        let seen = step.delivered.is_some() && slept;
        let branch = step.key.branch.parse().unwrap();
        let number = u32::try_from(step.key.step).unwrap();
        RecordedStep {
            id: StepId { branch, number },
            kind: step.kind.clone(),
            site: step.site.clone(),
            arguments: step.arguments.clone(),
            hash: step.hash.clone(),
            began: step.began,
            delivered: step.delivered,
            dropped: step.state == "dropped",
            job: self
                .job
                .map(|job| JobNumber::try_from(i64::try_from(job + 1).unwrap()).unwrap()),
            until_ms: step.until_ms,
            outcome: outcome.or_else(|| seen.then(|| StepOutcome::ok(Value::Null))),
            bytes: 0,
        }
    }
}

fn machine(
    program: &Arc<Vec<SimulatedAct>>,
    seen: &SimulatedTranscript,
    journal: Vec<RecordedStep>,
) -> PlanMachine {
    let (acts, seen) = (Arc::clone(program), Arc::clone(seen));
    let seen: Arc<Mutex<Vec<String>>> = seen;
    let run = move |branch: &mut PlanBranch<'_>| program::run(&acts, branch, &seen);
    PlanMachine::new(Arc::new(run), journal)
}

fn key(id: &StepId) -> PlanStepKey {
    PlanStepKey {
        branch: id.branch.to_string(),
        step: i64::from(id.number),
    }
}
