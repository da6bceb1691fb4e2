//! Random programs: [`Act`]s, one after the other.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobs::TaskRequest;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rollout::RolloutAct;
use crate::effects::Order;
use crate::program::{Branch, Ended, Fault};
use crate::step::{BranchId, Outcome, StepRequest, Told, Work};

/// One line of a program.
#[derive(Clone, Debug)]
pub(super) enum Act {
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
    Deed,
    /// A branch that runs in parallel, and is waited for at the end.
    Beside(Vec<Act>),
    /// Branches that run in parallel, waited for here.
    Parallel(Vec<Vec<Act>>),
    /// Branches waited for only for a while, and then cancelled.
    Impatient(Vec<Act>),
    /// A choice between two ways, by the outcome of the last step.
    IfOk(Vec<Act>, Vec<Act>),
    Loop(u8, Vec<Act>),
    /// Fails the plan, or the branch.
    Fail,
}

/// The outcomes that a program has seen, in the order in which it saw them.
pub(super) type Transcript = Arc<Mutex<Vec<String>>>;

/// Programs whose result does not depend on races or on chance.
pub(super) fn steady() -> impl Strategy<Value = Vec<Act>> {
    acts(
        prop_oneof![
            4 => Just(Act::Job { fails: false }),
            1 => Just(Act::Job { fails: true }),
            3 => rollout(),
            1 => Just(Act::Tell),
            1 => Just(Act::Sleep),
            1 => Just(Act::Ask),
            1 => Just(Act::Deed),
            1 => Just(Act::Fail),
        ],
        false,
    )
}

/// Arbitrary programs.
pub(super) fn wild() -> impl Strategy<Value = Vec<Act>> {
    acts(
        prop_oneof![
            3 => Just(Act::Job { fails: false }),
            1 => Just(Act::Job { fails: true }),
            2 => rollout(),
            2 => Just(Act::Draw),
            1 => Just(Act::Tell),
            1 => Just(Act::Sleep),
            1 => Just(Act::Deed),
        ],
        true,
    )
}

/// Rollouts of some nodes, of which some fail.
fn rollout() -> impl Strategy<Value = Act> {
    let fails = prop::collection::vec(prop::bool::weighted(0.3), 1..7);
    let batch = prop::option::weighted(0.8, prop::collection::vec(1..4_u8, 1..3));
    let limit = prop::option::of(0..4_u8);
    (fails, batch, any::<bool>(), limit).prop_map(|(fails, batch, pauses, max_failures)| {
        Act::Rollout(RolloutAct {
            fails,
            batch,
            pauses,
            max_failures,
        })
    })
}

fn acts(
    leaf: impl Strategy<Value = Act> + 'static,
    races: bool,
) -> impl Strategy<Value = Vec<Act>> {
    let some = |act: BoxedStrategy<Act>| prop::collection::vec(act, 0..4);
    let act = leaf.prop_recursive(3, 24, 4, move |inner| {
        let acts = some(inner.clone());
        let mut kinds = vec![
            acts.clone().prop_map(Act::Beside).boxed(),
            prop::collection::vec(acts.clone(), 1..4)
                .prop_map(Act::Parallel)
                .boxed(),
            (acts.clone(), acts.clone())
                .prop_map(|(ok, not)| Act::IfOk(ok, not))
                .boxed(),
            (0..4_u8, acts.clone())
                .prop_map(|(times, acts)| Act::Loop(times, acts))
                .boxed(),
            inner,
        ];
        if races {
            kinds.push(acts.prop_map(Act::Impatient).boxed());
        }
        prop::strategy::Union::new(kinds)
    });
    prop::collection::vec(act, 1..6)
}

