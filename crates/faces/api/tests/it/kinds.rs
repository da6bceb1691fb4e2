//! Every kind of error that clients of Puppet Enterprise's orchestrator handle, each in a test.

use http::StatusCode;
use jobs::NodeResolveError;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::deploys::knowing;
use crate::world::{Reply, World};

const V1: &str = "/orchestrator/v1";

async fn command(world: &World, name: &str, body: Value) -> Reply {
    world
        .post(&format!("{V1}/command/{name}"), body.to_string())
        .await
}

fn is(reply: &Reply, status: u16, kind: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert_eq!(reply.kind(), kind);
}

fn ours(reply: &Reply, status: u16, kind: &str) {
    is(reply, status, &format!("puppetlabs.orchestrator/{kind}"));
}

fn task(scope: Value) -> Value {
    json!({"task": "test", "params": {}, "scope": scope})
}

#[tokio::test]
async fn kind_validation_error() {
    let world = World::new().await;
    let reply = command(
        &world,
        "task",
        json!({"task": 1, "scope": {"nodes": ["a"]}}),
    )
    .await;
    ours(&reply, 400, "validation-error");
    assert_eq!(reply.json()["details"]["path"], "task");
}

#[tokio::test]
async fn kind_unknown_job() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/jobs/7")).await;
    ours(&reply, 404, "unknown-job");
    assert_eq!(reply.json()["details"], json!({"job": "7"}));
}

#[tokio::test]
async fn kind_unknown_environment() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/environments/nowhere")).await;
    ours(&reply, 404, "unknown-environment");
    assert_eq!(reply.json()["details"], json!({"environment": "nowhere"}));
}

#[tokio::test]
async fn kind_unknown_plan() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/plans/app/deploy")).await;
    ours(&reply, 404, "unknown-plan");
    assert_eq!(reply.json()["details"]["plan"], "app::deploy");
}

#[tokio::test]
async fn kind_unknown_task() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/tasks/app/deploy")).await;
    ours(&reply, 404, "unknown-task");
    assert_eq!(reply.json()["details"]["task"], "app::deploy");
}

#[tokio::test]
async fn kind_unknown_task_target() {
    let world = World::new().await;
    let reply = world.get(&format!("{V1}/scopes/task_targets/9")).await;
    ours(&reply, 404, "unknown-task-target");
}

#[tokio::test]
async fn kind_empty_environment() {
    let world = knowing(Ok(&[])).await;
    let body = json!({"environment": "production", "scope": {"whole_environment": true}});
    let reply = command(&world, "deploy", body).await;
    ours(&reply, 400, "empty-environment");
}

#[tokio::test]
async fn kind_empty_target() {
    let world = knowing(Ok(&[])).await;
    for scope in [json!({"nodes": []}), json!({"query": "nodes{}"})] {
        ours(
            &command(&world, "task", task(scope)).await,
            400,
            "empty-target",
        );
    }
}

#[tokio::test]
async fn kind_puppetdb_error() {
    let world = knowing(Err(NodeResolveError::Unreachable("gone".to_owned()))).await;
    let reply = command(&world, "task", task(json!({"query": "nodes{}"}))).await;
    ours(&reply, 400, "puppetdb-error");
}

#[tokio::test]
async fn kind_query_error() {
    let world = knowing(Err(NodeResolveError::Query("not PQL".to_owned()))).await;
    let reply = command(&world, "task", task(json!({"query": "nodes{"}))).await;
    ours(&reply, 400, "query-error");
}

#[tokio::test]
async fn kind_not_permitted() {
    let mut world = World::new().await;
    let spec = rbac::UserSpec {
        login: "fred".to_owned(),
        display_name: "Fred".to_owned(),
        password: Some("a good password".into()),
        ..rbac::UserSpec::default()
    };
    let access = &world.state.access;
    let api_user = access.api_user();
    access.create_user(&api_user, spec).await.expect("made");
    let password = "a good password".into();
    let token = access.login("fred", password, Default::default(), None);
    let token = Box::pin(token).await;
    let token = secrecy::ExposeSecret::expose_secret(&token.expect("a token")).to_owned();
    world.token = token;
    let reply = command(&world, "task", task(json!({"nodes": ["a"]}))).await;
    ours(&reply, 403, "not-permitted");
}

