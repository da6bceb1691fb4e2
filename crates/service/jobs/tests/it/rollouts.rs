//! Batches, pauses between them and failures that end a job, over restarts too.

use std::collections::HashMap;

use jobs::{JobSpec, RunJobError};
use pcp::Certname;
use pxp::action::ActionResult;
use serde_json::{Value, json};
use store::{EventRow, JobNumber};

use crate::sim::Manner;
use crate::world::{World, params, patient, quick, request, with_task};

/// The task on these nodes, as a rollout.
pub(crate) fn rollout(options: Value, nodes: &[Certname]) -> JobSpec {
    let mut spec = request(nodes);
    spec.limits.rollout = serde_json::from_value(options).unwrap();
    spec
}

fn failing() -> Manner {
    let result = Some(ActionResult {
        exitcode: 1,
        ..ActionResult::default()
    });
    Manner {
        result,
        ..Manner::default()
    }
}

fn of_job(events: &[EventRow]) -> Vec<&str> {
    let of_job = events.iter().filter(|event| event.certname.is_none());
    of_job.map(|event| event.kind.as_str()).collect()
}

async fn states(world: &World, job: JobNumber) -> Vec<String> {
    let runs = world.runs(job).await;
    runs.into_iter().map(|run| run.state).collect()
}

/// The batch of each run in the order in which the runs started and ended: no run of a batch starts before the
/// last of the batch before has ended.
pub(crate) fn in_order(events: &[EventRow], batch_of: &HashMap<String, u32>) {
    let mut open: HashMap<u32, usize> = HashMap::new();
    for batch in batch_of.values() {
        *open.entry(*batch).or_default() += 1;
    }
    for event in events {
        let Some(batch) = event.certname.as_ref().map(|name| batch_of[name]) else {
            continue;
        };
        if event.kind == "node_running" {
            let before = (1..batch).all(|earlier| open[&earlier] == 0);
            assert!(before, "{event:?} starts too early: {open:?}");
        } else if matches!(
            event.kind.as_str(),
            "node_finished" | "node_failed" | "node_errored" | "node_skipped"
        ) {
            *open.get_mut(&batch).unwrap() -= 1;
        }
    }
}

pub(crate) async fn batches(world: &World, job: JobNumber) -> HashMap<String, u32> {
    let runs = world.runs(job).await;
    let of = runs
        .into_iter()
        .map(|run| (run.certname, run.batch.unwrap()));
    of.collect()
}

#[tokio::test]
async fn each_batch_waits_for_the_end_of_the_one_before() {
    let world = World::new().await;
    let slow = Manner {
        takes_ms: 0..5,
        ..Manner::default()
    };
    let nodes = world.agents(11, &slow);
    let job = world
        .run(rollout(json!({"batch": [1, "20%"]}), &nodes))
        .await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    let batch_of = batches(&world, job).await;
    let sizes = (1..=6).map(|batch| batch_of.values().filter(|of| **of == batch).count());
    assert_eq!(sizes.collect::<Vec<_>>(), [1, 2, 2, 2, 2, 2]);
    in_order(&events, &batch_of);
    assert_eq!(batch_of[nodes[0].as_str()], 1, "nodes keep their order");
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.kind.starts_with("batch_"))
        .collect();
    assert_eq!(told.len(), 12);
    assert_eq!(told[0].message, "Batch 1 of 6 starts: 1 node");
    assert_eq!(told[3].message, "Batch 2 of 6 is over: 0 of 2 nodes failed");
    assert_eq!(events.last().unwrap().kind, "job_finished");
    let row = world
        .store
        .job(job)
        .await
        .unwrap()
        .unwrap()
        .rollout
        .unwrap();
    assert_eq!((row.batch, row.batches, row.next_batch_ms), (6, 6, None));
}

#[tokio::test]
async fn a_batch_is_bounded_by_the_jobs_concurrency_too() {
    let world = World::new().await;
    let nodes = world.agents(
        8,
        &Manner {
            takes_ms: 1..3,
            ..Manner::default()
        },
    );
    let mut spec = rollout(json!({"batch": 4}), &nodes);
    spec.limits.concurrency = Some(2);
    let job = world.run(spec).await;
    world.over(job).await;
    assert_eq!(world.sim.most_running(), 2);
    assert_eq!(world.sim.executions().len(), 8);
}

