//! Time in which the nodes of a job are ordered: `order_nodes [--smallest]`.
//!
//! Chains of components over nodes, and a cycle of 50 nodes.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use jobs::{ApplicationComponent, ApplicationInstance, EnvironmentApplications, NodeOrder};
use pcp::Certname;

/// Rounds of which the median is printed.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: &[(usize, usize)] = match arguments.as_slice() {
        [] => &[(1_000, 200), (10_000, 200), (100_000, 50_000)],
        [one] if one == "--smallest" => &[(20, 5)],
        _ => {
            eprintln!("usage: order_nodes [--smallest]");
            return ExitCode::FAILURE;
        }
    };
    for (components, nodes) in sizes {
        let median = measure(&chain(*components, *nodes, false), *nodes, true);
        println!("{components} components on {nodes} nodes: ordered in {median:.2?}");
    }
    let median = measure(&chain(50, 50, true), 50, false);
    println!("a cycle of 50 nodes: named in {median:.2?}");
    ExitCode::SUCCESS
}

/// Components of which each consumes from the one before; the first one from the last if `is_cycle`.
fn chain(components: usize, nodes: usize, is_cycle: bool) -> EnvironmentApplications {
    let component = |index: usize| {
        let before = match index {
            0 => is_cycle.then(|| components - 1),
            index => Some(index - 1),
        };
        ApplicationComponent {
            reference: format!("Part[{index}]"),
            node: node(index * nodes / components),
            produces: vec![format!("Cap[{index}]")],
            consumes: before.map(|it| format!("Cap[{it}]")).into_iter().collect(),
        }
    };
    EnvironmentApplications {
        instances: vec![ApplicationInstance {
            reference: "Big[one]".to_owned(),
            components: (0..components).map(component).collect(),
        }],
    }
}

fn node(index: usize) -> Certname {
    let name = format!("node{index}.example.net");
    name.parse().expect("a certname")
}

fn measure(applications: &EnvironmentApplications, nodes: usize, is_ordered: bool) -> Duration {
    // against the order
    let names: Vec<Certname> = (0..nodes).rev().map(node).collect();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let names = names.clone();
            let since = Instant::now();
            let order = NodeOrder::new(applications, names);
            assert_eq!(order.is_ok(), is_ordered, "{order:?}");
            let took = since.elapsed();
            drop(order);
            took
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
