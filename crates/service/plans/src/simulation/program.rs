//! Random programs, as lists of [`SimulatedAct`]s.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobs::{JobSpec, JobWork, NodeScope, TaskWork};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rollout::RolloutAct;
use crate::program::{BranchResult, PlanBranch, PlanFault};
use crate::step::{BranchId, PlanEventMessage, StepOutcome, StepRequest, StepWork};

/// One line of a program.
#[derive(Clone, Debug)]
pub(super) enum SimulatedAct {
    /// A note whose value differs each time.
    Draw,
    Tell,
    Job {
        fails: bool,
    },
    /// A job in batches, with pauses and a limit of failures.
    Rollout(RolloutAct),
    Sleep,
    Ask,
    /// An effect on the server's machine.
    LocalEffect,
    /// A branch that runs in parallel; the program waits for it at the end.
    Background(Vec<SimulatedAct>),
    /// Branches that run in parallel; the program waits for them here.
    Parallel(Vec<Vec<SimulatedAct>>),
    /// A branch that the program waits for with a timeout, and then cancels.
    Impatient(Vec<SimulatedAct>),
    /// A choice between two lists of acts, by the outcome of the last step.
    IfOk(Vec<SimulatedAct>, Vec<SimulatedAct>),
    Loop(u8, Vec<SimulatedAct>),
    /// Fails the plan, or the branch.
    Fail,
}

/// The outcomes that a program has seen, in the order in which it saw them.
pub(super) type SimulatedTranscript = Arc<Mutex<Vec<String>>>;

/// Programs whose result does not depend on races or on chance.
pub(super) fn deterministic_programs() -> impl Strategy<Value = Vec<SimulatedAct>> {
    acts(
        prop_oneof![
            4 => Just(SimulatedAct::Job { fails: false }),
            1 => Just(SimulatedAct::Job { fails: true }),
            3 => rollout(),
            1 => Just(SimulatedAct::Tell),
            1 => Just(SimulatedAct::Sleep),
            1 => Just(SimulatedAct::Ask),
            1 => Just(SimulatedAct::LocalEffect),
            1 => Just(SimulatedAct::Fail),
        ],
        false,
    )
}

/// Arbitrary programs.
pub(super) fn random_programs() -> impl Strategy<Value = Vec<SimulatedAct>> {
    acts(
        prop_oneof![
            3 => Just(SimulatedAct::Job { fails: false }),
            1 => Just(SimulatedAct::Job { fails: true }),
            2 => rollout(),
            2 => Just(SimulatedAct::Draw),
            1 => Just(SimulatedAct::Tell),
            1 => Just(SimulatedAct::Sleep),
            1 => Just(SimulatedAct::LocalEffect),
        ],
        true,
    )
}

/// Rollouts of some nodes, of which some fail.
fn rollout() -> impl Strategy<Value = SimulatedAct> {
    let fails = prop::collection::vec(prop::bool::weighted(0.3), 1..7);
    let batch = prop::option::weighted(0.8, prop::collection::vec(1..4_u8, 1..3));
    let limit = prop::option::of(0..4_u8);
    (fails, batch, any::<bool>(), limit).prop_map(|(fails, batch, pauses, max_failures)| {
        SimulatedAct::Rollout(RolloutAct {
            fails,
            batch,
            pauses,
            max_failures,
        })
    })
}

fn acts(
    leaf: impl Strategy<Value = SimulatedAct> + 'static,
    races: bool,
) -> impl Strategy<Value = Vec<SimulatedAct>> {
    let some = |act: BoxedStrategy<SimulatedAct>| prop::collection::vec(act, 0..4);
    let act = leaf.prop_recursive(3, 24, 4, move |inner| {
        let acts = some(inner.clone());
        let mut kinds = vec![
            acts.clone().prop_map(SimulatedAct::Background).boxed(),
            prop::collection::vec(acts.clone(), 1..4)
                .prop_map(SimulatedAct::Parallel)
                .boxed(),
            (acts.clone(), acts.clone())
                .prop_map(|(ok, not)| SimulatedAct::IfOk(ok, not))
                .boxed(),
            (0..4_u8, acts.clone())
                .prop_map(|(times, acts)| SimulatedAct::Loop(times, acts))
                .boxed(),
            inner,
        ];
        if races {
            kinds.push(acts.prop_map(SimulatedAct::Impatient).boxed());
        }
        prop::strategy::Union::new(kinds)
    });
    prop::collection::vec(act, 1..6)
}

/// Runs the acts; the result is the list of their outcomes.
pub(super) fn run(
    acts: &[SimulatedAct],
    branch: &PlanBranch<'_>,
    seen: &SimulatedTranscript,
) -> BranchResult {
    let mut run = SimulatedActRun {
        branch,
        seen,
        last_ok: true,
        outputs: Vec::new(),
        background: Vec::new(),
    };
    run.acts(acts)?;
    let beside = std::mem::take(&mut run.background);
    let ended = branch.wait(&beside)?;
    run.note(&ended);
    Ok(Value::Array(run.outputs))
}

