//! `node leases` and `node release`: what is asked, what is printed, how it ends.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::Fake;
use crate::defaults::NODES_IN_REQUEST;

const LEASES: &str = "POST /orchestrator/v1/leases";
const RELEASE: &str = "POST /orchestrator/v1/command/release_leases";
const SELECT: &str = "POST /orchestrator/v1/selected_nodes";
const CONNECTED: &str = "GET /orchestrator/v1/inventory";

/// Names of connected nodes, and the answer that lists them.
fn connected(count: usize) -> (Vec<String>, Value) {
    let names: Vec<String> = (0..count).map(|n| format!("n{n}.example.com")).collect();
    let items = names.iter().map(|name| {
        json!({"name": name, "connected": true, "broker": "pcp://b1/server",
            "timestamp": "2026-11-29T10:00:00Z"})
    });
    let list = json!({"items": items.collect::<Vec<_>>()});
    (names, list)
}

fn released(names: &[&str]) -> Value {
    let items = names
        .iter()
        .map(|name| json!({"name": name, "released": true}));
    json!({"items": items.collect::<Vec<_>>()})
}

#[tokio::test]
async fn leases_and_quarantines_are_told_apart() {
    let items = json!({"items": [
        {"name": "db.example.com", "lease": {"job": "7", "reason": "its order", "state": "held", "ends_in_s": 90}},
        {"name": "web1.example.com", "lease": {"job": "6", "reason": "its run did not succeed here", "state": "held"}},
        {"name": "web2.example.com"},
        {"name": "web3.example.com", "error": "not connected"},
    ]});
    let (_, list) = connected(4);
    let fake = Fake::start(vec![(CONNECTED, 200, list), (LEASES, 200, items)]).await;
    let ran = fake.run(&["tutti", "node", "leases", "--all"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (1, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn one_node_is_released_without_a_question() {
    let selection = json!({"nodes": ["web1.example.com"]});
    let answers = vec![
        (SELECT, 200, selection),
        (RELEASE, 200, released(&["web1.example.com"])),
    ];
    let fake = Fake::start(answers).await;
    let ran = fake
        .run(&["tutti", "node", "release", "-n", "web1.example.com"])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn several_nodes_are_released_only_after_a_confirmation() {
    let (_, list) = connected(2);
    let fake = Fake::start(vec![(CONNECTED, 200, list)]).await;
    let ran = fake.run(&["tutti", "node", "release", "--all"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.error.contains("2 nodes"), "{ran:?}");
    assert!(ran.error.contains("add --yes"), "{ran:?}");
    let commands = fake.asked().into_iter().filter(|it| it.what == RELEASE);
    assert_eq!(commands.count(), 0);
}

#[tokio::test]
async fn a_large_fleet_is_released_in_several_requests() {
    let (names, list) = connected(NODES_IN_REQUEST + 1);
    let reply = released(&["n0.example.com"]);
    let fake = Fake::start(vec![(CONNECTED, 200, list), (RELEASE, 200, reply)]).await;
    let ran = fake.run(&["tutti", "node", "release", "--all", "-y"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    let commands = fake.asked().into_iter().filter(|it| it.what == RELEASE);
    let sent: Vec<Value> = commands.map(|it| it.body["nodes"].clone()).collect();
    let (first, last) = names.split_at(NODES_IN_REQUEST);
    assert_eq!(sent, [json!(first), json!(last)]);
}
