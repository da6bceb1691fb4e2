//! The flaws of Choria's orchestrator, each as a test of its name that shows it absent.

use serde_json::{Value, json};

use crate::deploys::deploy;
use crate::run_orders::{Applications, config, instance, lamp, node_name};
use crate::sim::Manner;
use crate::world::{World, patient};

fn leasing() -> Manner {
    Manner {
        leases: true,
        ..Manner::default()
    }
}

/// An agent whose runs have this result.
fn resulting(result: Value) -> Manner {
    Manner {
        puppet: Some(result),
        ..leasing()
    }
}

async fn lamp_world() -> World {
    let applications = Applications {
        instances: lamp(),
        ..Applications::default()
    };
    World::with(config(applications, patient())).await
}

/// The states of the runs on the first nodes, by number.
async fn states(world: &World, job: store::JobNumber) -> Vec<String> {
    let mut runs = world.runs(job).await;
    runs.sort_by(|one, other| one.certname.cmp(&other.certname));
    runs.into_iter().map(|run| run.state).collect()
}

/// There, no reply at all counted as success.
#[tokio::test]
async fn all_nodes_down_count_as_success() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    for node in &nodes {
        world.sim.disconnect(node);
    }
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    assert_eq!(
        states(&world, job).await,
        ["skipped", "skipped", "skipped", "errored"]
    );
    assert!(world.sim.executions().is_empty());
}

/// There, the consumers of a database that was down ran anyway.
#[tokio::test]
async fn consumers_run_although_their_producer_is_down() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    world.sim.disconnect(&nodes[3]);
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    assert!(world.sim.executions().is_empty());
}

/// There, the other nodes were disabled for good when one was found disabled.
#[tokio::test]
async fn one_disabled_node_leaves_all_disabled() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    let disabled = json!({
        "kind": "unknown", "time": "unknown", "transaction_uuid": "unknown", "environment": "unknown",
        "status": "unknown", "metrics": {}, "exitcode": -1, "version": 1, "error_type": "agent_disabled",
        "error": {"msg": "runs of Puppet are disabled on this node"},
    });
    world.sim.add(&node_name(1), resulting(disabled));
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(
        states(&world, job).await,
        ["finished", "errored", "skipped", "finished"]
    );
    let free = |world: &World| nodes.iter().all(|node| world.sim.lease(node).is_none());
    world.until("all nodes are free again", free).await;
}

/// There, a run that began and ended between two polls was waited for until a timeout.
#[tokio::test]
async fn a_short_run_is_seen_as_a_timeout() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    let began = std::time::Instant::now();
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    // Its shortest pause between polls was 5 s, and its timeout 200 s.
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}

/// There, no order was found for a node that consumes what it produces.
#[tokio::test]
async fn all_in_one_nodes_are_impossible() {
    let whole = instance("Lamp[one]", &[(0, &["db"], &[]), (0, &[], &["db"])]);
    let apart = instance(
        "Lamp[two]",
        &[(0, &["other"], &[]), (1, &[], &["other", "db"])],
    );
    let applications = Applications {
        instances: vec![whole, apart],
        ..Applications::default()
    };
    let world = World::with(config(applications, patient())).await;
    let nodes = world.agents(2, &leasing());
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
}

/// There, a catalog that did not compile passed as a success, since no resource had failed.
#[tokio::test]
async fn a_failed_compile_counts_as_success() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    let no_catalog = json!({
        "kind": "apply", "time": "2026-11-24T07:07:19Z", "transaction_uuid": "x",
        "environment": "production", "status": "failed", "metrics": {"total": 0, "failed": 0},
        "exitcode": 1, "version": 1,
    });
    world.sim.add(&node_name(3), resulting(no_catalog));
    let job = world.run(deploy(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "failed");
    assert_eq!(
        states(&world, job).await,
        ["skipped", "skipped", "skipped", "failed"]
    );
}

/// There, a job that ended in the middle left its nodes disabled.
#[tokio::test]
async fn an_interrupted_job_leaves_nodes_disabled() {
    let world = lamp_world().await;
    let nodes = world.agents(4, &leasing());
    world.sim.change(&node_name(3), |manner| manner.held = true);
    let job = world.run(deploy(&nodes)).await;
    world.executing(1).await;
    world.jobs().stop(job, true).await.unwrap();
    world.over(job).await;
    let free = |world: &World| nodes.iter().all(|node| world.sim.lease(node).is_none());
    world.until("all nodes are free again", free).await;
}
