//! Invalid requests are refused with the place of the error, as JSON, and change nothing.

use std::net::SocketAddr;

use api_types::routes;
use axum::extract::ConnectInfo;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

const VALIDATION: &str = "puppetlabs.orchestrator/validation-error";

async fn run(world: &World, body: Value) -> Reply {
    world
        .post("/orchestrator/v1/command/task", body.to_string())
        .await
}

#[tokio::test]
async fn what_is_not_there_is_a_404_with_a_body() {
    let world = World::new().await;
    for (path, kind) in [
        ("/", "not-found"),
        ("/orchestrator/v2/jobs", "not-found"),
        ("/orchestrator/v1/jobs/1/nodes/extra", "not-found"),
        ("/orchestrator/v1/jobs/7", "unknown-job"),
        ("/orchestrator/v1/jobs/7/nodes", "unknown-job"),
        ("/orchestrator/v1/jobs/7/report", "unknown-job"),
        ("/orchestrator/v1/jobs/7/events", "unknown-job"),
        ("/orchestrator/v1/events/stream?job=7", "unknown-job"),
        (
            "/orchestrator/v1/tasks?environment=none",
            "unknown-environment",
        ),
        ("/orchestrator/v1/tasks/none/init", "unknown-task"),
        ("/orchestrator/v1/tasks/none/init/permitted", "unknown-task"),
    ] {
        let reply = world.get(path).await;
        assert_eq!(
            reply.status,
            StatusCode::NOT_FOUND,
            "{path}: {}",
            reply.text()
        );
        assert_eq!(
            reply.kind(),
            format!("puppetlabs.orchestrator/{kind}"),
            "{path}"
        );
    }
    let stop = world
        .post("/orchestrator/v1/command/stop", r#"{"job":"7"}"#)
        .await;
    assert_eq!(stop.kind(), "puppetlabs.orchestrator/unknown-job");
    assert_eq!(stop.json()["details"], json!({"job": "7"}));
    let environment = world
        .get("/orchestrator/v1/tasks?environment=none")
        .await
        .json();
    assert_eq!(environment["details"], json!({"environment": "none"}));
    // The error names the searched directory, for users who compare it with that of a puppetserver.
    let msg = environment["msg"].as_str().unwrap();
    assert!(msg.contains("/environments"), "{msg}");
}

#[tokio::test]
async fn a_wrong_method_is_a_405_that_names_the_right_ones() {
    let world = World::new().await;
    let mut seen = 0;
    for route in routes::ALL.iter().filter(|route| !route.path.contains('{')) {
        let request = world.request("PATCH", route.path, "");
        let reply = world.send(request).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{route:?}");
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/method-not-allowed");
        let allowed = reply.headers[header::ALLOW].to_str().unwrap();
        assert!(
            allowed.contains(&route.method.to_string()),
            "{route:?}: {allowed}"
        );
        seen += 1;
    }
    assert!(seen > 10);
}

#[tokio::test]
async fn bad_bodies_of_commands() {
    let world = World::new().await;
    let good = json!({"task": "test", "scope": {"nodes": ["a"]}});
    let with = |key: &str, value: Value| {
        let mut body = good.clone();
        body[key] = value;
        body
    };
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    for (body, path) in [
        (with("unknown", json!(1)), "."),
        (with("task", json!(1)), "task"),
        (with("task", json!("../../etc/passwd")), "task"),
        (with("task", json!("test\0")), "task"),
        (with("task", json!("Test")), "task"),
        (with("environment", json!("../production")), "environment"),
        (with("environment", json!("")), "environment"),
        (with("environment", json!("pro\0duction")), "environment"),
        (with("params", json!([])), "params"),
        (with("params", json!({"no_such": 1, "deep": deep})), ""),
        (with("noop", json!("true")), "noop"),
        (with("noop", json!(true)), "noop"),
        (with("timeout", json!("5")), "timeout"),
        (with("concurrency", json!(0)), "concurrency"),
        (with("batch", json!(0)), "batch"),
        (with("batch", json!("1,x")), "batch"),
        (with("batch", json!(["1", {}])), "batch[1]"),
        (
            with("pause_between_batches", json!(60)),
            "pause_between_batches",
        ),
        (
            with("pause_between_batches", json!("5m")),
            "pause_between_batches",
        ),
        (with("max_failures", json!("101%")), "max_failures"),
        (with("max_failures", json!(-1)), "max_failures"),
        (with("splay", json!(0)), "splay"),
        (with("splay", json!("28m")), "splay"),
        (
            with("targets", json!([{"hostnames": ["a"], "transport": "ssh"}])),
            "targets",
        ),
        (with("scope", json!({})), "scope"),
        (
            with("scope", json!({"nodes": ["a"], "query": "nodes{}"})),
            "scope",
        ),
        (with("scope", json!({"nodes": "a"})), "scope.nodes"),
        (with("scope", json!({"nodes": ["a", ""]})), "scope.nodes[1]"),
        (with("scope", json!({"nodes": ["../a"]})), "scope.nodes[0]"),
        (with("scope", json!({"nodes": ["a\0"]})), "scope.nodes[0]"),
        (
            with("scope", json!({"nodes": ["x".repeat(5_000)]})),
            "scope.nodes[0]",
        ),
        (
            with("scope", json!({"node_group": "x"})),
            "scope.node_group",
        ),
    ] {
        let reply = run(&world, body.clone()).await;
        if path.is_empty() {
            // A task without parameters in its metadata accepts any, but no agent is connected.
            continue;
        }
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{path}: {}",
            reply.text()
        );
        assert_eq!(reply.kind(), VALIDATION);
        let told = reply.json()["details"]["path"].clone();
        let told = told.as_str().unwrap_or_default();
        assert!(
            told.contains(path) || path == ".",
            "{path}: {}",
            reply.text()
        );
    }
    assert_eq!(
        world.ok("/orchestrator/v1/jobs").await["pagination"]["total"],
        1
    );
}

