//! The agent of a node that runs in two passes is in trouble between them.
//!
//! In the second pass node 1 is the subject, node 2 depends on it, and node 0 does not.

use jobs::{JobsConfig, KIND_DEPENDENCY};
use pcp::Certname;
use store::JobNumber;

use super::{Expected, NOT_RUN, SUCCESS, UNKNOWN, hasty, kind, steady};
use crate::pass_leases::{all, finished, leased_job, world};
use crate::passes::plan;
use crate::run_orders::node_name;
use crate::sim::Sim;
use crate::world::World;

/// What happens to the agent between the passes.
type Trouble = fn(&Sim, &Certname);

async fn second_pass_ends(config: JobsConfig, trouble: Trouble, expected: Expected) -> World {
    let world = world(config.leases, config).await;
    let planned = plan(&world, &all()).await;
    let first = world.run(leased_job(&planned, 0)).await;
    finished(&world, first).await;
    trouble(&world.sim, &node_name(1));
    let second = world.run(leased_job(&planned, 1)).await;
    world.over(second).await;
    check(&world, second, expected).await;
    world
}

async fn check(world: &World, job: JobNumber, expected: Expected) {
    let (dependent, reason) = match expected == SUCCESS {
        true => ("finished", None),
        false => ("skipped", Some(KIND_DEPENDENCY)),
    };
    let wanted = [
        (0, "finished", None),
        (1, expected.0, expected.1),
        (2, dependent, reason),
    ];
    let mut runs = world.runs(job).await;
    runs.sort_by(|one, other| one.certname.cmp(&other.certname));
    for (run, (node, state, reason)) in runs.iter().zip(wanted) {
        assert_eq!(run.certname, node_name(node).as_str());
        let found = (run.state.as_str(), kind(run));
        assert_eq!(
            found,
            (state, reason.map(str::to_owned)),
            "{:?}",
            run.result
        );
    }
    let executions = world.sim.executions();
    assert!(
        executions.values().all(|count| *count == 1),
        "{executions:?}"
    );
}

async fn is_free(world: &World, node: usize) {
    let is_free = |world: &World| world.sim.lease(&node_name(node)).is_none();
    world.until("the lease is released", is_free).await;
}

#[tokio::test]
async fn an_agent_that_comes_back_before_the_next_pass_costs_nothing() {
    let troubles: [Trouble; 4] = [
        |sim, node| {
            sim.kill_agent(node);
            sim.connect(node);
        },
        |sim, node| {
            sim.lose_machine(node);
            sim.connect(node);
        },
        |sim, node| {
            sim.put_to_sleep(node);
            sim.wake(node);
        },
        |sim, node| sim.end_lease(node),
    ];
    for trouble in troubles {
        let world = second_pass_ends(steady(), trouble, SUCCESS).await;
        is_free(&world, 1).await;
    }
}

#[tokio::test]
async fn an_agent_that_stays_away_skips_the_dependents_of_the_next_pass() {
    let dies: Trouble = |sim, node| sim.kill_agent(node);
    let world = second_pass_ends(hasty(), dies, NOT_RUN).await;
    is_free(&world, 0).await;
    let sleeps: Trouble = |sim, node| sim.put_to_sleep(node);
    let world = second_pass_ends(hasty(), sleeps, UNKNOWN).await;
    is_free(&world, 0).await;
}

/// A run that a timer started between the passes, since the lease was lost, is waited for.
#[tokio::test]
async fn a_run_that_began_between_the_passes_is_waited_for() {
    let world = world(steady().leases, steady()).await;
    let planned = plan(&world, &all()).await;
    let first = world.run(leased_job(&planned, 0)).await;
    finished(&world, first).await;
    world.sim.end_lease(&node_name(1));
    world
        .sim
        .change(&node_name(1), |manner| manner.runs_puppet = true);
    let asked = world.sim.leases_asked().len();
    let second = world.run(leased_job(&planned, 1)).await;
    let is_asked = |world: &World| {
        let asked = &world.sim.leases_asked()[asked..];
        asked.iter().filter(|it| it.0 == node_name(1)).count() > 1
    };
    world.until("the lease was requested twice", is_asked).await;
    let runs = world.runs(second).await;
    assert!(runs.iter().all(|run| run.state == "ready"), "{runs:?}");
    world
        .sim
        .change(&node_name(1), |manner| manner.runs_puppet = false);
    world.over(second).await;
    check(&world, second, SUCCESS).await;
}
