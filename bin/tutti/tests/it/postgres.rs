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

/// P4: a run that the standby did not receive is not repeated, and outcomes that the agents keep
/// are sent again.
#[tokio::test]
async fn nothing_is_run_twice_after_a_fail_over_to_a_lagging_standby() {
    let primary = Postgres::start_on_tcp().unwrap();
    let url = primary.create_database().unwrap();
    let installation = crate::installation(&format!("[store]\nurl = {url:?}\n"));
    let mut world = World::of(installation, &NODES[..1]).await;
    let gate = world.gate("slow", "echo run >> \"$PT_begun.ledger\"", "echo survived");
    let job = world.job("slow", &NODES[..1], gate.params()).await;
    gate.begun().await;
    let standby = primary.copy().unwrap();
    gate.open();
    world.ended(job).await;
    world.shell("quick", &[], "echo done");
    let lost = world.job("quick", &NODES[..1], json!({})).await;
    world.ended(lost).await;

    let mut server = world.server.take().unwrap();
    primary.kill().unwrap();
    let standby = standby.at_place_of(&primary);
    standby.resume().unwrap();
    // The server detects it without any command, and ends.
    let status = server.ended().await.unwrap();
    assert!(!status.success(), "{status}");
    assert!(server.log_text().contains("an older copy of it answers"));
    let accept = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tutti"));
        command.arg("accept-older-history").args(arguments);
        command.arg("--config").arg(world.root().join("tutti.toml"));
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let told = accept(&[]);
    assert!(
        told.contains(&format!("Lost are jobs {lost} to {lost}.")),
        "{told}"
    );
    let told = accept(&["--yes"]);
    assert!(told.contains("Start the server"), "{told}");

    world.start_server().await;
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    assert_eq!(nodes[0]["result"]["_output"], json!("survived\n"));
    let ledger = std::fs::read_to_string(world.root().join("slow-begun.ledger")).unwrap();
    assert_eq!(ledger, "run\n", "it ran once");
    let next = world.job("quick", &NODES[..1], json!({})).await;
    assert!(next > lost, "its number is not used again");
    let entries = world.client.get("/audit/v1/entries").await;
    assert!(
        entries
            .unwrap()
            .to_string()
            .contains("accept_older_history")
    );
    world.stop().await;
}
