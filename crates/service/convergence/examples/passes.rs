//! Time in which passes are planned and gone through: `passes [--smallest]`.
//!
//! Nodes wait for each other in pairs, in a ring of all of them, and in pairs that need many passes.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use convergence::NodeRun;
use convergence::passes::{MultiPassState, PassProgress};
use jobs::{ApplicationComponent, ApplicationInstance, EnvironmentApplications, RunPasses};
use pcp::Certname;
use serde_json::json;

/// Rounds of which the median is printed.
const ROUNDS: usize = 9;

/// Components of a chain whose nodes are two by turns.
const CHAIN: usize = 10;

/// A component on a node: what it produces, and what it consumes.
type Part = (usize, Option<String>, Option<String>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: &[usize] = match arguments.as_slice() {
        [] => &[1_000, 5_000, 10_000],
        [one] if one == "--smallest" => &[20],
        _ => {
            eprintln!("usage: passes [--smallest]");
            return ExitCode::FAILURE;
        }
    };
    for nodes in sizes {
        // Each node of a cycle runs twice: without what waits, and with it.
        measure("in pairs", &pairs(*nodes), *nodes, 2 * nodes);
        measure("in a ring", &ring(*nodes), *nodes, 2 * nodes);
        // Each component of a chain needs a run of its own, and a node has half of them.
        measure(
            "in chains of ten",
            &chains(*nodes),
            *nodes,
            CHAIN / 2 * nodes,
        );
    }
    ExitCode::SUCCESS
}

/// Two nodes each, of which both have a producer and a consumer of what the other one produces.
fn pairs(nodes: usize) -> Vec<Part> {
    let parts = (0..nodes).flat_map(|node| {
        let other = node ^ 1;
        [
            (node, Some(format!("Cap[{node}]")), None),
            (node, None, Some(format!("Cap[{other}]"))),
        ]
    });
    parts.collect()
}

/// All nodes in one cycle: each consumes from the one before.
fn ring(nodes: usize) -> Vec<Part> {
    let parts = (0..nodes).flat_map(|node| {
        let before = (node + nodes - 1) % nodes;
        [
            (node, Some(format!("Cap[{node}]")), None),
            (node, None, Some(format!("Cap[{before}]"))),
        ]
    });
    parts.collect()
}

/// Two nodes each, whose components are one chain that changes the node with each component.
fn chains(nodes: usize) -> Vec<Part> {
    let parts = (0..nodes / 2).flat_map(|pair| {
        (0..CHAIN).map(move |link| {
            let before = (link > 0).then(|| format!("Cap[{pair}-{}]", link - 1));
            let node = 2 * pair + link % 2;
            (node, Some(format!("Cap[{pair}-{link}]")), before)
        })
    });
    parts.collect()
}

fn applications(parts: &[Part]) -> EnvironmentApplications {
    let component = |(index, (node, produces, consumes)): (usize, &Part)| ApplicationComponent {
        reference: format!("Part[{index}]"),
        node: certname(*node),
        produces: produces.iter().cloned().collect(),
        consumes: consumes.iter().cloned().collect(),
    };
    EnvironmentApplications {
        instances: vec![ApplicationInstance {
            reference: "Big[one]".to_owned(),
            components: parts.iter().enumerate().map(component).collect(),
        }],
    }
}

fn certname(index: usize) -> Certname {
    let name = format!("node{index:05}.example.net");
    name.parse().expect("a certname")
}

fn measure(shape: &str, parts: &[Part], nodes: usize, runs: usize) {
    let applications = applications(parts);
    let names: Vec<Certname> = (0..nodes).map(certname).collect();
    let (mut planning, mut progress) = (Vec::new(), Vec::new());
    let mut passes = 0;
    for _ in 0..ROUNDS {
        let since = Instant::now();
        let planned = RunPasses::new(&applications, &names).expect("there are passes");
        planning.push(since.elapsed());
        passes = planned.passes.len();
        progress.push(go_through(planned, runs));
    }
    let [planning, progress] = [planning, progress].map(median);
    println!(
        "{nodes} nodes {shape}, {} components: {runs} runs in {passes} passes, planned in {planning:.2?}, decided \
         in {progress:.2?}",
        parts.len()
    );
}

/// Time for the decisions of all passes if all runs succeed, without the results.
fn go_through(planned: RunPasses, runs: usize) -> Duration {
    let since = Instant::now();
    let mut progress = PassProgress::new(planned);
    let mut took = since.elapsed();
    loop {
        let since = Instant::now();
        let Some(next) = progress.next_pass() else {
            break;
        };
        took += since.elapsed();
        let result = |node: &Certname| {
            let value = json!({"status": "unchanged"});
            NodeRun::from_result(&json!({"target": node, "status": "success", "value": value}))
        };
        let ended = next.pass.nodes.iter().filter_map(|run| result(&run.node));
        let ended = ended.collect();
        let since = Instant::now();
        progress.record_pass(ended, false);
        took += since.elapsed();
    }
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, MultiPassState::Succeeded);
    let by_runs = outcome.nodes_by_runs.iter();
    let total: usize = by_runs.map(|(runs, nodes)| *runs as usize * nodes).sum();
    assert_eq!(total, runs);
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
