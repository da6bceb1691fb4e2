//! Starts that are spread over a time, also over restarts, and nodes that are left to other jobs.

use jobs::{JobSpec, JobWork, JobsConfig, NodeScope, RunJobError};
use pcp::Certname;
use serde_json::{Value, json};
use store::{EventRow, JobNumber, RunRow};

use crate::deploys::deploy;
use crate::sim::Manner;
use crate::world::{World, names, patient, request};

const DAY: u64 = 24 * 3_600;

/// A Puppet run on these nodes whose starts are spread over so many seconds.
fn splayed(nodes: &[Certname], seconds: u64) -> JobSpec {
    let mut spec = deploy(nodes);
    spec.limits.rollout.splay = Some(seconds);
    spec
}

fn of_state(runs: &[RunRow], state: &str) -> usize {
    runs.iter().filter(|run| run.state == state).count()
}

/// No run starts before its time, where one is `distance_ms` after the other. The tests of the splay itself show that a
/// run which is not late starts at its time.
async fn never_early(world: &World, job: JobNumber, events: &[EventRow], distance_ms: i64) {
    let created_ms = world.store.job(job).await.unwrap().unwrap().created_ms;
    let starts = events.iter().filter(|event| event.kind == "node_running");
    let times: Vec<i64> = starts.map(|event| event.at_ms - created_ms).collect();
    for (time, index) in times.iter().zip(0..) {
        assert!(*time >= index * distance_ms, "{times:?}");
    }
}

fn started_nodes(events: &[EventRow]) -> Vec<String> {
    let starts = events.iter().filter(|event| event.kind == "node_running");
    starts.filter_map(|event| event.certname.clone()).collect()
}

/// The job to which a node was left.
fn left_to(run: &RunRow) -> String {
    assert_eq!(run.state, "skipped");
    let result: Value = serde_json::from_str(run.result.as_ref().unwrap()).unwrap();
    let error = &result["_error"];
    assert_eq!(error["kind"], "tutti/left-to-other-job", "{error}");
    let msg = error["msg"].as_str().unwrap();
    assert!(msg.contains("runs Puppet there"), "{msg}");
    error["details"]["job"].as_str().unwrap().to_owned()
}

/// A job of which one run has ended, and whose other two have their times in hours.
async fn one_ended() -> (World, JobNumber) {
    let world = World::new().await;
    let nodes = world.agents(3, &Manner::default());
    let job = world.run(splayed(&nodes, DAY)).await;
    world.event(job, "node_finished").await;
    (world, job)
}

#[tokio::test]
async fn starts_are_spread_evenly_in_an_order_that_is_the_same_each_time() {
    let world = World::new().await;
    let mut nodes = world.agents(4, &Manner::default());
    let mut orders = Vec::new();
    for _ in 0..2 {
        let job = world.run(splayed(&nodes, 2)).await;
        let events = world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
        never_early(&world, job, &events, 500).await;
        orders.push(started_nodes(&events));
        nodes.reverse();
    }
    assert_eq!(orders[0], orders[1]);
    let given: Vec<String> = names(4).iter().map(ToString::to_string).collect();
    assert_ne!(orders[0], given, "similar names do not follow one another");
}

#[tokio::test]
async fn tasks_are_spread_too() {
    let world = World::new().await;
    let nodes = world.agents(3, &Manner::default());
    let mut spec = request(&nodes);
    spec.limits.rollout.splay = Some(1);
    let job = world.run(spec).await;
    let events = world.over(job).await;
    never_early(&world, job, &events, 333).await;
}

#[tokio::test]
async fn a_stop_skips_the_nodes_whose_times_have_not_come() {
    for force in [false, true] {
        let (world, job) = one_ended().await;
        world.jobs().stop(job, force).await.unwrap();
        world.over(job).await;
        assert_eq!(world.state(job).await, "stopped");
        let runs = world.runs(job).await;
        assert_eq!(
            (of_state(&runs, "finished"), of_state(&runs, "skipped")),
            (1, 2)
        );
    }
}

#[tokio::test]
async fn too_many_failures_end_the_splay() {
    let world = World::new().await;
    let failing = Manner {
        refuses: true,
        ..Manner::default()
    };
    let nodes = world.agents(3, &failing);
    let mut spec = splayed(&nodes, DAY);
    spec.limits.rollout = serde_json::from_value(json!({"splay": DAY, "max_failures": 0})).unwrap();
    let job = world.run(spec).await;
    world.over(job).await;
    let runs = world.runs(job).await;
    assert_eq!(
        (of_state(&runs, "errored"), of_state(&runs, "skipped")),
        (1, 2)
    );
}

/// Each server that starts goes on with the next node; none runs twice.
#[tokio::test]
async fn a_splay_goes_on_after_a_kill() {
    let (mut world, job) = one_ended().await;
    world.kill().await;
    world.start().await;
    world
        .until("two runs were started", |world| {
            world.sim.executions().len() == 2
        })
        .await;
    world.kill().await;
    world.start().await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(world.sim.executions().len(), 3);
    assert!(world.sim.executions().values().all(|times| *times == 1));
}