#[tokio::test]
async fn bodies_that_are_no_json() {
    let world = World::new().await;
    let bodies: [&[u8]; 6] = [
        b"",
        b"  ",
        b"{",
        b"{\"task\": \"\xff\xfe\"}",
        b"[]",
        b"{\"task\":\"a\"} trailing",
    ];
    for body in bodies {
        for path in ["command/task", "command/stop", "command/ping", "inventory"] {
            let reply = world
                .post(&format!("/orchestrator/v1/{path}"), body.to_vec())
                .await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{path} {body:?}");
            assert_eq!(reply.kind(), VALIDATION, "{path} {body:?}");
        }
    }
    let reply = world
        .post("/orchestrator/v1/command/task", "{\n  \"task\": nope}")
        .await;
    assert_eq!(reply.json()["details"]["line"], 2);
    let deep = format!(r#"{{"task":"test","params":{}"#, "{\"a\":".repeat(100_000));
    let reply = world.post("/orchestrator/v1/command/task", deep).await;
    assert!(
        reply.json()["msg"]
            .as_str()
            .unwrap()
            .contains("more than 127 levels")
    );
}

#[tokio::test]
async fn kinds_that_clients_branch_on() {
    let world = World::new().await;
    for (body, status, kind) in [
        (
            json!({"task": "none", "scope": {"nodes": ["a"]}}),
            404,
            "unknown-task",
        ),
        (
            json!({"task": "test", "environment": "none", "scope": {"nodes": ["a"]}}),
            404,
            "unknown-environment",
        ),
        (
            json!({"task": "test", "scope": {"nodes": []}}),
            400,
            "empty-target",
        ),
        (
            json!({"task": "test", "scope": {"query": "nodes{}"}}),
            400,
            "query-error",
        ),
    ] {
        let reply = run(&world, body).await;
        assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
        assert_eq!(reply.kind(), format!("puppetlabs.orchestrator/{kind}"));
    }
}

#[tokio::test]
async fn wrong_parameters_are_all_named_and_never_quoted() {
    let world = World::new().await;
    let params = json!({"password": ["canary"], "extra": "canary"});
    let body = json!({"task": "test::typed", "params": params, "scope": {"nodes": ["a"]}});
    let reply = run(&world, body).await;
    assert_eq!(reply.kind(), VALIDATION);
    let problems = reply.json()["details"]["params"].as_array().unwrap().len();
    assert_eq!(
        problems,
        3,
        "name is missing, password and extra are wrong: {}",
        reply.text()
    );
    assert!(!reply.text().contains("canary"), "{}", reply.text());
}

#[tokio::test]
async fn too_large_is_a_413_before_it_is_read() {
    let world = World::new().await;
    let announced = |path: &str, bytes: u64| {
        let mut request = world.request("POST", path, "{}");
        request
            .headers_mut()
            .insert(header::CONTENT_LENGTH, bytes.into());
        world.send(request)
    };
    let mebibyte = 1024 * 1024;
    for (path, limit) in [
        ("/orchestrator/v1/command/task", 64 * mebibyte),
        ("/orchestrator/v1/inventory", mebibyte),
        ("/rbac-api/v1/auth/token", 16 * 1024),
    ] {
        let reply = announced(path, limit + 1).await;
        assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/request-too-large");
        assert_eq!(reply.json()["details"]["max_bytes"], limit);
    }
    // Without `Content-Length` the bytes are counted.
    let body = vec![b' '; 1024 * 1024 + 1];
    let mut request = world.request("POST", "/orchestrator/v1/inventory", body);
    request.headers_mut().remove(header::CONTENT_LENGTH);
    assert_eq!(
        world.send(request).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}

#[tokio::test]
async fn a_catalog_of_many_megabytes_goes_through() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let catalog = "x".repeat(20 * 1024 * 1024);
    let body = json!({"task": "test", "params": {"catalog": catalog}, "scope": {"nodes": nodes}});
    assert_eq!(run(&world, body).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn bad_ids_queries_and_names_in_paths() {
    let world = World::new().await;
    for path in [
        "/orchestrator/v1/jobs/abc",
        "/orchestrator/v1/jobs/0",
        "/orchestrator/v1/jobs/-1",
        "/orchestrator/v1/jobs/1.0",
        "/orchestrator/v1/jobs/99999999999999999999",
        "/orchestrator/v1/jobs/%00",
        "/orchestrator/v1/jobs/%ff",
        "/orchestrator/v1/jobs/..%2f..%2fetc",
        "/orchestrator/v1/jobs/abc/nodes",
        "/orchestrator/v1/jobs?limit=many",
        "/orchestrator/v1/jobs?order_by=age",
        "/orchestrator/v1/jobs?colour=red",
        "/orchestrator/v1/jobs?limit=1&limit=2",
        "/orchestrator/v1/events/stream?job=x",
        "/orchestrator/v1/tasks/Test/init",
        "/orchestrator/v1/tasks/..%2f..%2fetc/passwd",
        "/orchestrator/v1/tasks/test/init%00",
        "/orchestrator/v1/tasks?environment=..%2fproduction",
        "/orchestrator/v1/inventory/..%2fa",
        "/orchestrator/v1/inventory/a%00",
        "/orchestrator/v1/inventory/%c3%28",
    ] {
        let reply = world.get(path).await;
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{path}: {}",
            reply.text()
        );
        assert_eq!(reply.kind(), VALIDATION, "{path}");
    }
}

#[tokio::test]
async fn a_host_header_that_is_none_is_refused() {
    let world = World::new().await;
    for host in ["evil\"><script>", "user@host", "a b", "host/path"] {
        let mut request = world.request("GET", "/orchestrator", "");
        request
            .headers_mut()
            .insert(header::HOST, host.parse().unwrap());
        let reply = world.send(request).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{host}");
        assert_eq!(reply.kind(), VALIDATION);
    }
}

#[tokio::test]
async fn the_content_type_does_not_matter() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let body = json!({"task": "test", "scope": {"nodes": nodes}}).to_string();
    for content_type in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let mut request = world.request("POST", "/orchestrator/v1/command/task", body.clone());
        if let Some(content_type) = content_type {
            request
                .headers_mut()
                .insert(header::CONTENT_TYPE, content_type.parse().unwrap());
        }
        assert_eq!(world.send(request).await.status, StatusCode::ACCEPTED);
    }
    let mut get = world.request("GET", "/orchestrator/v1/jobs", "");
    get.headers_mut()
        .insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    assert_eq!(world.send(get).await.status, StatusCode::OK);
}

