//! Leases of the nodes of ordered jobs: taken, waited for, renewed, released.

use std::time::Duration;

use jobs::{JobSpec, JobWork, JobsConfig, LeaseTimes, NodeAnswer, RunJobError, ShownLease};
use pcp::Certname;
use pxp::action::HoldLeaseState;
use serde_json::{Value, json};
use store::{EventRow, JobNumber};

use crate::deploys::deploy;
use crate::run_orders::{Applications, config, failing, instance, lamp, node_name};
use crate::sim::Manner;
use crate::world::{World, patient, quick};

/// An agent that knows leases.
fn leasing() -> Manner {
    Manner {
        leases: true,
        ..Manner::default()
    }
}

fn applications() -> Applications {
    let mut instances = lamp();
    // Two more applications: one beside the lamp, one that shares its node 2.
    instances.push(instance(
        "Mail[x]",
        &[(6, &["mail"], &[]), (7, &[], &["mail"])],
    ));
    instances.push(instance(
        "Dns[x]",
        &[(2, &["dns"], &[]), (8, &[], &["dns"])],
    ));
    Applications {
        instances,
        ..Applications::default()
    }
}

async fn world(times: LeaseTimes) -> World {
    let jobs = JobsConfig {
        leases: times,
        ..patient()
    };
    World::with(config(applications(), jobs)).await
}

fn on(nodes: &[usize]) -> JobSpec {
    let nodes: Vec<Certname> = nodes.iter().map(|node| node_name(*node)).collect();
    deploy(&nodes)
}

const LAMP: [usize; 4] = [0, 1, 2, 3];

async fn released(world: &World) {
    let what = "every lease is released";
    let is_free = |world: &World| (0..9).all(|node| world.sim.lease(&node_name(node)).is_none());
    world.until(what, is_free).await;
}

fn of_kind<'a>(events: &'a [EventRow], kind: &str) -> Vec<&'a EventRow> {
    events.iter().filter(|event| event.kind == kind).collect()
}

fn details(event: &EventRow) -> Value {
    serde_json::from_str(&event.details).unwrap()
}

async fn finished(world: &World, job: JobNumber) -> Vec<EventRow> {
    let events = world.over(job).await;
    assert_eq!(world.state(job).await, "finished", "{events:?}");
    events
}

#[tokio::test]
async fn nodes_are_held_before_anything_starts_and_released_at_the_end() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world
        .sim
        .change(&node_name(2), |manner| manner.runs_puppet = true);
    let job = world.run(on(&[0, 1, 2, 3, 5])).await;
    // The node that is in no application does not wait.
    world.executing(1).await;
    let asked = |world: &World| {
        let asked = world.sim.leases_asked().into_iter();
        asked.filter(|(node, ..)| *node == node_name(2)).count() > 2
    };
    world.until("the busy node was asked again", asked).await;
    assert_eq!(world.sim.executions().len(), 1);
    world
        .sim
        .change(&node_name(2), |manner| manner.runs_puppet = false);
    let events = finished(&world, job).await;
    let [taken] = of_kind(&events, "leases_taken")[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        details(taken),
        json!({"held": 4, "not_held": 0, "reasons": {}})
    );
    assert_eq!(taken.message, "Only this job starts Puppet on 4 nodes");
    released(&world).await;
    assert_eq!(world.sim.leased_runs(), LAMP.map(node_name).into());
    assert!(
        world
            .sim
            .leases_asked()
            .iter()
            .all(|(node, ..)| *node != node_name(5))
    );
}

#[tokio::test]
async fn agents_without_leases_do_not_delay_the_job() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.add(
        &node_name(0),
        Manner {
            stock: true,
            ..Manner::default()
        },
    );
    world.sim.change(&node_name(1), |manner| {
        manner.refuses_leases = Some("Puppet is not installed")
    });
    let job = world.run(on(&LAMP)).await;
    let events = world.over(job).await;
    let told = details(of_kind(&events, "leases_taken")[0]);
    assert_eq!((&told["held"], &told["not_held"]), (&json!(2), &json!(2)));
    let reasons = &told["reasons"];
    assert_eq!(reasons[node_name(0).as_str()], "its agent knows no leases");
    assert_eq!(reasons[node_name(1).as_str()], "Puppet is not installed");
    released(&world).await;
}

