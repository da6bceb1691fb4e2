//! Runs and time in which a fleet converges: `waves [--smallest]`.
//!
//! Nodes need 1 to 5 runs; every fiftieth never settles. The results of their jobs are read as those of real jobs. Then
//! several jobs have the same nodes at once, and share the budget of reruns.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

mod shared_nodes;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use convergence::{ConvergenceOptions, ConvergenceProgress, EndedWave, NodeRun};
use serde_json::{Value, json};

/// Of so many nodes one never settles.
const FLAPPING: usize = 50;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let fleets: &[usize] = match arguments.as_slice() {
        [] => &[1_000, 10_000, 50_000],
        [one] if one == "--smallest" => &[100],
        _ => {
            eprintln!("usage: waves [--smallest]");
            return ExitCode::FAILURE;
        }
    };
    for nodes in fleets {
        measure(*nodes);
        for minutes in [30, 1] {
            shared_nodes::measure(*nodes, Duration::from_secs(60 * minutes));
        }
    }
    ExitCode::SUCCESS
}

/// The fewest runs in which the node settles; `None` if it never does.
fn needed(index: usize) -> Option<u32> {
    let runs = u32::try_from(index % 5 + 1).expect("small");
    (!index.is_multiple_of(FLAPPING)).then_some(runs)
}

/// The result of a run: all but the last one of a node that settles change something else and request another.
fn result(index: usize, number: u32) -> Value {
    let step = match needed(index) {
        Some(runs) if number >= runs => None,
        Some(_) => Some(format!("step {number}")),
        None => Some(format!("state {}", number % 2)),
    };
    let mut value = json!({"status": if step.is_some() { "changed" } else { "unchanged" }});
    if let Some(step) = step {
        value["resources"] =
            json!([{"type": "File", "title": "/x", "status": "changed", "messages": [step]}]);
        value["reruns"] = json!([{"key": "again", "delta_s": 0}]);
    }
    json!({"target": name(index), "status": "success", "value": value})
}

fn name(index: usize) -> String {
    format!("node{index:05}.example.net")
}

fn measure(nodes: usize) {
    let indices: BTreeMap<String, usize> = (0..nodes).map(|it| (name(it), it)).collect();
    let mut runs = vec![0_u32; nodes];
    let mut progress = ConvergenceProgress::new(ConvergenceOptions::default());
    let mut wave: Vec<usize> = (0..nodes).collect();
    let (mut took, mut waves) = (Duration::ZERO, 0);
    loop {
        waves += 1;
        for index in &wave {
            runs[*index] += 1;
        }
        let results: Vec<Value> = wave.iter().map(|it| result(*it, runs[*it])).collect();
        let since = Instant::now();
        let runs = results.iter().filter_map(NodeRun::from_result).collect();
        let next = progress.record_wave(EndedWave {
            runs,
            ..EndedWave::default()
        });
        took += since.elapsed();
        let Some(next) = next else { break };
        wave = next.nodes.iter().map(|node| indices[node]).collect();
    }
    let outcome = progress.into_outcome();
    for (index, runs) in runs.iter().enumerate() {
        // two states, and the run that repeats the first of them
        assert_eq!(*runs, needed(index).unwrap_or(3), "{}", name(index));
    }
    let flapping = nodes.div_ceil(FLAPPING);
    assert_eq!(outcome.unsettled_count(), flapping);
    let total: u64 = outcome.runs();
    println!(
        "{nodes} nodes: {total} runs, the fewest possible, in {waves} waves; {flapping} nodes that never settle are \
         named; decided in {took:.2?}"
    );
}