#[tokio::test]
async fn kind_invalid_time() {
    let world = World::new().await;
    let mut body = task(json!({"nodes": ["a"]}));
    body["environment"] = json!("production");
    body["scheduled_time"] = json!("2001-01-01T00:00:00Z");
    ours(
        &command(&world, "schedule_task", body).await,
        400,
        "invalid-time",
    );
}

#[tokio::test]
async fn kind_disabled_scheduled_job() {
    let world = World::new().await;
    let mut body = task(json!({"nodes": ["a"]}));
    body["environment"] = json!("production");
    body["scheduled_time"] = json!("2100-01-01T00:00:00Z");
    let made = command(&world, "schedule_task", body).await;
    assert_eq!(made.status, StatusCode::ACCEPTED, "{}", made.text());
    let path = format!("{V1}/scheduled_jobs/environment_jobs/1");
    let put = |body: Value| world.send(world.request("PUT", &path, body.to_string()));
    assert!(put(json!({"enabled": false})).await.status.is_success());
    let reply = put(json!({"description": "x"})).await;
    ours(&reply, 400, "disabled-scheduled-job");
}

#[tokio::test]
async fn kind_mismatched_job_event_id() {
    let world = World::new().await;
    let started = command(&world, "plan_start", json!({"plan_name": "app"})).await;
    assert!(started.status.is_success());
    let reply = world.get(&format!("{V1}/plan_jobs/1/event/9")).await;
    ours(&reply, 404, "mismatched-job-event-id");
    assert_eq!(
        reply.json()["details"],
        json!({"plan_job": "1", "event": "9"})
    );
}

#[tokio::test]
async fn kind_plan_already_finished() {
    let world = World::new().await;
    command(&world, "plan_start", json!({"plan_name": "app"})).await;
    command(&world, "stop_plan", json!({"plan_job": "1"})).await;
    let mut body = task(json!({"nodes": ["a"]}));
    body["plan_job"] = json!("1");
    let reply = command(&world, "plan_task", body).await;
    ours(&reply, 409, "plan-already-finished");
}

#[tokio::test]
async fn kind_unknown_error() {
    let world = World::new().await;
    world.store.close().await;
    ours(
        &world.get(&format!("{V1}/jobs")).await,
        500,
        "unknown-error",
    );
}

#[tokio::test]
async fn kind_execution_failure() {
    let world = World::new().await;
    let job = world.run(&["nobody".to_owned()]).await;
    world.over(&job).await;
    let nodes = world.ok(&format!("{V1}/jobs/{job}/nodes")).await;
    let node = &nodes["items"][0];
    assert_eq!(node["state"], "errored");
    let error = &node["result"]["_error"];
    assert_eq!(error["kind"], "puppetlabs.orchestrator/execution-failure");
    assert!(error["details"].is_object() && error["msg"].is_string());
}

#[tokio::test]
async fn kind_task_error() {
    let world = World::new().await;
    let result = pxp::action::ActionResult {
        exitcode: 3,
        ..Default::default()
    };
    let failing = Manner {
        result,
        ..Manner::default()
    };
    let nodes = world.nodes(1, &failing);
    let job = world.run(&nodes).await;
    world.over(&job).await;
    let nodes = world.ok(&format!("{V1}/jobs/{job}/nodes")).await;
    let error = &nodes["items"][0]["result"]["_error"];
    assert_eq!(error["kind"], "puppetlabs.tasks/task-error");
    assert_eq!(error["details"]["exit_code"], 3);
}

#[tokio::test]
async fn kind_user_unauthenticated() {
    let mut world = World::new().await;
    world.token = "wrong".to_owned();
    let reply = world.get(&format!("{V1}/jobs")).await;
    is(&reply, 401, "puppetlabs.rbac/user-unauthenticated");
}

/// Errors that occur before a handler is called are JSON, too.
#[tokio::test]
async fn kind_of_what_is_no_route() {
    let world = World::new().await;
    ours(
        &world.get("/orchestrator/v1/nothing").await,
        404,
        "not-found",
    );
    ours(&world.get("/").await, 404, "not-found");
    let reply = world
        .send(world.request("PATCH", &format!("{V1}/jobs"), ""))
        .await;
    ours(&reply, 405, "method-not-allowed");
}
