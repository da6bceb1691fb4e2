//! Leases of nodes that run in several passes: no other job has them in between.

use std::sync::Arc;
use std::time::Duration;

use jobs::{JobSpec, JobWork, JobsConfig, LeaseTimes, PassLease, RunPasses};
use pxp::action::RELEASE_LEASE_ACTION;
use store::JobNumber;

use crate::deploys::deploy;
use crate::passes::{Crossed, pass_job, plan};
use crate::run_orders::{failing, node_name};
use crate::sim::Manner;
use crate::world::{World, patient, quick};

/// An agent that knows leases.
fn leasing() -> Manner {
    Manner {
        leases: true,
        ..Manner::default()
    }
}

pub(crate) async fn world(times: LeaseTimes, config: JobsConfig) -> World {
    let world = World::with(JobsConfig {
        leases: times,
        applications: Arc::new(Crossed::default()),
        ..config
    });
    let world = world.await;
    world.agents(5, &leasing());
    world
}

/// Nodes 0 and 1 run in both passes, node 3 in the first and node 2 in the second one.
pub(crate) fn all() -> JobSpec {
    on(&[0, 1, 2, 3])
}

fn on(nodes: &[usize]) -> JobSpec {
    deploy(&nodes.iter().copied().map(node_name).collect::<Vec<_>>())
}

/// The job of a pass, from 0, which holds the nodes of later ones.
pub(crate) fn leased_job(planned: &RunPasses, index: usize) -> JobSpec {
    let mut job = pass_job(&all(), &planned.passes[index]);
    let JobWork::Puppet(work) = &mut job.work else {
        panic!("{:?}", job.work)
    };
    let later = planned.passes[index + 1..].iter();
    let later = later.flat_map(|pass| pass.nodes.iter().map(|run| run.node.clone()));
    work.pass_lease = Some(PassLease {
        id: planned.lease.unwrap(),
        later: later.collect(),
    });
    job
}

pub(crate) async fn finished(world: &World, job: JobNumber) {
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished", "{events:?}");
}

fn held(world: &World) -> Vec<usize> {
    let is_held = |node: &usize| world.sim.lease(&node_name(*node)).is_some();
    (0..5).filter(is_held).collect()
}

async fn until_held(world: &World, nodes: &[usize]) {
    let what = format!("the held nodes are {nodes:?}");
    world.until(&what, |world| held(world) == nodes).await;
}

/// Waits until nodes 0 to 2 have been asked for their leases so many times: once before the first run, once when the
/// renewals begin, and whenever something changes.
async fn until_asked(world: &World, times: usize) {
    let what = format!("each node was asked {times} times");
    let is_asked = |world: &World| {
        let asked = world.sim.leases_asked();
        let times_of = |node| asked.iter().filter(|it| it.0 == node_name(node)).count();
        (0..3).all(|node| times_of(node) == times)
    };
    world.until(&what, is_asked).await;
}

#[tokio::test]
async fn between_two_passes_no_other_run_starts() {
    let world = world(LeaseTimes::default(), patient()).await;
    let planned = plan(&world, &all()).await;
    world.sim.change(&node_name(1), |manner| manner.held = true);
    let first = world.run(leased_job(&planned, 0)).await;
    world.executing(3).await;
    // Node 2 runs in the second pass alone, and is held from the first on.
    until_held(&world, &[0, 1, 2]).await;
    let unordered = world.run(on(&[0])).await;
    world.event(unordered, "leases_awaited").await;
    let ordered = world.run(on(&[1, 2])).await;
    world.event(ordered, "leases_awaited").await;
    let outside = world.run(on(&[3])).await;
    finished(&world, outside).await;

    world.sim.let_go();
    finished(&world, first).await;
    assert_eq!(held(&world), [0, 1, 2]);
    let late = world.run(on(&[0])).await;
    world.event(late, "leases_awaited").await;

    let second = world.run(leased_job(&planned, 1)).await;
    finished(&world, second).await;
    let events = world.store.events(second, 0, 1_000).await.unwrap();
    let end = events.iter().map(|event| event.id).max().unwrap();
    for job in [unordered, ordered, late] {
        finished(&world, job).await;
        let events = world.store.events(job, 0, 1_000).await.unwrap();
        let mut begins = events.iter().filter(|event| event.kind == "node_running");
        assert!(begins.all(|begin| begin.id > end), "{events:?}");
    }
    until_held(&world, &[]).await;
}