#[tokio::test]
async fn too_many_failures_end_the_job_and_the_rest_says_why_it_never_ran() {
    for (options, ran, words) in [
        (
            json!({"batch": 2, "max_failures": 1}),
            2,
            "2 nodes of the job failed (node00000.example.com, node00001.example.com), and max_failures is 1",
        ),
        (
            json!({"batch": 1}),
            1,
            "every node of batch 1 failed or was skipped (node00000.example.com), and no max_failures allows that",
        ),
        (
            json!({"batch": 3, "max_failures": "34%"}),
            3,
            "and max_failures is 34% (2 of 6 nodes)",
        ),
    ] {
        let world = World::new().await;
        let nodes = world.agents(6, &failing());
        let job = world.run(rollout(options.clone(), &nodes)).await;
        let events = world.over(job).await;
        assert_eq!(world.state(job).await, "failed", "{options}");
        assert_eq!(world.sim.executions().len(), ran, "{options}");
        let runs = world.runs(job).await;
        assert!(runs[..ran].iter().all(|run| run.state == "failed"));
        for run in &runs[ran..] {
            assert_eq!(run.state, "skipped");
            let result: Value = serde_json::from_str(run.result.as_ref().unwrap()).unwrap();
            assert_eq!(result["_error"]["kind"], "tutti/max-failures");
            let msg = result["_error"]["msg"].as_str().unwrap();
            assert!(msg.contains(words), "{msg}");
            assert_eq!(result["_error"]["details"]["failures"], ran);
            assert_eq!(run.started_ms, None);
        }
        let told = of_job(&events);
        assert_eq!(told[told.len() - 2..], ["rollout_halted", "job_finished"]);
        let halted = events.iter().find(|event| event.kind == "rollout_halted");
        let message = &halted.unwrap().message;
        let begin = format!("{} nodes will not start: ", 6 - ran);
        assert!(
            message.starts_with(&begin) && message.contains(words),
            "{message}"
        );
    }
}

#[tokio::test]
async fn what_is_in_flight_ends_when_too_many_failed_and_nothing_else_starts() {
    let world = World::new().await;
    let nodes = world.agents(9, &Manner::held());
    world.sim.change(&nodes[0], |manner| *manner = failing());
    let mut spec = rollout(json!({"max_failures": 0}), &nodes);
    spec.limits.concurrency = Some(3);
    let job = world.run(spec).await;
    world.event(job, "rollout_halted").await;
    assert_eq!(world.state(job).await, "running", "two go on");
    world.sim.let_go();
    world.over(job).await;
    let states = states(&world, job).await;
    let count = |state: &str| states.iter().filter(|one| *one == state).count();
    assert_eq!(
        (count("failed"), count("finished"), count("skipped")),
        (1, 2, 6)
    );
    assert_eq!(world.sim.executions().len(), 3);
    assert_eq!(world.state(job).await, "failed");
}

#[tokio::test]
async fn failures_within_the_limit_let_the_rollout_go_on() {
    let world = World::new().await;
    let nodes = world.agents(4, &Manner::default());
    world.sim.change(&nodes[0], |manner| *manner = failing());
    let job = world
        .run(rollout(json!({"batch": 1, "max_failures": 1}), &nodes))
        .await;
    world.over(job).await;
    assert_eq!(
        states(&world, job).await,
        ["failed", "finished", "finished", "finished"]
    );
    assert_eq!(
        world.state(job).await,
        "failed",
        "as any job of which a node failed"
    );
}

#[tokio::test]
async fn a_node_that_is_not_there_counts_as_failed_when_its_batch_has_its_turn() {
    let world = World::new().await;
    let nodes = world.agents(4, &Manner::held());
    world.sim.disconnect(&nodes[2]);
    let job = world
        .run(rollout(json!({"batch": 2, "max_failures": 0}), &nodes))
        .await;
    world.executing(2).await;
    assert_eq!(
        states(&world, job).await[2],
        "ready",
        "its batch has not begun"
    );
    world.sim.let_go();
    world.over(job).await;
    let runs = world.runs(job).await;
    assert_eq!(runs[2].state, "errored");
    assert!(
        runs[2]
            .result
            .as_ref()
            .unwrap()
            .contains("is not connected")
    );
    // The first that is looked at fails, so the other one of its batch never starts.
    assert_eq!(runs[3].state, "skipped");

    // One that came meanwhile runs.
    let world = World::new().await;
    let nodes = world.agents(2, &Manner::held());
    world.sim.disconnect(&nodes[1]);
    let job = world.run(rollout(json!({"batch": 1}), &nodes)).await;
    world.executing(1).await;
    world.sim.connect(&nodes[1]);
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(states(&world, job).await, ["finished", "finished"]);
}

