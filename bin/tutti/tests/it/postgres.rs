//! The whole installation on PostgreSQL.

use serde_json::json;
use testkit::postgres::Postgres;

use crate::world::World;

const NODES: [&str; 3] = ["node0.test", "node1.test", "node2.test"];

#[tokio::test]
async fn jobs_survive_the_server_and_the_database() {
    let database = Postgres::start().unwrap();
    let url = database.create_database().unwrap();
    let installation = crate::installation(&format!("[store]\nurl = {url:?}\n"));
    let mut world = World::of(installation, &NODES).await;
    world.shell("quick", &[], "echo done");
    let job = world.job("quick", &NODES, json!({})).await;
    for node in world.ended(job).await {
        assert_eq!(node["result"]["_output"], json!("done\n"), "{node}");
    }

    let gate = world.gate("slow", "echo run >> \"$PT_begun.ledger\"", "echo survived");
    let job = world.job("slow", &NODES[..1], gate.params()).await;
    gate.begun().await;
    world.kill_server().await;
    world.start_server().await;
    database.kill().unwrap();
    gate.open();
    database.resume().unwrap();
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    assert_eq!(nodes[0]["result"]["_output"], json!("survived\n"));
    let ledger = std::fs::read_to_string(world.root().join("slow-begun.ledger")).unwrap();
    assert_eq!(ledger, "run\n", "it ran once");
    let next = world.job("quick", &NODES, json!({})).await;
    assert_eq!(next, job + 1, "job numbers have no gaps");
    world.client.wait(next).await.unwrap();
    world.stop().await;
}