#[tokio::test]
async fn a_node_on_which_another_job_runs_puppet_is_left_to_it() {
    let world = World::new().await;
    let nodes = world.agents(3, &Manner::held());
    let requested = world.run(deploy(&nodes[..2])).await;
    world.executing(2).await;
    let regular = world.run(splayed(&nodes, 1)).await;
    world.executing(3).await;
    world.until_state(regular, 2, "skipped").await;
    for run in world.runs(regular).await {
        match run.certname == nodes[2].as_str() {
            true => assert_eq!(run.state, "running"),
            false => assert_eq!(left_to(&run), requested.to_string()),
        }
    }
    // a run in flight of a splayed job counts, and one of a task does not
    world.run(request(&nodes[2..])).await;
    let next = world.run(splayed(&nodes[2..], 1)).await;
    world.over(next).await;
    assert_eq!(left_to(&world.runs(next).await[0]), regular.to_string());
    // a job that a user requests is not left to the splayed one
    let urgent = world.run(deploy(&nodes[2..])).await;
    world.event(urgent, "node_running").await;
    world.sim.let_go();
    for job in [requested, regular, urgent] {
        world.over(job).await;
    }
    assert_eq!(world.state(urgent).await, "finished");
    let after = world.run(splayed(&nodes, 1)).await;
    world.over(after).await;
    assert_eq!(world.state(after).await, "finished", "all are free again");
}

/// However many regular jobs are late, a node is queued once, and requested jobs that wait for a slot count.
#[tokio::test]
async fn a_node_is_never_queued_twice() {
    let one_slot = JobsConfig {
        global_concurrent_compiles: 1,
        ..patient()
    };
    let mut world = World::with(one_slot).await;
    let nodes = world.agents(4, &Manner::held());
    let first = world.run(deploy(&nodes[..1])).await;
    world.executing(1).await;
    let second = world.run(deploy(&nodes[1..2])).await;
    let regular = world.run(splayed(&nodes[2..3], 1)).await;
    for _ in 0..2 {
        let next = world.run(splayed(&nodes[..3], 1)).await;
        world.over(next).await;
        let runs = world.runs(next).await;
        let left: Vec<String> = runs.iter().map(left_to).collect();
        let expected = [first, second, regular].map(|job| job.to_string());
        assert_eq!(left, expected);
        // also after a restart, when the time of the older job's run had come before
        world.kill().await;
        world.start().await;
    }
    world.sim.let_go();
    for job in [first, second, regular] {
        world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
    }
    assert_eq!(world.sim.executions().len(), 3);
}

/// A node in a later batch of a slow rollout, or in a job of one node at a time, would otherwise have no regular run for
/// days.
#[tokio::test]
async fn a_run_that_may_not_start_yet_takes_no_other_away() {
    let world = World::with(patient()).await;
    let nodes = world.agents(3, &Manner::default());
    let mut slow = deploy(&nodes[..2]);
    let options = json!({"batch": 1, "pause_between_batches": 3_600});
    slow.limits.rollout = serde_json::from_value(options).unwrap();
    let slow = world.run(slow).await;
    world.event(slow, "batch_finished").await;
    world.sim.change(&nodes[2], |manner| manner.held = true);
    let mut slow = deploy(&[nodes[2].clone(), nodes[1].clone()]);
    slow.limits.concurrency = Some(1);
    let slow = world.run(slow).await;
    world.event(slow, "node_running").await;
    let nodes = &nodes[..2];
    let splayed_far = world.run(splayed(nodes, DAY)).await;
    world.event(splayed_far, "node_finished").await;
    let regular = world.run(splayed(nodes, 1)).await;
    world.over(regular).await;
    assert_eq!(world.state(regular).await, "finished");
}

#[tokio::test]
async fn options_that_contradict_a_splay_are_refused() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    for (options, has_barrier, words) in [
        (json!({"splay": 0}), false, "splay must not be 0"),
        (
            json!({"splay": DAY + 1}),
            false,
            "splay must be at most 86400 seconds",
        ),
        (
            json!({"splay": 60, "batch": 1}),
            false,
            "splay contradicts batch",
        ),
        (json!({"splay": 60}), true, "barrier: contradicts splay"),
    ] {
        let mut spec = deploy(&nodes);
        spec.limits.rollout = serde_json::from_value(options).unwrap();
        let JobWork::Puppet(work) = &mut spec.work else {
            panic!("{:?}", spec.work)
        };
        work.has_barrier = has_barrier;
        let refused = world.jobs().run(spec).await.unwrap_err();
        assert!(matches!(refused, RunJobError::Limit(_)), "{refused:?}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
    let mut ordered = splayed(&nodes, 60);
    ordered.scope = NodeScope::Application("Lamp[app1]".parse().unwrap());
    let refused = world.jobs().run(ordered).await.unwrap_err();
    assert!(
        refused.to_string().contains("contradicts application"),
        "{refused}"
    );
}