#[tokio::test]
async fn two_jobs_that_share_nodes_run_one_after_the_other() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let first = world.run(on(&LAMP)).await;
    world.executing(1).await;
    let second = world.run(on(&[2, 8])).await;
    // A third one has other nodes.
    let third = world.run(on(&[6, 7])).await;
    finished(&world, third).await;
    let waited = world.event(second, "leases_awaited").await;
    let waited = of_kind(&waited, "leases_awaited")[0];
    assert_eq!(
        details(waited),
        json!({"job": first.to_string(), "nodes": 1})
    );
    assert_eq!(world.sim.executions().len(), 3);
    world.sim.let_go();
    let before = finished(&world, first).await;
    let after = finished(&world, second).await;
    let last = before.iter().map(|event| event.id).max().unwrap();
    let started = of_kind(&after, "node_running");
    assert!(started.iter().all(|event| event.id > last), "{after:?}");
    released(&world).await;
}

#[tokio::test]
async fn a_job_that_is_stopped_while_it_waits_lets_the_next_one_pass() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let first = world.run(on(&LAMP)).await;
    world.executing(1).await;
    let second = world.run(on(&[2, 8])).await;
    world.event(second, "leases_awaited").await;
    world.jobs().stop(second, false).await.unwrap();
    world.over(second).await;
    assert_eq!(world.state(second).await, "stopped");
    let third = world.run(on(&[2, 8])).await;
    world.sim.let_go();
    finished(&world, first).await;
    finished(&world, third).await;
    released(&world).await;
}

#[tokio::test]
async fn a_job_that_is_stopped_while_it_takes_leases_releases_them() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world
        .sim
        .change(&node_name(2), |manner| manner.runs_puppet = true);
    let job = world.run(on(&LAMP)).await;
    let three = |world: &World| {
        [0, 1, 3]
            .iter()
            .all(|it| world.sim.lease(&node_name(*it)).is_some())
    };
    world.until("three nodes are held", three).await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    assert_eq!(world.state(job).await, "stopped");
    assert!(world.sim.executions().is_empty());
    released(&world).await;
    let again = world.run(on(&[0, 1, 3])).await;
    finished(&world, again).await;
}

#[tokio::test]
async fn a_run_in_progress_without_end_delays_the_job_for_a_bounded_time() {
    let times = LeaseTimes {
        patience: Duration::from_millis(200),
        ..LeaseTimes::default()
    };
    let world = world(times).await;
    world.agents(9, &leasing());
    // A run without the lease would be one too many in the check of the simulated agent.
    world.sim.add(
        &node_name(2),
        Manner {
            leases: true,
            runs_puppet: true,
            mute: false,
            refuses: true,
            ..Manner::default()
        },
    );
    let job = world.run(on(&LAMP)).await;
    let events = world.over(job).await;
    let told = details(of_kind(&events, "leases_taken")[0]);
    let reason = &told["reasons"][node_name(2).as_str()];
    assert_eq!(reason, "a run of Puppet is in progress");
    assert_eq!(told["held"], 3);
    released(&world).await;
}

#[tokio::test]
async fn leases_are_renewed_while_the_job_runs() {
    let times = LeaseTimes {
        renewal: Duration::from_millis(20),
        ..LeaseTimes::default()
    };
    let world = world(times).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let job = world.run(on(&LAMP)).await;
    world.executing(1).await;
    let renewed = |world: &World| {
        let asked = world.sim.leases_asked();
        LAMP.iter()
            .all(|node| asked.iter().filter(|it| it.0 == node_name(*node)).count() > 3)
    };
    world.until("every lease was renewed", renewed).await;
    // A node that comes back without its lease gets it again.
    world.sim.disconnect(&node_name(0));
    world.sim.add(&node_name(0), leasing());
    let held = |world: &World| world.sim.lease(&node_name(0)).is_some();
    world.until("the node is held again", held).await;
    world.sim.let_go();
    finished(&world, job).await;
    released(&world).await;
}

