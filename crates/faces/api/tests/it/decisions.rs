//! Behaviour of this server where the documentation of Puppet Enterprise is silent or contradicts
//! itself.

use http::StatusCode;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::task_rights::as_somebody;
use crate::world::{Reply, World};

const V1: &str = "/orchestrator/v1";

async fn command(world: &World, name: &str, body: Value) -> Reply {
    world
        .post(&format!("{V1}/command/{name}"), body.to_string())
        .await
}

async fn world_with_a_job() -> World {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    world
}

/// The duration of a job is text, that of a node or plan job a number; both can be parsed.
#[tokio::test]
async fn decision_1_durations() {
    let world = world_with_a_job().await;
    let job = world.ok(&format!("{V1}/jobs/1")).await;
    let text = job["duration"].as_str().expect("text");
    assert!(text.contains('.') && text.parse::<f64>().is_ok(), "{text}");
    let nodes = world.ok(&format!("{V1}/jobs/1/nodes")).await;
    assert!(nodes["items"][0]["duration"].is_f64(), "{nodes}");
    command(&world, "plan_start", json!({"plan_name": "app"})).await;
    let plan = world.ok(&format!("{V1}/plan_jobs/1")).await;
    assert!(plan["duration"].is_f64(), "{plan}");
    for duration in [json!("256.5"), json!(256.5)] {
        let mut other = job.clone();
        other["duration"] = duration;
        let read: api_types::Job = serde_json::from_value(other).expect("read");
        assert_eq!(read.duration, Some(256.5));
    }
}

/// `next-events` is the first event that was not returned; `start` is inclusive.
#[tokio::test]
async fn decision_2_next_events() {
    let world = world_with_a_job().await;
    let all = world.ok(&format!("{V1}/jobs/1/events")).await;
    let items = all["items"].as_array().expect("items");
    let last = items.last().expect("one")["id"].as_str().expect("text");
    let next = all["next-events"]["event"].as_str().expect("text");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    assert_eq!(number(next), number(last) + 1);
    let rest = world.ok(&format!("{V1}/jobs/1/events?start={next}")).await;
    assert_eq!(rest["items"], json!([]));
    assert_eq!(rest["next-events"], all["next-events"]);
    let again = world.ok(&format!("{V1}/jobs/1/events?start={last}")).await;
    assert_eq!(again["items"][0], items[items.len() - 1]);
}

#[tokio::test]
async fn decision_3_prefix_of_validation_errors() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/jobs/x")).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
}

#[tokio::test]
async fn decision_4_kinds_of_401_are_those_of_rbac() {
    let mut world = World::new().await;
    for token in ["", "x"] {
        world.token = token.to_owned();
        let reply = world.get(&format!("{V1}/jobs")).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
        assert_eq!(reply.kind(), "puppetlabs.rbac/user-unauthenticated");
    }
}

/// Without a scope, a Puppet run is for a whole environment, and needs its name.
#[tokio::test]
async fn decision_5_deploy_without_a_scope() {
    let world = crate::deploys::knowing(Ok(&["a"])).await;
    world.nodes(1, &crate::deploys::changed());
    let reply = command(&world, "deploy", json!({"environment": "production"})).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let body = json!({"environment": "", "enforce_environment": false});
    let reply = command(&world, "deploy", body).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
}

/// If no node is permitted, a task is refused; if some are, it runs there, and the others are
/// named.
#[tokio::test]
async fn decision_6_nodes_that_are_not_permitted() {
    let constrained = |target: &str| json!([{"object_type": "tasks", "action": "run_with_constraints", "instance": target}]);
    let world = as_somebody(constrained).await;
    let body = |nodes: &[&str]| json!({"task": "test", "params": {}, "scope": {"nodes": nodes}});
    let reply = command(&world, "task", body(&["d"])).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/not-permitted");
    let reply = command(&world, "task", body(&["a", "d"])).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(reply.json()["not_permitted"], json!(["d"]));
}

/// A job with skipped nodes has failed, unless it was stopped.
#[tokio::test]
async fn decision_7_a_job_with_skipped_nodes_has_failed() {
    let world = World::new().await;
    let held = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.nodes(2, &held);
    let body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}, "concurrency": 1});
    let reply = command(&world, "task", body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    command(&world, "stop", json!({"job": "1"})).await;
    world.agents.let_go();
    world.over("1").await;
    let job = world.ok(&format!("{V1}/jobs/1")).await;
    // A stopped job has its own state, and is not reported as finished either.
    assert_eq!(job["node_states"], json!({"finished": 1, "skipped": 1}));
    assert_eq!(job["state"], "stopped");
    assert_ne!(job["state"], "finished");
}

/// Refused commands use no job number.
#[tokio::test]
async fn decision_8_numbers_are_contiguous() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    for expected in 1..=5 {
        let refused = json!({"task": "none", "params": {}, "scope": {"nodes": nodes}});
        let reply = command(&world, "task", refused).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(world.run(&nodes).await, expected.to_string());
    }
}

/// The timeout of a node is that of the server's configuration unless the command has one; 0 is the
/// longest.
#[tokio::test]
async fn decision_9_timeouts() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    for (number, timeout, shown) in [
        ("1", Value::Null, Value::Null),
        ("2", json!(60), json!(60)),
        ("3", json!(0), json!(api_types::defaults::TIMEOUT_SECONDS)),
    ] {
        let mut body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}});
        if !timeout.is_null() {
            body["timeout"] = timeout;
        }
        let reply = command(&world, "task", body).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        let job = world.ok(&format!("{V1}/jobs/{number}")).await;
        assert_eq!(job["options"]["timeout"], shown);
    }
}

#[tokio::test]
async fn decision_10_noop_null_absent_and_false_are_the_same() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let mut jobs = Vec::new();
    for noop in [None, Some(Value::Null), Some(json!(false))] {
        let mut body = json!({"task": "test", "params": {}, "scope": {"nodes": nodes}});
        if let Some(noop) = noop {
            body["noop"] = noop;
        }
        let reply = command(&world, "task", body).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        let number = reply.json()["job"]["name"]
            .as_str()
            .expect("text")
            .to_owned();
        let job = world.ok(&format!("{V1}/jobs/{number}")).await;
        jobs.push(job["options"].clone());
    }
    assert_eq!(jobs[0]["noop"], false);
    assert!(jobs.iter().all(|options| *options == jobs[0]));
}
