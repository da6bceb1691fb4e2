//! Bounds on what is in flight.

use crate::sim::Manner;
use crate::world::{World, at_once, patient, quick, request};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_than_task_concurrency_run_at_once() {
    let config = jobs::JobsConfig {
        task_concurrency: 7,
        ..patient()
    };
    let world = World::with(config).await;
    let nodes = world.agents(
        60,
        &Manner {
            takes_ms: 1..4,
            ..Manner::held()
        },
    );
    let first = world.run(request(&nodes)).await;
    let second = world.run(request(&nodes)).await;
    world.executing(7).await;
    world.sim.let_go();
    world.over(first).await;
    world.over(second).await;
    assert_eq!(world.sim.executions().len(), 120);
    assert_eq!(world.sim.most_running(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jobs_own_concurrency_bounds_that_job_alone() {
    let world = World::with(patient()).await;
    let nodes = world.agents(12, &Manner::held());
    let narrow = world.run(at_once(2, &nodes)).await;
    world.executing(2).await;
    let wide = world.run(request(&nodes)).await;
    world
        .until("the wide job runs", |world| {
            world.sim.executions().len() == 2 + 12
        })
        .await;
    let running = |runs: Vec<store::RunRow>| runs.iter().filter(|r| r.state == "running").count();
    assert_eq!(running(world.runs(narrow).await), 2);
    world.sim.let_go();
    world.over(narrow).await;
    world.over(wide).await;
    assert_eq!(world.sim.executions().len(), 24);
}

#[tokio::test]
async fn a_small_job_does_not_wait_for_a_large_one_to_end() {
    let config = jobs::JobsConfig {
        task_concurrency: 4,
        ..patient()
    };
    let world = World::with(config).await;
    let nodes = world.agents(
        200,
        &Manner {
            takes_ms: 1..3,
            ..Manner::default()
        },
    );
    let large = world.run(request(&nodes)).await;
    let small = world.run(request(&nodes[..2])).await;
    world.over(small).await;
    let waiting = world
        .runs(large)
        .await
        .iter()
        .filter(|run| run.state == "ready")
        .count();
    assert!(waiting > 50, "only {waiting} of the large job were left");
    world.over(large).await;
}

#[tokio::test]
async fn the_mark_is_durable_before_the_request_is_sent() {
    let world = World::with(patient()).await;
    let nodes = world.agents(3, &Manner::held());
    let job = world.run(at_once(1, &nodes)).await;
    world
        .until("one is sent", |world| world.sim.requests().len() == 1)
        .await;
    let (sent_to, transaction) = world.sim.requests()[0].clone();
    let run = world
        .store
        .run_by_transaction(transaction.as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (run.state.as_str(), run.certname.as_str()),
        ("running", sent_to.as_str())
    );
    assert!(run.details.unwrap().contains("spool_id"));
    world.sim.let_go();
    world.over(job).await;
}

/// As when a broker restarts in the middle of a large job.
#[tokio::test]
async fn nodes_that_are_away_at_their_turn_are_waited_for_and_hold_up_nobody() {
    let world = World::with(patient()).await;
    let nodes = world.agents(4, &Manner::held());
    let job = world.run(at_once(1, &nodes)).await;
    world.executing(1).await;
    for node in &nodes[1..3] {
        world.sim.disconnect(node);
    }
    world.sim.let_go();
    let ended = |runs: &[store::RunRow]| runs.iter().filter(|run| run.state == "finished").count();
    while ended(&world.runs(job).await) < 2 {
        tokio::task::yield_now().await;
    }
    let states: Vec<String> = world
        .runs(job)
        .await
        .into_iter()
        .map(|run| run.state)
        .collect();
    assert_eq!(states, ["finished", "ready", "ready", "finished"]);
    for node in &nodes[1..3] {
        world.sim.connect(node);
    }
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert!(world.sim.executions().values().all(|count| *count == 1));
}

#[tokio::test]
async fn a_node_that_stays_away_is_given_up_and_a_stopped_job_waits_for_none() {
    for (config, expected) in [(quick(), "errored"), (patient(), "skipped")] {
        let world = World::with(config).await;
        let nodes = world.agents(2, &Manner::held());
        let job = world.run(at_once(1, &nodes)).await;
        world.executing(1).await;
        world.sim.disconnect(&nodes[1]);
        world.sim.let_go();
        while world.runs(job).await[0].state != "finished" {
            tokio::task::yield_now().await;
        }
        if expected == "skipped" {
            world.jobs().stop(job, false).await.unwrap();
        }
        world.over(job).await;
        let run = world.runs(job).await.pop().unwrap();
        assert_eq!(run.state, expected);
        assert_eq!(world.sim.executions().len(), 1);
    }
}