/// The job of a task.
pub(super) fn simulated_job(task: &str) -> JobSpec {
    let task = TaskWork::new("production".parse().unwrap(), task.parse().unwrap());
    JobSpec::new(JobWork::Task(task), NodeScope::default())
}

struct SimulatedActRun<'a, 'b> {
    branch: &'a PlanBranch<'b>,
    seen: &'a SimulatedTranscript,
    last_ok: bool,
    outputs: Vec<Value>,
    background: Vec<BranchId>,
}

impl SimulatedActRun<'_, '_> {
    fn acts(&mut self, acts: &[SimulatedAct]) -> Result<(), PlanFault> {
        acts.iter().try_for_each(|act| self.act(act))
    }

    fn act(&mut self, act: &SimulatedAct) -> Result<(), PlanFault> {
        match act {
            SimulatedAct::Draw => self.step("draw", StepWork::Compute(Box::new(draw))),
            SimulatedAct::Tell => {
                self.step("tell", StepWork::RecordEvent(event_message("out_message")))
            }
            SimulatedAct::Sleep => self.step("sleep", StepWork::Sleep(Duration::from_secs(9))),
            SimulatedAct::Ask => self.step("ask", StepWork::Ask(event_message("prompt"))),
            SimulatedAct::LocalEffect => self.step(
                "deed",
                StepWork::RunLocalEffect(Arc::new(super::world::NoopLocalEffect)),
            ),
            SimulatedAct::Job { fails } => {
                let task = if *fails { "fails" } else { "works" };
                self.step("task", StepWork::Run(Box::new(simulated_job(task))))
            }
            SimulatedAct::Rollout(rollout) => {
                self.step("task", StepWork::Run(Box::new(rollout.spec())))
            }
            SimulatedAct::Background(acts) => {
                let branch = self.spawn(acts)?;
                self.background.push(branch);
                Ok(())
            }
            SimulatedAct::Parallel(all) => {
                let branches = all.iter().map(|acts| self.spawn(acts));
                let branches = branches.collect::<Result<Vec<_>, _>>()?;
                let ended = self.branch.wait(&branches)?;
                self.note(&ended);
                Ok(())
            }
            SimulatedAct::Impatient(acts) => {
                let branch = self.spawn(acts)?;
                let patience = Duration::from_secs(3);
                let ended =
                    self.branch
                        .wait_for(std::slice::from_ref(&branch), "impatient", patience)?;
                let flat: Vec<BranchResult> = ended.into_iter().flatten().collect();
                self.note(&flat);
                self.branch.cancel(std::slice::from_ref(&branch))?;
                let ended = self.branch.wait(&[branch])?;
                self.note(&ended);
                Ok(())
            }
            SimulatedAct::IfOk(yes, no) => self.acts(if self.last_ok { yes } else { no }),
            SimulatedAct::Loop(times, acts) => (0..*times).try_for_each(|_| self.acts(acts)),
            SimulatedAct::Fail => Err(PlanFault::new("test/fails", "as it is told")),
        }
    }

    fn spawn(&self, acts: &[SimulatedAct]) -> Result<BranchId, PlanFault> {
        let (acts, seen) = (acts.to_vec(), Arc::clone(self.seen));
        self.branch.spawn(move |branch| run(&acts, branch, &seen))
    }

    fn step(&mut self, kind: &'static str, work: StepWork) -> Result<(), PlanFault> {
        let count = self.outputs.len();
        let arguments = json!({"of": self.branch.id().to_string(), "count": count});
        let site = format!("at {count}");
        let request = StepRequest {
            kind: kind.into(),
            site,
            arguments,
            work,
        };
        let outcome = self.branch.step(request)?;
        let line = format!("{} {kind} {count}: {}", self.branch.id(), outcome.value);
        self.seen.lock().unwrap().push(line);
        self.last_ok = outcome.ok;
        self.outputs.push((*outcome.value).clone());
        Ok(())
    }

    fn note(&mut self, ended: &[BranchResult]) {
        for one in ended {
            let line = match one {
                Ok(value) => value.clone(),
                Err(fault) => Value::from(fault.to_string()),
            };
            let text = format!("{} ended: {line}", self.branch.id());
            self.seen.lock().unwrap().push(text);
            self.outputs.push(line);
        }
    }
}

/// Returns a value that differs each time.
fn draw() -> StepOutcome {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    StepOutcome::ok(json!(NEXT.fetch_add(1, Ordering::Relaxed)))
}

fn event_message(kind: &str) -> PlanEventMessage {
    PlanEventMessage {
        kind: kind.to_owned(),
        details: serde_json::Map::new(),
        message: String::new(),
    }
}
