//! Measures plans in the Puppet language:
//! `cargo run --release -p plan-language --example plan_speed [-- --smallest]`.
//!
//! With the real job engine, SQLite and nodes in memory: a step of a single plan, a thousand plans
//! at once, and one plan over ten thousand nodes. Prints JSON.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program that measures stops where something is wrong"
)]
#![expect(dead_code, reason = "what the tests need of their world is more")]

#[path = "../tests/it/applications.rs"]
mod applications;
#[path = "../tests/it/compiler.rs"]
mod compiler;
#[path = "../tests/it/nodes.rs"]
mod nodes;
#[path = "../tests/it/shell.rs"]
mod shell;
#[path = "../tests/it/world.rs"]
mod world;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

/// The sizes of the measurement.
#[derive(Clone, Copy)]
struct Size {
    /// Steps of the single plan.
    alone: u64,
    /// Number of concurrent plans, and the steps of each.
    many: (u64, u64),
    /// Nodes of the plan over many nodes, and number of repetitions.
    fleet: (usize, usize),
}

const FULL: Size = Size {
    alone: 300,
    many: (1_000, 20),
    fleet: (10_000, 3),
};

const SMALLEST: Size = Size {
    alone: 3,
    many: (4, 3),
    fleet: (20, 1),
};

const STEPS: &str = "
plan m::steps(Integer $steps) {
  return $steps.reduce(0) |$sum, $n| {
    $results = run_task('m::echo', 'a', 'n' => $n)
    $sum + $results.first['input']['n']
  }
}
";

const FLEET_PLAN: &str = "
plan m::fleet() {
  $results = run_task('m::echo', get_targets('all'))
  $names = $results.map |$result| { \"${result.target.name}: ${result['node']}\" }
  return $names.filter |$name| { $name =~ /: node/ }.size
}
";

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let size = if is_smallest { SMALLEST } else { FULL };
    println!("{}", runtime.block_on(Box::pin(measure(size))));
}

async fn measure(size: Size) -> Value {
    let names: Vec<String> = (0..size.fleet.0).map(|n| format!("node{n:05}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("a");
    let files = [
        ("m/plans/steps.pp", STEPS),
        ("m/plans/fleet.pp", FLEET_PLAN),
    ];
    let world = World::with_nodes(&files, &names).await;
    let alone = took(async || steps(&world, size.alone).await).await;
    let many = took(async || many(&world, size.many).await).await;
    let mut fleet = Vec::new();
    for _ in 0..size.fleet.1 {
        fleet.push(
            took(async || over_fleet(&world, size.fleet.0).await)
                .await
                .as_millis(),
        );
    }
    let (plans, each) = size.many;
    json!({
        "step_alone_ms": (alone.as_secs_f64() * 1e5 / size.alone as f64).round() / 100.0,
        "plans_at_once": plans,
        "steps_per_second": ((plans * each) as f64 / many.as_secs_f64()).round(),
        "nodes": size.fleet.0,
        "plan_over_nodes_ms": fleet,
    })
}

async fn took(what: impl AsyncFnOnce()) -> Duration {
    let began = Instant::now();
    what().await;
    began.elapsed()
}

async fn steps(world: &World, count: u64) {
    let ended = world.run("m::steps", json!({"steps": count})).await;
    assert_eq!(
        ended,
        ("success".to_owned(), json!(count * (count - 1) / 2))
    );
}

async fn many(world: &World, (plans, each): (u64, u64)) {
    let mut started = Vec::new();
    for _ in 0..plans {
        started.push(world.launch("m::steps", json!({"steps": each})).await);
    }
    for plan in started {
        let ended = world.over(plan).await;
        assert_eq!(ended, ("success".to_owned(), json!(each * (each - 1) / 2)));
    }
}

async fn over_fleet(world: &World, nodes: usize) {
    let ended = world.run("m::fleet", json!({})).await;
    assert_eq!(ended, ("success".to_owned(), json!(nodes)));
}
