//! Two agents with one certname, of which one is connected at a time.

use store::JobNumber;

use crate::sim::Manner;
use crate::world::{World, quick, request};

/// A run that one agent has accepted, and about which only the other one was asked so far.
async fn displaced(world: &World) -> (JobNumber, pcp::Certname, uuid::Uuid) {
    let held = Manner {
        held: true,
        ..Manner::default()
    };
    let node = world.agents(1, &held).remove(0);
    let job = world.run(request(std::slice::from_ref(&node))).await;
    world.executing(1).await;
    let other = world.sim.displace(&node);
    (job, node, other)
}

#[tokio::test]
async fn what_another_agent_does_not_know_ends_no_run() {
    let world = World::with(quick()).await;
    let (job, node, _) = displaced(&world).await;
    let asked = &world.jobs().metrics().status_queries;
    let before = asked.get();
    world
        .until("the other was asked", |_| asked.get() >= before + 3)
        .await;
    world.sim.displace(&node);
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.only_run(job).await.0, "finished");
    assert!(world.sim.executions().values().all(|count| *count == 1));
    assert_eq!(world.sim.requests().len(), 1);
}

#[tokio::test]
async fn a_run_that_only_another_agent_answers_for_ends_with_its_name() {
    let world = World::with(quick()).await;
    let (job, _, other) = displaced(&world).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let error = &result["_error"];
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("errored", &jobs::KIND_UNKNOWN.into())
    );
    let words = error["msg"].as_str().unwrap();
    assert!(
        words.contains(&other.to_string()) && words.contains("certname"),
        "{words}"
    );
    assert_eq!(world.sim.requests().len(), 1, "nobody got it again");
}
