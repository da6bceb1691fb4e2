//! Agents on a standalone broker, while the broker and its orchestrator are restarted.

use serde_json::json;
use testkit::service::Service;

use crate::world::{World, logged};

const NODES: [&str; 2] = ["node0.test", "node1.test"];

async fn start() -> (World, Service) {
    let mut world = World::start(&[]).await;
    let broker = world.installation.standalone_broker().unwrap();
    let broker = broker.start().await.unwrap();
    for name in NODES {
        let port = world.installation.remote_broker_port();
        let agent = world.installation.agent(name, port, "").unwrap();
        let agent = agent.start().await.unwrap();
        world.agents.insert(name.to_owned(), agent);
    }
    world.client.connected(NODES.len()).await.unwrap();
    (world, broker)
}

#[tokio::test]
async fn a_result_arrives_over_a_broker_that_died_in_between() {
    let (world, broker) = start().await;
    world.shell("quick", &[], "echo done");
    let job = world.job("quick", &NODES, json!({})).await;
    for node in world.ended(job).await {
        assert_eq!(node["result"]["_output"], json!("done\n"), "{node}");
    }
    let gate = world.gate("slow", "", "echo survived");
    let job = world.job("slow", &NODES[..1], gate.params()).await;
    gate.begun().await;
    broker.kill().await.unwrap();
    world.until_connected(NODES[0], false).await;
    let gone = world.run("quick", NODES[1], json!({})).await;
    assert_eq!(gone["state"], json!("errored"), "{gone}");
    gate.open();
    let broker = world.installation.standalone_broker().unwrap();
    let broker = broker.start().await.unwrap();
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    assert_eq!(nodes[0]["result"]["_output"], json!("survived\n"));
    assert!(broker.stop().await.unwrap().success());
    world.stop().await;
}

#[tokio::test]
async fn agents_stay_while_the_orchestrator_is_away() {
    let (mut world, broker) = start().await;
    let gate = world.gate("slow", "", "echo survived");
    let job = world.job("slow", &NODES[..1], gate.params()).await;
    gate.begun().await;
    world.kill_server().await;
    logged(&broker, "controller disconnected").await;
    gate.open();
    world.start_server().await;
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    world.client.connected(NODES.len()).await.unwrap();
    let sessions = broker.log_text().matches("session ended").count();
    assert_eq!(
        sessions,
        0,
        "no agent was sent away:\n{}",
        broker.log_text()
    );
    assert!(broker.stop().await.unwrap().success());
    world.stop().await;
}