/// Runs the acts; the result is the list of their outcomes.
pub(super) fn run(acts: &[Act], branch: &Branch<'_>, seen: &Transcript) -> Ended {
    let mut run = Run {
        branch,
        seen,
        last_ok: true,
        said: Vec::new(),
        beside: Vec::new(),
    };
    run.acts(acts)?;
    let beside = std::mem::take(&mut run.beside);
    let ended = branch.wait(&beside)?;
    run.note(&ended);
    Ok(Value::Array(run.said))
}

struct Run<'a, 'b> {
    branch: &'a Branch<'b>,
    seen: &'a Transcript,
    last_ok: bool,
    said: Vec<Value>,
    beside: Vec<BranchId>,
}

impl Run<'_, '_> {
    fn acts(&mut self, acts: &[Act]) -> Result<(), Fault> {
        acts.iter().try_for_each(|act| self.act(act))
    }

    fn act(&mut self, act: &Act) -> Result<(), Fault> {
        match act {
            Act::Draw => self.step("draw", Work::Here(Box::new(draw))),
            Act::Tell => self.step("tell", Work::Tell(told("out_message"))),
            Act::Sleep => self.step("sleep", Work::Sleep(Duration::from_secs(9))),
            Act::Ask => self.step("ask", Work::Ask(told("prompt"))),
            Act::Deed => self.step("deed", Work::Do(Arc::new(super::world::Nothing))),
            Act::Job { fails } => {
                let task = if *fails { "fails" } else { "works" }.to_owned();
                let request = TaskRequest {
                    task,
                    ..TaskRequest::default()
                };
                self.step("task", Work::Run(Box::new(Order::Task(request))))
            }
            Act::Rollout(rollout) => {
                let order = Order::Task(rollout.request());
                self.step("task", Work::Run(Box::new(order)))
            }
            Act::Beside(acts) => {
                let branch = self.spawn(acts)?;
                self.beside.push(branch);
                Ok(())
            }
            Act::Parallel(all) => {
                let branches = all.iter().map(|acts| self.spawn(acts));
                let branches = branches.collect::<Result<Vec<_>, _>>()?;
                let ended = self.branch.wait(&branches)?;
                self.note(&ended);
                Ok(())
            }
            Act::Impatient(acts) => {
                let branch = self.spawn(acts)?;
                let patience = Duration::from_secs(3);
                let ended =
                    self.branch
                        .wait_for(std::slice::from_ref(&branch), "impatient", patience)?;
                let flat: Vec<Ended> = ended.into_iter().flatten().collect();
                self.note(&flat);
                self.branch.cancel(std::slice::from_ref(&branch))?;
                let ended = self.branch.wait(&[branch])?;
                self.note(&ended);
                Ok(())
            }
            Act::IfOk(yes, no) => self.acts(if self.last_ok { yes } else { no }),
            Act::Loop(times, acts) => (0..*times).try_for_each(|_| self.acts(acts)),
            Act::Fail => Err(Fault::new("test/fails", "as it is told")),
        }
    }

    fn spawn(&self, acts: &[Act]) -> Result<BranchId, Fault> {
        let (acts, seen) = (acts.to_vec(), Arc::clone(self.seen));
        self.branch.spawn(move |branch| run(&acts, branch, &seen))
    }

    fn step(&mut self, kind: &'static str, work: Work) -> Result<(), Fault> {
        let count = self.said.len();
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
        self.said.push((*outcome.value).clone());
        Ok(())
    }

    fn note(&mut self, ended: &[Ended]) {
        for one in ended {
            let line = match one {
                Ok(value) => value.clone(),
                Err(fault) => Value::from(fault.to_string()),
            };
            let text = format!("{} ended: {line}", self.branch.id());
            self.seen.lock().unwrap().push(text);
            self.said.push(line);
        }
    }
}

/// No two are the same.
fn draw() -> Outcome {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Outcome::ok(json!(NEXT.fetch_add(1, Ordering::Relaxed)))
}

fn told(kind: &str) -> Told {
    Told {
        kind: kind.to_owned(),
        details: serde_json::Map::new(),
        message: String::new(),
    }
}
