//! Nodes that go away during a run, and nodes that have not come back after a restart.

use std::time::Duration;

use jobs::KIND_UNKNOWN;

use crate::deploys::deploy;
use crate::sim::Manner;
use crate::world::{World, patient, quick, request};

#[tokio::test]
async fn a_node_that_disconnects_during_a_run_is_reported_at_once_and_its_run_goes_on() {
    let world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.sim.disconnect(&nodes[0]);
    let since = world.fabric.disconnected_since(&nodes[0]).unwrap();
    let events = world.event(job, "node_disconnected").await;
    let event = events.last().unwrap();
    let expected = format!("is not connected since {since:.0}");
    assert!(event.message.contains(&expected), "{}", event.message);
    assert_eq!(
        world.only_run(job).await.0,
        "running",
        "it is still in doubt"
    );
    world.sim.connect(&nodes[0]);
    world.event(job, "node_reconnected").await;
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.only_run(job).await.0, "finished");
}

#[tokio::test]
async fn a_node_that_stays_away_is_given_up_as_not_connected_since() {
    let world = World::with(quick()).await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.sim.disconnect(&nodes[0]);
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let error = &result["_error"];
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("errored", &KIND_UNKNOWN.into())
    );
    let msg = error["msg"].as_str().unwrap();
    assert!(msg.contains("is not connected since 2"), "{msg}");
    assert!(!msg.contains("status requests"), "{msg}");
}

#[tokio::test]
async fn after_a_restart_a_new_job_waits_for_nodes_that_were_connected_and_for_no_others() {
    let mut world = World::with(patient()).await;
    let nodes = world.agents(3, &Manner::default());
    world.logged(3).await;
    world.sim.disconnect(&nodes[2]);
    world.logged(2).await;
    world.kill().await;
    // The server is up, and no agent is back yet.
    world.boot().await;
    let job = world.run(request(&nodes)).await;
    let states = |runs: Vec<store::RunRow>| -> Vec<String> {
        runs.into_iter().map(|run| run.state).collect()
    };
    assert_eq!(states(world.runs(job).await), ["ready", "ready", "errored"]);
    world.sim.attach(&world.fabric);
    world.over(job).await;
    assert_eq!(
        states(world.runs(job).await),
        ["finished", "finished", "errored"]
    );
}

#[tokio::test]
async fn after_a_restart_a_puppet_run_waits_for_nodes_that_were_connected() {
    let mut world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::default());
    world.logged(1).await;
    world.kill().await;
    world.boot().await;
    let job = world.jobs().run(deploy(&nodes)).await.unwrap();
    world.sim.attach(&world.fabric);
    world.over(job).await;
    assert_eq!(world.only_run(job).await.0, "finished");
}

#[tokio::test]
async fn a_node_that_does_not_come_back_after_a_restart_is_given_up_when_the_grace_is_over() {
    let config = patient();
    let mut world = World::with(config.clone()).await;
    let nodes = world.agents(1, &Manner::default());
    world.logged(1).await;
    world.kill().await;
    world.config.away_grace = Duration::from_millis(300);
    world.boot().await;
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "errored");
    assert_eq!(result["_error"]["kind"], jobs::KIND_EXECUTION);
    world.logged(0).await;
    let late = world.run(request(&nodes)).await;
    assert_eq!(
        world.state(late).await,
        "failed",
        "it is not waited for again"
    );
}

#[tokio::test]
async fn a_node_that_came_back_and_went_after_a_restart_is_not_waited_for() {
    let mut world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::default());
    world.logged(1).await;
    world.kill().await;
    world.start().await;
    let first = world.run(request(&nodes)).await;
    world.over(first).await;
    world.sim.disconnect(&nodes[0]);
    let job = world.run(request(&nodes)).await;
    assert_eq!(world.state(job).await, "failed");
}