/// The lease of the job is that of before, so a node that still has it does not refuse.
#[tokio::test]
async fn leases_survive_a_crash_of_the_server() {
    let mut world = World::with(config(applications(), quick())).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let job = world.run(on(&LAMP)).await;
    world.executing(1).await;
    let waiting = world.run(on(&[2, 8])).await;
    world.event(waiting, "leases_awaited").await;
    let lease = world.sim.lease(&node_name(3));
    world.kill().await;
    assert_eq!(world.sim.lease(&node_name(3)), lease);
    world.start().await;
    world.sim.let_go();
    let before = finished(&world, job).await;
    let after = finished(&world, waiting).await;
    let last = before.iter().map(|event| event.id).max().unwrap();
    assert!(
        of_kind(&after, "node_running")
            .iter()
            .all(|event| event.id > last)
    );
    assert!(world.sim.executions().values().all(|count| *count == 1));
    released(&world).await;
    let leases: std::collections::HashSet<_> = world
        .sim
        .leases_asked()
        .into_iter()
        .map(|(_, _, lease)| lease)
        .collect();
    assert_eq!(leases.len(), 2, "one for each job");
}

/// Its lease ends by itself.
#[tokio::test]
async fn a_node_that_is_away_at_the_end_is_not_waited_for() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(2), |manner| manner.held = true);
    let job = world.run(on(&LAMP)).await;
    world.executing(4).await;
    world.until_state(job, 3, "finished").await;
    world.sim.disconnect(&node_name(0));
    world.sim.let_go();
    finished(&world, job).await;
    let free = |world: &World| {
        [1, 2, 3]
            .iter()
            .all(|it| world.sim.lease(&node_name(*it)).is_none())
    };
    world.until("the other nodes are free", free).await;
    assert!(world.sim.lease(&node_name(0)).is_some());
}

#[tokio::test]
async fn an_agent_that_does_not_answer_delays_the_job_for_a_bounded_time() {
    let times = LeaseTimes {
        patience: Duration::from_millis(100),
        answer: Duration::from_millis(50),
        ..LeaseTimes::default()
    };
    let world = world(times).await;
    world.agents(9, &leasing());
    world.sim.add(
        &node_name(2),
        Manner {
            leases: true,
            mute: true,
            ..Manner::default()
        },
    );
    let job = world.run(on(&LAMP)).await;
    let events = world.event(job, "leases_taken").await;
    assert_eq!(details(of_kind(&events, "leases_taken")[0])["held"], 3);
    world.jobs().stop(job, true).await.unwrap();
}

fn quarantining(nodes: &[usize]) -> JobSpec {
    let mut spec = on(nodes);
    let JobWork::Puppet(work) = &mut spec.work else {
        panic!("{:?}", spec.work)
    };
    work.has_quarantine = true;
    spec
}

/// An agent that knows leases, and whose runs fail.
fn broken() -> Manner {
    Manner {
        leases: true,
        ..failing()
    }
}

/// The database fails: neither it nor the nodes that depend on it run by themselves afterwards.
#[tokio::test]
async fn nodes_without_success_stay_held_if_the_job_says_so() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.add(&node_name(1), broken());
    let job = world.run(quarantining(&[0, 1, 2, 3, 5])).await;
    let events = world.over(job).await;
    let told = details(of_kind(&events, "nodes_quarantined")[0]);
    let expected = [1, 2].map(|it| node_name(it).to_string());
    assert_eq!(told["nodes"], json!(expected));
    let two = |world: &World| {
        let held = |it: &usize| world.sim.quarantine(&node_name(*it)).is_some();
        let free = |it: &usize| world.sim.lease(&node_name(*it)).is_none();
        [1, 2].iter().all(held) && [0, 3].iter().all(free)
    };
    world.until("two nodes are in quarantine", two).await;
    let nodes = [1, 3, 8].map(node_name);
    world.sim.add(
        &nodes[2],
        Manner {
            stock: true,
            ..Manner::default()
        },
    );
    let shown = world.jobs().leases(&nodes).await;
    let ends = |shown: &NodeAnswer<Option<ShownLease>>| {
        let lease = shown.result.as_ref().ok()?.as_ref()?;
        Some((lease.held.state, lease.ends_in_s))
    };
    assert_eq!(ends(&shown[0]), Some((HoldLeaseState::Held, None)));
    assert_eq!(shown[1].result, Ok(None));
    assert!(shown[2].result.is_err(), "a pxp-agent knows none");
    let ended = world.jobs().release_leases(&nodes).await;
    let ended: Vec<_> = ended.into_iter().map(|it| it.result.ok()).collect();
    assert_eq!(ended, [Some(true), Some(false), None]);
    // A later job takes them over, and its success ends it.
    world.sim.add(&node_name(1), leasing());
    let again = world.run(quarantining(&[0, 1, 2, 3, 5])).await;
    let events = finished(&world, again).await;
    assert!(of_kind(&events, "nodes_quarantined").is_empty());
    released(&world).await;
    let mut unordered = quarantining(&LAMP);
    let JobWork::Puppet(work) = &mut unordered.work else {
        panic!("{:?}", unordered.work)
    };
    work.environment = None;
    let Err(RunJobError::Limit(message)) = world.jobs().run(unordered).await else {
        panic!("it was made");
    };
    assert!(
        message.starts_with("quarantine: needs an environment"),
        "{message}"
    );
}

