//! Every route of the list with every kind of token. A route without a sample request here makes
//! these tests fail.

use api::ServerInfo;
use api_types::{Policy, Route, routes};
use http::{Request, StatusCode};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::{NewTokenRow, NewUserRow};

use crate::agents::Manner;
use crate::world::{Reply, World};

const FRED: &str = "00000000-0000-4000-8000-00000000f12d";

/// Routes that every token reaches, because the handler checks a permission for each part of the
/// change, or the current password.
pub(crate) const HANDLER_ASKS: &[&str] = &[
    "user_update",
    "user_group_update",
    "role_update",
    "user_password",
];

/// A request that is valid except for its token: path with query, and body.
fn sample(route: &Route) -> (&'static str, String) {
    if let Some(sample) = crate::rbac_samples::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::classifier::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::catalogs::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::schedules::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::query::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::connections::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::directories::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::code_manager::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::webhooks::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::run_reports::sample(route) {
        return sample;
    }
    if let Some(sample) = crate::certificates::sample(route) {
        return sample;
    }
    let body = match route.operation_id {
        "command_task" => json!({"task": "test", "scope": {"nodes": ["a"]}}),
        "command_action" => {
            json!({"type": "command", "params": {"command": "true"}, "scope": {"nodes": ["a"]}})
        }
        "command_deploy" => json!({"environment": "production", "scope": {"nodes": ["a"]}}),
        "command_converge" | "command_multi_pass" => {
            json!({"deploy": {"environment": "production", "scope": {"nodes": ["a"]}}})
        }
        "command_stop" => json!({"job": "1"}),
        "command_plan_start" => json!({"plan_name": "app::deploy"}),
        "command_plan_task" => {
            json!({"task": "test", "scope": {"nodes": ["a"]}, "plan_job": "<plan_job>"})
        }
        "command_plan_finish" => json!({"plan_job": "<plan_job>", "status": "success"}),
        "command_stop_plan" => json!({"plan_job": "<plan_job>"}),
        "command_plan_run" => json!({"plan_name": "test::rollout", "params": {"targets": "a"}}),
        "command_environment_plan_run" => {
            json!({"plan_name": "test::rollout", "params": {"targets": {"value": ["a"]}}})
        }
        "command_plan_resume" => json!({"plan_job": "<failed_plan>"}),
        "command_plan_answer" => {
            json!({"plan_job": "<asking_plan>", "step": "1", "answer": "yes"})
        }
        "command_ping"
        | "command_release_leases"
        | "leases"
        | "inventory_query"
        | "selected_nodes" => json!({"nodes": ["a"]}),
        "run_order" => json!({"scope": {"nodes": ["a"]}}),
        "auth_token" => json!({"login": "admin", "password": "<password>"}),
        "tokens_revoke" => json!({"revoke_tokens": ["<spare>"]}),
        _ => json!(null),
    };
    let path = match route.operation_id {
        "root" => "/orchestrator",
        "root_v1" => "/orchestrator/v1",
        "root_v1_slash" => "/orchestrator/v1/",
        "orchestrator_status" => "/orchestrator/v1/status",
        "openapi_document" => "/orchestrator/v1/swagger.json",
        "command_task" => "/orchestrator/v1/command/task",
        "command_action" => "/orchestrator/v1/command/action",
        "command_deploy" => "/orchestrator/v1/command/deploy",
        "command_converge" => "/orchestrator/v1/command/converge",
        "command_multi_pass" => "/orchestrator/v1/command/multi_pass",
        "command_stop" => "/orchestrator/v1/command/stop",
        "command_ping" => "/orchestrator/v1/command/ping",
        "command_release_leases" => "/orchestrator/v1/command/release_leases",
        "leases" => "/orchestrator/v1/leases",
        "command_plan_start" => "/orchestrator/v1/command/plan_start",
        "command_plan_task" => "/orchestrator/v1/command/plan_task",
        "command_plan_finish" => "/orchestrator/v1/command/plan_finish",
        "command_stop_plan" => "/orchestrator/v1/command/stop_plan",
        "command_plan_run" => "/orchestrator/v1/command/plan_run",
        "command_environment_plan_run" => "/orchestrator/v1/command/environment_plan_run",
        "command_plan_resume" => "/orchestrator/v1/command/plan_resume",
        "command_plan_answer" => "/orchestrator/v1/command/plan_answer",
        "plan_job_steps" => "/orchestrator/v1/plan_jobs/<plan_job>/steps",
        "code_environments" => "/orchestrator/v1/environments",
        "code_environment" => "/orchestrator/v1/environments/production",
        "applications" => "/orchestrator/v1/environments/production/applications",
        "instances" => "/orchestrator/v1/environments/production/instances",
        "run_order" => "/orchestrator/v1/environments/production/run_order",
        "usage" => "/orchestrator/v1/usage",
        "plans" => "/orchestrator/v1/plans",
        "plan" => "/orchestrator/v1/plans/app/deploy",
        "plan_jobs" => "/orchestrator/v1/plan_jobs",
        "plan_job" => "/orchestrator/v1/plan_jobs/<plan_job>",
        "plan_job_events" => "/orchestrator/v1/plan_jobs/<plan_job>/events",
        "plan_job_event" => "/orchestrator/v1/plan_jobs/<plan_job>/event/<plan_event>",
        "jobs" => "/orchestrator/v1/jobs",
        "job" => "/orchestrator/v1/jobs/1",
        "job_nodes" => "/orchestrator/v1/jobs/1/nodes",
        "job_report" => "/orchestrator/v1/jobs/1/report",
        "job_events" => "/orchestrator/v1/jobs/1/events",
        "events_stream" => "/orchestrator/v1/events/stream?job=1",
        "tasks" => "/orchestrator/v1/tasks",
        "task" => "/orchestrator/v1/tasks/test/init",
        "task_permitted" => "/orchestrator/v1/tasks/test/init/permitted",
        "inventory" | "inventory_query" => "/orchestrator/v1/inventory",
        "inventory_node" => "/orchestrator/v1/inventory/a",
        "selected_nodes" => "/orchestrator/v1/selected_nodes",
        "auth_token" => "/rbac-api/v1/auth/token",
        "tokens_revoke" => "/rbac-api/v2/tokens",
        "user_current" => "/rbac-api/v1/users/current",
        "services" => "/status/v1/services",
        "service" => "/status/v1/services/orchestrator-service",
        "simple" => "/status/v1/simple",
        "simple_service" => "/status/v1/simple/broker-service",
        "metrics" => "/metrics",
        "doctor" => "/tutti/v1/doctor",
        "activity_events_v1" => "/activity-api/v1/events",
        "activity_csv_v1" => "/activity-api/v1/events.csv",
        "activity_events_v2" => "/activity-api/v2/events",
        "activity_csv_v2" => "/activity-api/v2/events.csv",
        "audit_entries" => "/audit/v1/entries",
        "controller" => "/server",
        "controller_server" => "/server/server",
        other => panic!("the route {other} has no sample request: write one"),
    };
    (
        path,
        if body.is_null() {
            String::new()
        } else {
            body.to_string()
        },
    )
}

