//! The state that survives a crash: [`World`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use store::{JobNumber, NewPlanStep, PlanChange, PlanStepKey};

use super::program::{self, Act, Transcript};
use super::rollout::SimulatedRollout;
use crate::core::{Batch, Recorded, Start};
use crate::effects::{Deed, Order};
use crate::machine::{Machine, Pace};
use crate::program::{Branch, Ended};
use crate::step::{Outcome, StepId};

/// A journal, a world in which jobs run, and one plan in memory.
pub(super) struct World {
    program: Arc<Vec<Act>>,
    journal: BTreeMap<PlanStepKey, Row>,
    pub(super) events: usize,
    jobs: Vec<SimulatedJob>,
    pub(super) executed: HashMap<StepId, usize>,
    /// The outcomes that the plan had seen when it requested each of its effects.
    pub(super) seen_at: Vec<Vec<String>>,
    pub(super) result: Option<Ended>,
    pub(super) seen: Transcript,
    machine: Machine,
    flight: Option<Batch>,
    /// The outcomes that it had seen when it handed out the batch.
    seen_by_flight: Vec<String>,
    /// The effects that are under way in memory.
    waits: Vec<(StepId, Wait)>,
    now_ms: i64,
}

/// A job, and the step that made it.
struct SimulatedJob {
    step: StepId,
    course: Course,
}

/// The way that a job takes.
enum Course {
    /// It ends at once, well if this is true.
    Plain(bool),
    Rollout(Box<SimulatedRollout>),
}

#[derive(Clone)]
struct Row {
    step: NewPlanStep,
    job: Option<usize>,
}

enum Wait {
    Job(usize),
    Until(i64),
    Answer,
    Deed,
}

pub(super) struct Nothing;

#[async_trait]
impl Deed for Nothing {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn act(&self) -> Outcome {
        Outcome::ok(Value::Null)
    }
}

