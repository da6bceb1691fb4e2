//! Stopping, gently and by force, and time limits.

use std::time::Duration;

use jobs::StopError;
use store::{EventRow, JobNumber};

use crate::sim::Manner;
use crate::world::{World, at_once, patient, quick, request};

fn kinds(events: &[EventRow]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[tokio::test]
async fn a_gentle_stop_skips_what_waits_and_lets_finish_what_runs() {
    let world = World::with(patient()).await;
    let nodes = world.agents(5, &Manner::held());
    let job = world.run(at_once(2, &nodes)).await;
    world.executing(2).await;
    world.jobs().stop(job, false).await.unwrap();
    world.jobs().stop(job, false).await.unwrap();
    assert_eq!(world.state(job).await, "stopping");
    world.sim.let_go();
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    let kinds = kinds(&events);
    assert_eq!(kinds[..3], ["node_running", "node_running", "job_stopping"]);
    assert_eq!(kinds[3..6], ["node_skipped"; 3]);
    assert_eq!(
        kinds[6..],
        ["node_finished", "node_finished", "job_finished"]
    );
    assert_eq!(world.sim.executions().len(), 2);
    world.jobs().stop(job, true).await.unwrap();
    assert_eq!(
        world.state(job).await,
        "stopped",
        "a job that is over stays as it is"
    );
}

#[tokio::test]
async fn a_forced_stop_ends_what_runs_and_says_so() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(2).await;
    world.jobs().stop(job, true).await.unwrap();
    let events = world.over(job).await;
    assert_eq!(kinds(&events).last(), Some(&"job_aborted"));
    for run in world.runs(job).await {
        assert_eq!(run.state, "failed");
        let result = run.result.unwrap();
        assert!(
            result.contains("tutti/stopped") && result.contains("143"),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_forced_stop_of_a_stock_agents_run_says_that_it_may_go_on() {
    let world = World::with(patient()).await;
    let nodes = world.agents(
        1,
        &Manner {
            held: true,
            stock: true,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("errored", &"tutti/stopped".into())
    );
    assert!(
        result["_error"]["msg"]
            .as_str()
            .unwrap()
            .contains("may still run")
    );
}

#[tokio::test]
async fn force_after_a_gentle_stop_ends_what_the_first_let_run() {
    let world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, false).await.unwrap();
    world.jobs().stop(job, true).await.unwrap();
    let events = world.over(job).await;
    assert_eq!(
        kinds(&events),
        ["node_running", "job_stopping", "node_failed", "job_aborted"]
    );
}

#[tokio::test]
async fn an_unknown_job_cannot_be_stopped() {
    let world = World::new().await;
    let unknown = JobNumber::new(77).unwrap();
    let refused = world.jobs().stop(unknown, false).await;
    assert!(matches!(refused, Err(StopError::UnknownJob(number)) if number == unknown));
}

async fn timed_out(manner: Manner) -> (World, serde_json::Value) {
    let world = World::with(quick()).await;
    let nodes = world.agents(
        1,
        &Manner {
            held: true,
            ..manner
        },
    );
    let mut spec = request(&nodes);
    spec.limits.timeout = Some(Duration::from_millis(50));
    let job = world.run(spec).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("errored", &"tutti/timeout".into())
    );
    (world, result)
}

#[tokio::test]
async fn a_run_beyond_its_time_is_cancelled_and_its_end_is_known() {
    let (_world, result) = timed_out(Manner::default()).await;
    assert_eq!(result["_error"]["details"]["exit_code"], 143);
}

#[tokio::test]
async fn a_run_that_ignores_the_cancel_is_given_up() {
    let (_world, result) = timed_out(Manner {
        stubborn: true,
        ..Manner::default()
    })
    .await;
    assert!(
        result["_error"]["msg"]
            .as_str()
            .unwrap()
            .contains("has not reported")
    );
}

#[tokio::test]
async fn a_stock_agents_run_beyond_its_time_is_given_up_and_may_go_on() {
    let (_world, result) = timed_out(Manner {
        stock: true,
        ..Manner::default()
    })
    .await;
    assert!(
        result["_error"]["msg"]
            .as_str()
            .unwrap()
            .contains("may still run")
    );
}

#[tokio::test]
async fn a_request_that_was_lost_is_not_sent_again_after_a_stop() {
    let mut config = patient();
    // Longer than it takes to stop.
    config.poll_interval = Duration::from_secs(1);
    let world = World::with(config).await;
    let nodes = world.agents(
        1,
        &Manner {
            loses_requests: 100,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world
        .until("it is lost", |world| !world.sim.requests().is_empty())
        .await;
    world.jobs().stop(job, false).await.unwrap();
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("skipped", &"tutti/stopped".into())
    );
    assert!(world.sim.executions().is_empty());
}

#[tokio::test]
async fn a_request_that_waits_for_room_is_not_sent_after_a_stop() {
    let mut config = patient();
    // Ten tries take longer than it takes to stop.
    config.tick = Duration::from_secs(1);
    let world = World::with(config).await;
    let nodes = world.agents(
        3,
        &Manner {
            busy: u32::MAX,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    let states = world.runs(job).await.into_iter().map(|run| run.state);
    assert_eq!(states.collect::<Vec<_>>(), ["skipped"; 3]);
}

#[tokio::test]
async fn a_cancel_reaches_an_agent_of_ours_behind_a_stock_broker() {
    let world = World::with(patient()).await;
    let manner = Manner {
        held: true,
        unannounced: true,
        ..Manner::default()
    };
    let nodes = world.agents(1, &manner);
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("failed", &"tutti/stopped".into())
    );
    assert_eq!(result["_error"]["details"]["exit_code"], 143);
}