async fn world() -> World {
    let mut world = World::deploying().await;
    crate::certificates::with_samples(&mut world);
    crate::actions::write_shim(&world);
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    crate::classifier::check_in(&world).await;
    crate::classes::prepare(&world).await;
    crate::schedules::prepare(&world).await;
    world
}

/// Stores the token `text` of a user, in the form of the store.
pub(crate) async fn token(world: &World, text: &str, user_id: &str, expires_ms: i64) {
    let token = NewTokenRow {
        hash: Sha256::digest(text).into(),
        user_id: user_id.to_owned(),
        expires_ms: Some(expires_ms),
        ..NewTokenRow::default()
    };
    world.store.insert_token(token).await.expect("written");
}

pub(crate) async fn ask(world: &World, route: &Route, token: Option<&str>) -> Reply {
    let (path, body) = sample(route);
    let (path, body) = crate::rbac_samples::filled(world, path, body, token).await;
    let (path, body) = crate::plans::filled(world, path, body, token).await;
    let path = crate::webhooks::filled(world, path).await;
    let (path, body) = crate::directories::filled(world, path, body).await;
    let request = Request::builder()
        .method(route.method.to_string().as_str())
        .uri(path);
    let request = match token {
        Some(token) => request.header("X-Authentication", token),
        None => request,
    };
    world
        .send(request.body(body.into()).expect("a request"))
        .await
}

/// True if the route requires a token. That of webhooks does if there is no signature.
fn asks_for_a_token(route: &Route) -> bool {
    let policy = route.policy;
    matches!(policy, Policy::Authenticated | Policy::Permission { .. })
        || route
            .operation_id
            .starts_with(routes::CODE_WEBHOOK.operation_id)
}

/// True if the route requires a certificate, which no token replaces.
pub(crate) fn asks_for_a_certificate(route: &Route) -> bool {
    matches!(route.policy, Policy::Broker | Policy::Follower)
}