/// The quarantine is that of before the crash, although the run was over then.
#[tokio::test]
async fn a_quarantine_survives_a_crash_of_the_server() {
    let mut world = World::with(config(applications(), quick())).await;
    world.agents(9, &leasing());
    world.sim.add(&node_name(1), broken());
    world.sim.change(&node_name(0), |manner| manner.held = true);
    let job = world.run(quarantining(&LAMP)).await;
    world.until_state(job, 1, "failed").await;
    world.until_state(job, 1, "skipped").await;
    world.kill().await;
    world.start().await;
    world.sim.let_go();
    let events = world.over(job).await;
    let told = details(of_kind(&events, "nodes_quarantined")[0]);
    let expected = [1, 2].map(|it| node_name(it).to_string());
    assert_eq!(told["nodes"], json!(expected));
}

/// A run of another job that waits for a lease has no slot, or the ordered job would find none.
#[tokio::test]
async fn runs_of_other_jobs_wait_without_a_slot() {
    let jobs = JobsConfig {
        global_concurrent_compiles: 2,
        ..patient()
    };
    let world = World::with(config(applications(), jobs)).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let ordered = world.run(on(&LAMP)).await;
    world.executing(1).await;
    let mut spec = on(&[0, 1, 2, 4]);
    let JobWork::Puppet(work) = &mut spec.work else {
        panic!("{:?}", spec.work)
    };
    work.environment = None;
    let other = world.run(spec.clone()).await;
    // Only the run on the node that no job holds starts.
    world.until_state(other, 1, "finished").await;
    world.event(other, "leases_awaited").await;
    let stopped = world.run(spec).await;
    world.event(stopped, "leases_awaited").await;
    world.jobs().stop(stopped, false).await.unwrap();
    world.over(stopped).await;
    assert_eq!(world.state(stopped).await, "stopped");
    world.sim.let_go();
    let before = finished(&world, ordered).await;
    let after = finished(&world, other).await;
    assert_eq!(of_kind(&after, "leases_awaited").len(), 1);
    let last = before.iter().map(|event| event.id).max().unwrap();
    let started = of_kind(&after, "node_running");
    assert_eq!(started.iter().filter(|event| event.id > last).count(), 3);
}

/// Only a later success, or a release, ends a quarantine.
#[tokio::test]
async fn a_later_job_without_success_leaves_a_quarantine() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.add(&node_name(3), broken());
    let first = world.run(quarantining(&LAMP)).await;
    world.over(first).await;
    let all = |world: &World| {
        LAMP.iter()
            .all(|it| world.sim.quarantine(&node_name(*it)).is_some())
    };
    world.until("all nodes are in quarantine", all).await;
    let before = LAMP.map(|it| world.sim.quarantine(&node_name(it)));
    let again = world.run(on(&LAMP)).await;
    world.over(again).await;
    let restored = |world: &World| LAMP.map(|it| world.sim.quarantine(&node_name(it))) == before;
    world.until("the quarantine is back", restored).await;
    world.sim.add(&node_name(3), leasing());
    let mut noop = on(&LAMP);
    let JobWork::Puppet(work) = &mut noop.work else {
        panic!("{:?}", noop.work)
    };
    work.flags.noop = true;
    let noop = world.run(noop).await;
    finished(&world, noop).await;
    let three =
        |world: &World| [0, 1, 2].map(|it| world.sim.quarantine(&node_name(it))) == before[..3];
    world.until("the quarantine is back", three).await;
    let repair = world.run(on(&LAMP)).await;
    finished(&world, repair).await;
    released(&world).await;
}

