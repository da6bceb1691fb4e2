//! The first second after a restart of the server: nodes that were connected before the kill count
//! as present, although none of them has reconnected yet.

use rusqlite::{Connection, OpenFlags};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::fleet::{Fleet, FleetConfig, Identities, KeyKind};
use tokio::process::Command;

use crate::world::{World, until};

const NODES: [&str; 3] = ["node0.test", "node1.test", "node2.test"];
const SIMULATED: usize = 300;

/// Stops or continues the agents' processes.
fn signal_agents(world: &World, signal: Signal) {
    for agent in world.agents.values() {
        kill_process(agent.pid(), signal).unwrap();
    }
}

/// Waits until presence is written, which happens once a second; unwritten presence is lost by the
/// kill.
async fn presence_written(world: &World, count: usize) {
    let path = world.installation.data_dir().join("tutti.db");
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let written = || {
        let sql = "SELECT count(*) FROM connected_nodes";
        let rows: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
        usize::try_from(rows).unwrap()
    };
    until("presence is written", || async { written() == count }).await;
}

async fn tutti(world: &World, arguments: &[&str]) -> String {
    let mut command: Command = world.command();
    let output = command.args(arguments).output().await.unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

/// The nodes of the newest job after its end, each with its state.
async fn newest_job(client: &Client) -> Vec<(String, String)> {
    let jobs = client.get("/orchestrator/v1/jobs").await.unwrap();
    let number = jobs["items"][0]["name"].as_str().unwrap().parse().unwrap();
    client.wait(number).await.unwrap();
    let nodes = client.nodes(number).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut nodes: Vec<(String, String)> = nodes
        .iter()
        .map(|node| (text(&node["name"]), text(&node["state"])))
        .collect();
    nodes.sort();
    nodes
}

#[tokio::test]
async fn all_right_after_a_restart_is_every_node_that_was_connected_before() {
    let mut world = World::start(&NODES).await;
    world.shell("quick", &[], "echo done");
    let before = tutti_login(&world).await;
    presence_written(&world, NODES.len()).await;
    // Stopped agents cannot be faster than the commands below.
    signal_agents(&world, Signal::STOP);
    world.kill_server().await;
    world.start_server().await;

    let inventory = world.client.get("/orchestrator/v1/inventory").await;
    let inventory = inventory.unwrap();
    assert_eq!(inventory["items"], json!([]), "{before}");
    assert_eq!(inventory["returning"], json!(NODES));
    let listed = tutti(&world, &["node", "list"]).await;
    assert!(listed.contains("3 that were connected before"), "{listed}");
    let known = json!({"query": "nodes[certname] { connected = true }"});
    until("queries find them", || async {
        let found = world.client.post("/pdb/query/v4", &known).await;
        found.unwrap().as_array().unwrap().len() == NODES.len()
    })
    .await;
    let timetable = ["--cron", "0 4 * * *", "--all"];
    tutti(
        &world,
        &[&["schedule", "task", "quick"], &timetable[..]].concat(),
    )
    .await;
    let schedules = world
        .client
        .get("/orchestrator/v1/scheduled_jobs/environment_jobs")
        .await;
    let text = schedules.unwrap().to_string();
    assert!(NODES.iter().all(|node| text.contains(node)), "{text}");
    tutti(&world, &["task", "run", "quick", "--all", "--no-wait"]).await;

    signal_agents(&world, Signal::CONT);
    let finished = NODES.map(|node| (node.to_owned(), "finished".to_owned()));
    assert_eq!(newest_job(&world.client).await, finished);
    let inventory = world.client.get("/orchestrator/v1/inventory").await;
    assert_eq!(inventory.unwrap()["returning"], Value::Null);
    world.stop().await;
}

/// Creates a token file for [`tutti`].
async fn tutti_login(world: &World) -> String {
    let mut command = world.tutti().await;
    let output = command.args(["node", "list"]).output().await.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_that_comes_back_runs_a_job_that_was_made_meanwhile() {
    let mut world = World::start(&[]).await;
    world.shell("quick", &[], "echo done");
    tutti_login(&world).await;
    let ca = world.installation.ca_dir();
    let identities = Identities::issue(&ca, "sim", SIMULATED, KeyKind::Ec).unwrap();
    let fleet = Fleet::start(FleetConfig::new(&world.installation), &identities);
    fleet.all_connected().await;
    world.client.connected(SIMULATED).await.unwrap();
    presence_written(&world, SIMULATED).await;
    world.kill_server().await;
    world.start_server().await;
    tutti(&world, &["task", "run", "quick", "--all", "--no-wait"]).await;
    let nodes = newest_job(&world.client).await;
    assert_eq!(nodes.len(), SIMULATED);
    let other = nodes.iter().find(|(_, state)| state != "finished");
    assert_eq!(other, None);
    assert_eq!(fleet.ledger().repeated(), Vec::new());
    fleet.stop().await;
    world.stop().await;
}