#[tokio::test]
async fn nodes_that_the_next_pass_does_without_are_released() {
    let world = world(LeaseTimes::default(), patient()).await;
    let mut planned = plan(&world, &all()).await;
    let first = world.run(leased_job(&planned, 0)).await;
    finished(&world, first).await;
    let last = &mut planned.passes[1].nodes;
    last.retain(|run| run.node != node_name(2));
    let second = world.run(leased_job(&planned, 1)).await;
    finished(&world, second).await;
    until_held(&world, &[]).await;
    let asked = world.sim.leases_asked().into_iter();
    let released = asked.filter(|(_, action, _)| action == RELEASE_LEASE_ACTION);
    let mut released: Vec<_> = released.map(|(node, ..)| node).collect();
    released.sort();
    assert_eq!(released, [0, 1, 2].map(node_name), "each once");
}

#[tokio::test]
async fn a_node_whose_run_fails_is_released() {
    let world = world(LeaseTimes::default(), patient()).await;
    let planned = plan(&world, &all()).await;
    let broken = Manner {
        leases: true,
        ..failing()
    };
    world.sim.add(&node_name(0), broken);
    let job = world.run(leased_job(&planned, 0)).await;
    world.over(job).await;
    until_held(&world, &[1, 2]).await;
}

#[tokio::test]
async fn a_pass_that_is_stopped_frees_all_nodes() {
    let world = world(LeaseTimes::default(), patient()).await;
    let planned = plan(&world, &all()).await;
    world.sim.change(&node_name(1), |manner| manner.held = true);
    let job = world.run(leased_job(&planned, 0)).await;
    world.executing(3).await;
    world.jobs().stop(job, false).await.unwrap();
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    until_held(&world, &[]).await;
}

/// The plan job was stopped, or has nothing left to run.
#[tokio::test]
async fn without_another_pass_the_nodes_become_free_with_time() {
    let times = LeaseTimes {
        ttl: Duration::from_millis(200),
        ..LeaseTimes::default()
    };
    let world = world(times, patient()).await;
    let planned = plan(&world, &all()).await;
    world.sim.change(&node_name(1), |manner| manner.held = true);
    let first = world.run(leased_job(&planned, 0)).await;
    world.executing(3).await;
    until_asked(&world, 2).await;
    world.sim.let_go();
    finished(&world, first).await;
    // for the later pass
    until_asked(&world, 3).await;
    for node in [0, 1, 2] {
        world.sim.end_lease(&node_name(node));
    }
    let next = world.run(pass_job(&all(), &planned.passes[1])).await;
    finished(&world, next).await;
    until_held(&world, &[]).await;
}

/// The partial run of the first pass is not the success that ends a quarantine.
#[tokio::test]
async fn a_quarantine_ends_with_the_last_pass() {
    let world = world(LeaseTimes::default(), patient()).await;
    let planned = plan(&world, &all()).await;
    let before = uuid::Uuid::from_u128(7);
    for node in [0, 1] {
        world.sim.keep(&node_name(node), before);
    }
    let first = world.run(leased_job(&planned, 0)).await;
    finished(&world, first).await;
    let broken = Manner {
        leases: true,
        ..failing()
    };
    world.sim.change(&node_name(0), |manner| *manner = broken);
    let second = world.run(leased_job(&planned, 1)).await;
    world.over(second).await;
    until_held(&world, &[0]).await;
    assert_eq!(world.sim.quarantine(&node_name(0)), Some(before));
}

/// The lease on the nodes is still that of the plan job.
#[tokio::test]
async fn a_crash_between_two_passes_changes_nothing() {
    let mut world = world(LeaseTimes::default(), quick()).await;
    let planned = plan(&world, &all()).await;
    let first = world.run(leased_job(&planned, 0)).await;
    finished(&world, first).await;
    world.kill().await;
    world.start().await;
    assert_eq!(held(&world), [0, 1, 2]);
    let second = world.run(leased_job(&planned, 1)).await;
    finished(&world, second).await;
    until_held(&world, &[]).await;
    let asked = world.sim.leases_asked();
    let is_shared = |lease| Some(lease) == planned.lease;
    assert!(asked.iter().all(|(_, _, lease)| is_shared(*lease)));
}