impl World {
    pub(super) fn new(program: &[Act]) -> Self {
        let program = Arc::new(program.to_vec());
        let seen = Transcript::default();
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

    /// Everything in memory is lost.
    pub(super) fn crash(&mut self) {
        self.seen = Transcript::default();
        let journal = self.journal.values().map(Row::recorded).collect();
        self.machine = machine(&self.program, &self.seen, journal);
        self.flight = None;
        self.waits.clear();
        for job in &mut self.jobs {
            if let Course::Rollout(rollout) = &mut job.course {
                rollout.crash(self.now_ms);
            }
        }
    }

    /// Something happens, chosen by `chance`. `false`: the plan is over.
    pub(super) fn step(&mut self, chance: usize) -> bool {
        if self.result.is_some() {
            return false;
        }
        while self.machine.turn(self.now_ms, 4_096) == Pace::More {}
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

    /// The next thing that is waited for here: a part of a rollout, or the outcome.
    fn happen(&mut self, wait: usize, chance: usize) {
        if let (_, Wait::Job(job)) = self.waits[wait]
            && let Course::Rollout(rollout) = &mut self.jobs[job].course
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
        let writes = !batch.changes.is_empty() || batch.end.is_some() || batch.begins();
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
            self.machine.committed();
        }
    }

    fn start(&mut self, id: &StepId, start: Start) -> Wait {
        match start {
            Start::Job(step, order) => {
                let Order::Task(task) = *order else {
                    panic!("only tasks here");
                };
                let job = self.jobs.len();
                let rollout =
                    SimulatedRollout::new(&task).map(|job| Course::Rollout(Box::new(job)));
                self.jobs.push(SimulatedJob {
                    step: id.clone(),
                    course: rollout.unwrap_or(Course::Plain(task.task == "works")),
                });
                *self.executed.entry(id.clone()).or_default() += 1;
                let row = Row {
                    step: *step,
                    job: Some(job),
                };
                let before = self.journal.insert(row.step.key.clone(), row);
                assert!(before.is_none(), "the store would refuse a second job");
                self.seen_at.push(self.seen_by_flight.clone());
                Wait::Job(job)
            }
            Start::Await(number) => Wait::Job(usize::try_from(number.get()).unwrap() - 1),
            Start::Until(until_ms) => Wait::Until(until_ms),
            Start::Answer => Wait::Answer,
            Start::Do(_) => {
                self.seen_at.push(self.seen_by_flight.clone());
                Wait::Deed
            }
        }
    }

    fn arrive(&mut self, index: usize) {
        let (id, wait) = self.waits.swap_remove(index);
        let outcome = match wait {
            Wait::Job(job) => {
                let job = &self.jobs[job];
                assert_eq!(job.step, id);
                job.outcome()
            }
            Wait::Until(until_ms) => {
                self.now_ms = self.now_ms.max(until_ms);
                Outcome::ok(Value::Null)
            }
            Wait::Answer => {
                // The answer is written before it is delivered.
                let row = self.journal.get_mut(&key(&id)).unwrap();
                row.step.outcome = Some(json!("yes").to_string());
                row.step.state = "done".to_owned();
                Outcome::ok(json!("yes"))
            }
            Wait::Deed => Outcome::ok(json!("done")),
        };
        self.machine.arrived(&id, outcome);
    }

    /// Applies a change as the store does.
    fn write(&mut self, change: PlanChange) {
        match change {
            PlanChange::Begin(step) => {
                let row = Row { step, job: None };
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

    /// The whole journal once more, in a new machine: it must come to the same end by itself.
    pub(super) fn replayed(&self) -> (Option<Ended>, Vec<String>) {
        let seen = Transcript::default();
        let journal = self.journal.values().map(Row::recorded).collect();
        let mut machine = machine(&self.program, &seen, journal);
        let mut end = None;
        loop {
            while machine.turn(self.now_ms, 4_096) == Pace::More {}
            let Some(batch) = machine.take_batch() else {
                break;
            };
            assert!(
                batch.changes.is_empty(),
                "a replay writes nothing: {:?}",
                batch.changes
            );
            if batch.begins() {
                // An effect on the server's machine may be begun once more; it is not waited for here.
                machine.committed();
            }
            for (id, start) in batch.starts {
                let Start::Await(number) = start else {
                    continue;
                };
                let job = &self.jobs[usize::try_from(number.get()).unwrap() - 1];
                machine.arrived(&id, job.outcome());
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
    /// Its outcome in the end, which is the same in every interleaving.
    fn outcome(&self) -> Outcome {
        let works = match &self.course {
            Course::Rollout(rollout) => return rollout.expected(),
            Course::Plain(works) => *works,
        };
        let value = json!({"job": format!("of {}", self.step)});
        if works {
            Outcome::ok(value)
        } else {
            Outcome::failed(value)
        }
    }
}

impl Row {
    fn recorded(&self) -> Recorded {
        let step = &self.step;
        let outcome = step.outcome.as_ref().map(|text| Outcome {
            ok: step.state == "done",
            value: Arc::new(serde_json::from_str(text).unwrap()),
        });
        // A sleep has no outcome of its own.
        let slept = step.kind == "sleep" || step.kind == "wait";
        let seen = step.delivered.is_some() && slept;
        let branch = step.key.branch.parse().unwrap();
        let number = u32::try_from(step.key.step).unwrap();
        Recorded {
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
            outcome: outcome.or_else(|| seen.then(|| Outcome::ok(Value::Null))),
            bytes: 0,
        }
    }
}

fn machine(program: &Arc<Vec<Act>>, seen: &Transcript, journal: Vec<Recorded>) -> Machine {
    let (acts, seen) = (Arc::clone(program), Arc::clone(seen));
    let seen: Arc<Mutex<Vec<String>>> = seen;
    let run = move |branch: &mut Branch<'_>| program::run(&acts, branch, &seen);
    Machine::new(Arc::new(run), journal)
}

fn key(id: &StepId) -> PlanStepKey {
    PlanStepKey {
        branch: id.branch.to_string(),
        step: i64::from(id.number),
    }
}