#[tokio::test]
async fn bad_logins() {
    let world = World::new().await;
    let login = |body: Value| {
        let request = Request::post("/rbac-api/v1/auth/token").body(body.to_string().into());
        world.send(request.unwrap())
    };
    let wrong = login(json!({"login": "admin", "password": "x"})).await;
    let unknown = login(json!({"login": "nobody", "password": "x"})).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.kind(), "puppetlabs.rbac/user-unauthenticated");
    assert_eq!(wrong.body, unknown.body);
    let password = world.password();
    for (key, value) in [("lifetime", "4w"), ("lifetime", "11y"), ("label", "a,b")] {
        let reply = login(json!({"login": "admin", "password": password, key: value})).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{key} {value}");
        assert_eq!(reply.json()["details"]["path"], key);
    }
    let missing = login(json!({"login": "admin"})).await;
    assert_eq!(missing.kind(), VALIDATION);
    for _ in 0..rbac::defaults::FAILED_LOGINS {
        login(json!({"login": "admin", "password": "x"})).await;
    }
    let locked = login(json!({"login": "admin", "password": password})).await;
    assert_eq!(locked.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(locked.headers.contains_key(header::RETRY_AFTER));
    assert!(
        locked.json()["details"]["retry_after_seconds"]
            .as_u64()
            .unwrap()
            > 0
    );
}

