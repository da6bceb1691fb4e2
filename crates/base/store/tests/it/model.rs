//! The store against a model: any sequence of changes, in any batches, on both engines.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::{JobNumber, JobRunChange, ListPage, RunFilter};

use crate::engine::{Bench, both, job, job_to, run_to};

both!(any_sequence_of_changes_gives_what_the_model_says);

const NODES: [&str; 3] = ["a", "b", "c"];
const RUN_STATES: [&str; 7] = [
    "new", "ready", "running", "finished", "failed", "errored", "skipped",
];
const JOB_STATES: [&str; 7] = [
    "new", "ready", "running", "stopping", "stopped", "finished", "failed",
];

#[derive(Clone, Debug)]
enum Act {
    Insert,
    /// Index of the job (among the existing ones), index of the node, state.
    Run(usize, usize, usize),
    Job(usize, usize),
}

/// The model: the state of each job and of its runs.
#[derive(Default)]
struct Model(Vec<(&'static str, BTreeMap<&'static str, &'static str>)>);

fn progress(states: &[&str], over: usize, state: &str) -> usize {
    states
        .iter()
        .position(|known| *known == state)
        .unwrap()
        .min(over)
}

impl Model {
    /// Applies the change if the model allows it; returns if it was applied.
    fn apply(&mut self, act: &Act) -> bool {
        match *act {
            Act::Insert => unreachable!("an insertion is no change"),
            Act::Run(job, node, state) => {
                let now = self.0[job].1.get_mut(NODES[node]).unwrap();
                let forward =
                    progress(&RUN_STATES, 3, RUN_STATES[state]) > progress(&RUN_STATES, 3, now);
                if forward {
                    *now = RUN_STATES[state];
                }
                forward
            }
            Act::Job(job, state) => {
                let now = &mut self.0[job].0;
                let forward =
                    progress(&JOB_STATES, 4, JOB_STATES[state]) > progress(&JOB_STATES, 4, now);
                if forward {
                    *now = JOB_STATES[state];
                }
                forward
            }
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Vec<Act>>> {
    let act = prop_oneof![
        1 => Just(Act::Insert),
        6 => (any::<usize>(), 0..3usize, 0..7usize).prop_map(|(job, node, state)| Act::Run(job, node, state)),
        2 => (any::<usize>(), 0..7usize).prop_map(|(job, state)| Act::Job(job, state)),
    ];
    prop::collection::vec(prop::collection::vec(act, 1..12), 1..12)
}

async fn any_sequence_of_changes_gives_what_the_model_says(bench: Bench) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let config = Config {
            cases: 24,
            failure_persistence: None,
            ..Config::default()
        };
        let checked = TestRunner::new(config).run(&acts(), |batches| {
            handle.block_on(check(&bench, batches));
            Ok(())
        });
        checked.unwrap();
    })
    .await
    .unwrap();
}

/// Compares the store with the model. The store is not empty: numbers continue from the case
/// before.
async fn check(bench: &Bench, batches: Vec<Vec<Act>>) {
    let mut model = Model::default();
    let mut numbers: Vec<JobNumber> = Vec::new();
    for batch in batches {
        let (mut changes, mut expected) = (Vec::new(), Vec::new());
        for act in batch {
            let act = match act {
                Act::Run(job, node, state) if !numbers.is_empty() => {
                    Act::Run(job % numbers.len(), node, state)
                }
                Act::Job(job, state) if !numbers.is_empty() => Act::Job(job % numbers.len(), state),
                _ => {
                    let number = bench.store.insert_job(job(&NODES)).await.unwrap();
                    assert!(
                        numbers
                            .last()
                            .is_none_or(|last| number.get() == last.get() + 1)
                    );
                    numbers.push(number);
                    model
                        .0
                        .push(("ready", NODES.map(|node| (node, "ready")).into()));
                    continue;
                }
            };
            changes.push(change(&act, &numbers));
            expected.push(act);
        }
        // Jobs that the batch inserts exist before its changes, in the model as well.
        let expected: Vec<bool> = expected.iter().map(|act| model.apply(act)).collect();
        let applied = bench.store.commit(changes).await.unwrap();
        assert_eq!(
            applied.iter().map(|one| one.changed).collect::<Vec<_>>(),
            expected
        );
    }
    for (number, (state, runs)) in numbers.iter().zip(&model.0) {
        assert_eq!(
            bench.store.job(*number).await.unwrap().unwrap().state,
            *state
        );
        let all = bench
            .store
            .runs(*number, &RunFilter::default(), ListPage::default())
            .await
            .unwrap();
        let stored: Vec<_> = all
            .0
            .iter()
            .map(|run| (run.certname.as_str(), run.state.as_str()))
            .collect();
        assert_eq!(
            stored,
            runs.iter()
                .map(|(node, state)| (*node, *state))
                .collect::<Vec<_>>()
        );
    }
}

fn change(act: &Act, numbers: &[JobNumber]) -> JobRunChange {
    match *act {
        Act::Insert => unreachable!("an insertion is no change"),
        Act::Run(job, node, state) => run_to(numbers[job], NODES[node], RUN_STATES[state], 1),
        Act::Job(job, state) => job_to(numbers[job], JOB_STATES[state], 1),
    }
}
