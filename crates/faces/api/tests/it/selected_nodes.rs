//! `POST selected_nodes`, and near matches for names that do not exist.

use http::StatusCode;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

const PATH: &str = "/orchestrator/v1/selected_nodes";

/// Agents `a` and `b` are connected; `web1.example.com` and `web2.example.com` have reported facts.
async fn world() -> World {
    let world = World::new().await;
    world.nodes(2, &Manner::default());
    for name in ["web1.example.com", "web2.example.com"] {
        let certname: pcp::Certname = name.parse().expect("a certname");
        let record = inventory::NodeRecord {
            facts: std::sync::Arc::default(),
            trusted: std::sync::Arc::default(),
            environment: None,
            timestamp: jiff::Timestamp::now(),
        };
        let kept = world.state.inventory.record_facts(&certname, record).await;
        kept.expect("facts are kept");
    }
    world
}

async fn select(world: &World, nodes: &[&str]) -> Reply {
    world.post(PATH, json!({"nodes": nodes}).to_string()).await
}

async fn selected(world: &World, nodes: &[&str]) -> Value {
    let reply = select(world, nodes).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["nodes"].clone()
}

#[tokio::test]
async fn connected_nodes_and_nodes_of_the_inventory_are_selected() {
    let world = world().await;
    assert_eq!(
        selected(&world, &["a", "web2"]).await,
        json!(["a", "web2.example.com"])
    );
    assert_eq!(
        selected(&world, &["web*"]).await,
        json!(["web1.example.com", "web2.example.com"])
    );
    assert_eq!(
        selected(&world, &["/^(a|web1)/"]).await,
        json!(["a", "web1.example.com"])
    );
}

#[tokio::test]
async fn names_that_are_not_there_are_told_with_near_ones() {
    let world = world().await;
    let reply = select(&world, &["wbe1", "mail*"]).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert_eq!(reply.kind(), "tutti/unknown-node");
    let body = reply.json();
    assert_eq!(
        body["msg"],
        "no node is named `wbe1` (did you mean `web1.example.com`?); no node \
         matches `mail*`; 4 nodes are known here"
    );
    assert_eq!(
        body["details"]["problems"].as_array().map(Vec::len),
        Some(3)
    );
}

#[tokio::test]
async fn patterns_that_cannot_be_read_are_validation_errors() {
    let world = world().await;
    for text in ["/(/", "../x", "a\u{0}", "web[1", "ü*\u{0}["] {
        let reply = select(&world, &[text]).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{text:?}");
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    }
}

#[tokio::test]
async fn unknown_tasks_plans_and_environments_are_told_with_near_ones() {
    let world = world().await;
    let task = |name: &str, environment: &str| {
        json!({"task": name, "environment": environment, "scope": {"nodes": ["a"]}}).to_string()
    };
    let run = "/orchestrator/v1/command/task";
    let msg = |reply: Reply| reply.json()["msg"].as_str().expect("text").to_owned();
    assert_eq!(
        msg(world.post(run, task("test::tiped", "production")).await),
        "there is no task `test::tiped` in the environment `production` (did you mean \
         `test::typed`?); looked in its modules: test"
    );
    let told = msg(world.post(run, task("test", "prodution")).await);
    let searched =
        "/environments (did you mean `production`?); this server has the code of production";
    assert!(
        told.starts_with("there is no environment `prodution` in /") && told.ends_with(searched),
        "{told}"
    );
    assert_eq!(
        msg(world.get("/orchestrator/v1/tasks/test/hiden").await),
        "there is no task `test::hiden` in the environment `production`; looked in its modules: test",
        "a private task is no suggestion"
    );
    let plan = json!({"plan_name": "test::rolout"}).to_string();
    assert_eq!(
        msg(world.post("/orchestrator/v1/command/plan_run", plan).await),
        "there is no plan `test::rolout` in the environment `production` (did you mean \
         `test::rollout`?); looked in its modules: test"
    );
    let puppet = json!({"environment": "tset", "scope": {"nodes": ["a"]}}).to_string();
    let told = msg(world.post("/orchestrator/v1/command/deploy", puppet).await);
    assert!(
        told.starts_with("there is no environment `tset`")
            && told.ends_with("; this server has the code of production"),
        "{told}"
    );
}