#[tokio::test]
async fn without_a_token_or_with_a_wrong_one_only_public_routes_answer() {
    let world = world().await;
    for route in routes::ALL {
        for token in [None, Some(""), Some("wrong"), Some("b\u{fc}")] {
            let reply = ask(&world, route, token).await;
            if asks_for_a_token(route) || asks_for_a_certificate(route) {
                assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{route:?}");
                assert_eq!(
                    reply.kind(),
                    "puppetlabs.rbac/user-unauthenticated",
                    "{route:?}"
                );
            } else {
                assert_eq!(
                    reply.status.as_u16(),
                    crate::plans::opened(route),
                    "{route:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_expired_token_is_told_so() {
    let world = world().await;
    let admin = world.store.user_by_login("admin").await.unwrap().unwrap();
    // Only just expired: a token that expired long ago would be deleted.
    let ended = jiff::Timestamp::now().as_millisecond() - 1;
    token(&world, "old", &admin.id, ended).await;
    for route in routes::ALL.iter().filter(|route| asks_for_a_token(route)) {
        let reply = ask(&world, route, Some("old")).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{route:?}");
        assert_eq!(reply.kind(), "puppetlabs.rbac/token-expired", "{route:?}");
    }
}

#[tokio::test]
async fn a_valid_token_opens_every_route() {
    let world = world().await;
    for route in routes::ALL {
        let reply = ask(&world, route, Some(&world.token)).await;
        if asks_for_a_certificate(route) {
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{route:?}");
            continue;
        }
        assert_eq!(
            reply.status.as_u16(),
            crate::plans::opened(route),
            "{route:?}: {}",
            reply.text()
        );
    }
}

#[tokio::test]
async fn who_lacks_a_permission_is_refused_by_exactly_the_routes_that_ask_for_one() {
    let world = world().await;
    let fred = NewUserRow {
        id: FRED.to_owned(),
        login: "fred".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        is_superuser: false,
        is_remote: false,
        created_ms: 0,
    };
    world.store.insert_user(fred).await.unwrap();
    token(&world, "freds", FRED, i64::MAX).await;
    for route in routes::ALL {
        let reply = ask(&world, route, Some("freds")).await;
        if let Policy::Permission {
            object_type,
            action,
        } = route.policy
        {
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{route:?}");
            let kind = match route.path.starts_with("/rbac-api/") {
                true => "puppetlabs.rbac/permission-denied",
                false => "puppetlabs.orchestrator/not-permitted",
            };
            assert_eq!(reply.kind(), kind, "{route:?}");
            let permission = &reply.json()["details"]["permission"];
            assert_eq!(*permission, format!("{object_type}:{action}"), "{route:?}");
        } else if asks_for_a_certificate(route) {
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{route:?}");
        } else if route.operation_id == routes::CODE_WEBHOOK_QUEUE.operation_id {
            // The handler checks the permission, because the secret of webhooks is enough, too.
            assert_eq!(reply.kind(), "puppetlabs.orchestrator/not-permitted");
        } else if HANDLER_ASKS.contains(&route.operation_id) {
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{route:?}");
            assert_eq!(
                reply.kind(),
                "puppetlabs.rbac/permission-denied",
                "{route:?}"
            );
        } else {
            assert_eq!(
                reply.status.as_u16(),
                crate::plans::opened(route),
                "{route:?}: {}",
                reply.text()
            );
        }
    }
    let list = ask(&world, &routes::TASKS, Some("freds")).await.json();
    assert_eq!(list["items"][0]["permitted"], false);
    let permitted = ask(&world, &routes::TASK_PERMITTED, Some("freds"))
        .await
        .json();
    assert_eq!(permitted, json!({"permitted": false}));
}

#[tokio::test]
async fn a_token_may_come_in_three_ways() {
    let world = world().await;
    let token = &world.token;
    let bearer = format!("Bearer {token}");
    let path = "/rbac-api/v1/users/current";
    let requests = [
        Request::get(path).header("x-authentication", token),
        Request::get(path).header("Authorization", &bearer),
        Request::get(format!("{path}?token={token}")),
    ];
    for request in requests {
        let reply = world.send(request.body(Default::default()).unwrap()).await;
        assert_eq!(reply.json()["login"], "admin");
    }
}

#[tokio::test]
async fn a_refused_request_changes_nothing_and_its_body_is_not_read() {
    let world = world().await;
    let reply = ask(&world, &routes::COMMAND_TASK, Some("wrong")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    // The body is not examined: it is not JSON, and too large.
    let request = Request::post("/orchestrator/v1/command/task")
        .header("content-length", "99999999999")
        .body("x".into())
        .unwrap();
    assert_eq!(world.send(request).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        world.ok("/orchestrator/v1/jobs").await["pagination"]["total"],
        1
    );
}

#[tokio::test]
async fn metrics_are_open_when_the_server_is_told_so() {
    let world = World::with(ServerInfo {
        metrics_open: true,
        ..ServerInfo::default()
    })
    .await;
    let request = || Request::get("/metrics").body(Default::default()).unwrap();
    let reply = world.send(request()).await;
    assert_eq!(reply.status, StatusCode::OK);
    let jobs = Request::get("/orchestrator/v1/jobs")
        .body(Default::default())
        .unwrap();
    assert_eq!(world.send(jobs).await.status, StatusCode::UNAUTHORIZED);
}