#[tokio::test]
async fn a_job_that_was_stopped_before_its_first_run_leaves_no_quarantine() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world
        .sim
        .change(&node_name(2), |manner| manner.runs_puppet = true);
    let job = world.run(quarantining(&LAMP)).await;
    let three = |world: &World| {
        [0, 1, 3]
            .iter()
            .all(|it| world.sim.lease(&node_name(*it)).is_some())
    };
    world.until("three nodes are held", three).await;
    world.jobs().stop(job, false).await.unwrap();
    let events = world.over(job).await;
    assert!(of_kind(&events, "nodes_quarantined").is_empty());
    released(&world).await;
}

/// What cannot be kept is not said to be.
#[tokio::test]
async fn nodes_that_cannot_be_kept_are_counted() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.add(&node_name(3), broken());
    world.sim.disconnect(&node_name(0));
    let stock = Manner {
        stock: true,
        ..Manner::default()
    };
    world.sim.add(&node_name(1), stock);
    let job = world.run(quarantining(&LAMP)).await;
    let events = world.over(job).await;
    let told = details(of_kind(&events, "nodes_quarantined")[0]);
    let kept = [2, 3].map(|it| node_name(it).to_string());
    assert_eq!(told, json!({"count": 2, "nodes": kept, "not_kept": 2}));
}

#[tokio::test]
async fn a_quarantine_without_an_order_is_refused() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    let Err(RunJobError::Limit(message)) = world.jobs().run(quarantining(&[0, 5])).await else {
        panic!("it was made");
    };
    assert!(message.contains("no node of this job waits"), "{message}");
}

/// A stopped job keeps the leases until its last run has ended, also after a restart of the server.
#[tokio::test]
async fn a_stopping_job_keeps_its_leases_over_a_crash() {
    let mut world = World::with(config(applications(), quick())).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let job = world.run(quarantining(&LAMP)).await;
    world.executing(1).await;
    world.jobs().stop(job, false).await.unwrap();
    world.until_state(job, 3, "skipped").await;
    world.kill().await;
    let asked = world.sim.leases_asked().len();
    world.start().await;
    let renewed = |world: &World| world.sim.leases_asked().len() >= asked + 4;
    world.until("the leases were renewed", renewed).await;
    world.sim.let_go();
    let events = world.over(job).await;
    let told = details(of_kind(&events, "nodes_quarantined")[0]);
    assert_eq!(told["count"], 3);
    let free = |world: &World| world.sim.lease(&node_name(3)).is_none();
    world.until("the node with success is free", free).await;
}

/// A node in quarantine that connects after the leases were taken gets the lease before its run.
#[tokio::test]
async fn a_node_that_connects_later_is_held_at_once() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let job = world.run(on(&LAMP)).await;
    world.executing(1).await;
    world.sim.disconnect(&node_name(0));
    world.sim.add(&node_name(0), leasing());
    let held = |world: &World| world.sim.lease(&node_name(0)).is_some();
    world
        .until("the node is held, without a renewal", held)
        .await;
    world.sim.let_go();
    finished(&world, job).await;
    released(&world).await;
}

/// Each has a node without order that the other one holds; together they would wait for ever.
#[tokio::test]
async fn ordered_jobs_that_share_nodes_without_order_do_not_wait_for_each_other() {
    let world = world(LeaseTimes::default()).await;
    world.agents(9, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let first = world.run(on(&[0, 1, 2, 3, 6])).await;
    world.until_state(first, 1, "finished").await;
    world.executing(2).await;
    // Its ordered nodes are free, and its node 0 is not.
    let second = world.run(on(&[6, 7, 0])).await;
    world.event(second, "leases_awaited").await;
    world.sim.let_go();
    finished(&world, first).await;
    finished(&world, second).await;
    released(&world).await;
}