#[tokio::test]
async fn bad_logins_lock_the_address_that_they_come_from() {
    let world = World::new().await;
    let login = |address: [u8; 4], password: &str| {
        let body = json!({"login": "admin", "password": password});
        let mut request = Request::post("/rbac-api/v1/auth/token")
            .body(body.to_string().into())
            .unwrap();
        let peer = ConnectInfo(SocketAddr::from((address, 50_000)));
        request.extensions_mut().insert(peer);
        world.send(request)
    };
    for _ in 0..rbac::defaults::FAILED_LOGINS {
        login([192, 0, 2, 1], "x").await;
    }
    let password = world.password();
    let attacker = login([192, 0, 2, 1], &password).await;
    assert_eq!(attacker.status, StatusCode::TOO_MANY_REQUESTS);
    let administrator = login([192, 0, 2, 2], &password).await;
    assert_eq!(administrator.status, StatusCode::OK);
}

#[tokio::test]
async fn the_servers_own_failure_tells_no_details() {
    let world = World::new().await;
    let path = "/status/v1/services";
    assert_eq!(world.get(path).await.status, StatusCode::OK);
    world.store.close().await;
    let reply = world.get("/orchestrator/v1/jobs").await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/unknown-error");
    assert!(reply.text().contains("log"), "{}", reply.text());
}

#[tokio::test]
async fn a_server_that_shuts_down_says_so() {
    let world = World::new().await;
    world.state.jobs.shutdown().await;
    let reply = run(&world, json!({"task": "test", "scope": {"nodes": ["a"]}})).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/service-unavailable");
}