#[tokio::test]
async fn too_many_absent_nodes_let_nothing_start_at_all() {
    let world = World::new().await;
    let nodes = world.agents(5, &Manner::default());
    world.sim.disconnect(&nodes[4]);
    let job = world.run(rollout(json!({"max_failures": 0}), &nodes)).await;
    world.over(job).await;
    assert_eq!(
        states(&world, job).await,
        ["skipped", "skipped", "skipped", "skipped", "errored"]
    );
    assert!(world.sim.executions().is_empty());
    assert_eq!(world.state(job).await, "failed");
}

#[tokio::test]
async fn a_first_batch_without_any_node_there_is_over_at_once() {
    let world = World::new().await;
    let nodes = world.agents(3, &Manner::default());
    world.sim.disconnect(&nodes[0]);
    let job = world
        .run(rollout(json!({"batch": 1, "max_failures": 1}), &nodes))
        .await;
    world.over(job).await;
    assert_eq!(
        states(&world, job).await,
        ["errored", "finished", "finished"]
    );
    let job = world.run(rollout(json!({"batch": 1}), &nodes)).await;
    world.over(job).await;
    assert_eq!(states(&world, job).await, ["errored", "skipped", "skipped"]);
}

#[tokio::test]
async fn stock_agents_and_noop_runs_go_in_batches_as_others() {
    let world = World::new().await;
    let stock = Manner {
        stock: true,
        ..Manner::default()
    };
    let nodes = world.agents(3, &stock);
    let spec = rollout(json!({"batch": 1, "max_failures": 0}), &nodes);
    let spec = with_task(spec, |task| {
        task.name = "test::typed".parse().unwrap();
        task.params = params(json!({"name": "x"}));
        task.noop = true;
    });
    let job = world.run(spec).await;
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    in_order(&events, &batches(&world, job).await);
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    for (options, words) in [
        (json!({"batch": 0}), "batch must not be 0"),
        (
            json!({"pause_between_batches": 5}),
            "pause_between_batches needs batch",
        ),
        (
            json!({"batch": 1, "pause_between_batches": 10_000_000}),
            "pause_between_batches must be at most 604800 seconds",
        ),
    ] {
        let refused = world
            .jobs()
            .run(rollout(options, &nodes))
            .await
            .unwrap_err();
        assert!(matches!(refused, RunJobError::Limit(_)), "{refused:?}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

const HOUR: u64 = 3_600;

/// A rollout whose first node has ended, in a pause of an hour.
async fn paused() -> (World, JobNumber) {
    let world = World::with(patient()).await;
    let nodes = world.agents(3, &Manner::default());
    let options = json!({"batch": 1, "pause_between_batches": HOUR});
    let job = world.run(rollout(options, &nodes)).await;
    world.event(job, "batch_finished").await;
    (world, job)
}

#[tokio::test]
async fn a_pause_is_told_with_its_end_and_starts_nothing() {
    let (world, job) = paused().await;
    let row = world.store.job(job).await.unwrap().unwrap();
    let events = world.store.events(job, 0, 100).await.unwrap();
    let told = events
        .iter()
        .find(|event| event.kind == "batch_finished")
        .unwrap();
    let until = row.rollout.unwrap().next_batch_ms.unwrap();
    let expected = told.at_ms + i64::try_from(HOUR).unwrap() * 1_000;
    assert!((until - expected).abs() < 5_000, "{until} {expected}");
    assert!(
        told.message
            .starts_with("Batch 1 of 3 is over: 0 of 1 node failed; the next one starts at 20")
    );
    assert_eq!(world.sim.executions().len(), 1);
    assert_eq!(states(&world, job).await, ["finished", "ready", "ready"]);
}

#[tokio::test]
async fn a_stop_in_a_pause_works_at_once() {
    for force in [false, true] {
        let (world, job) = paused().await;
        world.jobs().stop(job, force).await.unwrap();
        world.over(job).await;
        assert_eq!(world.state(job).await, "stopped");
        assert_eq!(
            states(&world, job).await,
            ["finished", "skipped", "skipped"]
        );
        let row = world.store.job(job).await.unwrap().unwrap();
        assert_eq!(row.rollout.unwrap().next_batch_ms, None);
    }
}

#[tokio::test]
async fn a_short_pause_ends_by_itself() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::default());
    let options = json!({"batch": 1, "pause_between_batches": 1});
    let job = world.run(rollout(options, &nodes)).await;
    let events = world.over(job).await;
    let at = |kind: &str| {
        events
            .iter()
            .filter(|event| event.kind == kind)
            .map(|event| event.at_ms)
            .collect::<Vec<_>>()
    };
    let (ended, began) = (at("batch_finished"), at("batch_started"));
    assert!(began[1] - ended[0] >= 990, "{began:?} {ended:?}");
    assert_eq!(world.state(job).await, "finished");
}

/// Moves the end of the pause in the database, as if the time had passed while the server was away.
async fn set_pause_end(world: &World, job: JobNumber, next_batch_ms: i64) {
    let change = store::BatchChange {
        job,
        batch: 1,
        next_batch_ms: Some(next_batch_ms),
        event: None,
    };
    let applied = world
        .store
        .commit(vec![store::JobRunChange::Batch(change)])
        .await
        .unwrap();
    assert!(applied[0].changed);
}

#[tokio::test]
async fn a_pause_that_ended_while_the_server_was_away_is_not_waited_for_again() {
    let (mut world, job) = paused().await;
    world.kill().await;
    set_pause_end(&world, job, jiff::Timestamp::now().as_millisecond() - 1).await;
    world.start().await;
    // The second node runs, and the pause behind it is an hour again.
    world.executing(2).await;
    assert!(world.sim.executions().values().all(|count| *count == 1));
    assert_eq!(world.sim.requests().len(), 2);
}

#[tokio::test]
async fn a_pause_goes_on_after_a_restart_with_what_was_left() {
    let (mut world, job) = paused().await;
    let until = world
        .store
        .job(job)
        .await
        .unwrap()
        .unwrap()
        .rollout
        .unwrap()
        .next_batch_ms;
    world.kill().await;
    world.start().await;
    assert_eq!(states(&world, job).await, ["finished", "ready", "ready"]);
    let row = world.store.job(job).await.unwrap().unwrap();
    assert_eq!(row.rollout.unwrap().next_batch_ms, until, "the same end");
    world.kill().await;
    set_pause_end(&world, job, jiff::Timestamp::now().as_millisecond() + 200).await;
    world.start().await;
    world.executing(2).await;
    assert!(jiff::Timestamp::now().as_millisecond() < until.unwrap());
    world.jobs().stop(job, false).await.unwrap();
    world.over(job).await;
}

#[tokio::test]
async fn a_rollout_goes_on_in_its_batch_after_a_restart() {
    let mut world = World::with(quick()).await;
    let nodes = world.agents(5, &Manner::held());
    let job = world.run(rollout(json!({"batch": [1, 2]}), &nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.start().await;
    assert_eq!(
        states(&world, job).await[1..],
        ["ready", "ready", "ready", "ready"]
    );
    world.sim.let_go();
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    in_order(&events, &batches(&world, job).await);
    assert_eq!(world.sim.requests().len(), 5);
}

#[tokio::test]
async fn failures_of_before_a_restart_count_after_it() {
    let mut world = World::with(quick()).await;
    let nodes = world.agents(4, &Manner::default());
    world.sim.change(&nodes[0], |manner| *manner = failing());
    world.sim.change(&nodes[1], |manner| {
        *manner = Manner {
            held: true,
            ..failing()
        }
    });
    let options = json!({"batch": 2, "max_failures": 1});
    let job = world.run(rollout(options, &nodes)).await;
    world.executing(2).await;
    world.event(job, "node_failed").await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    let runs = world.runs(job).await;
    let states: Vec<_> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["failed", "failed", "skipped", "skipped"]);
    let told = runs[2].result.as_ref().unwrap();
    assert!(
        told.contains("(node00000.example.com, node00001.example.com)"),
        "{told}"
    );
}
