//! Hostile input to every route, and responses that are harmless to a browser.

use api_types::{Method, Policy, routes};
use axum::body::Body;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::world::{Reply, World};

/// Ids escaped for a path: traversal, NUL, quotes, markup, bidi, long, large, negative.
const IDS: &[&str] = &[
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e",
    "a%00b",
    "%ff%fe",
    "%22%3e%3cscript%3e",
    "%e2%80%aegnp",
    "99999999999999999999999",
    "-1",
    "0",
    "1%20",
    "%0d%0aX-Evil:%201",
    "%f0%9f%92%a9",
];

fn bodies() -> Vec<String> {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long = "x".repeat(300_000);
    let mut bodies: Vec<String> = [
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!({}),
        json!({"job": 1, "plan_job": 1, "plan_name": 1, "task": 1, "scope": 1}),
        json!({"plan_job": "../1", "job": "../1", "status": "success"}),
        json!({"plan_name": "a\u{0}b", "task": "a\u{0}b", "scope": {"nodes": ["a\u{0}b"]}}),
        json!({"plan_name": "app", "params": {"x": {"value": deep.len()}}, "sensitive": [1]}),
        json!({"task": "../test", "scope": {"nodes": ["../a"]}, "plan_job": "1"}),
        json!({"plan_name": long, "plan_job": long, "job": long, "status": long}),
        json!({"scope": {"nodes": ["a"], "query": "x"}, "task": "test", "environment": "../x"}),
    ]
    .iter()
    .map(Value::to_string)
    .collect();
    bodies.extend(["{", "\u{feff}{}", "{\"a\":1}{\"b\":2}", "NaN"].map(str::to_owned));
    bodies.push(format!("{{\"plan_name\":\"app\",\"params\":{deep}}}"));
    bodies.push(format!(
        "{{\"plan_job\":\"1\",\"status\":\"success\",\"result\":{deep}}}"
    ));
    bodies
}

fn harmless(reply: &Reply, what: &str) {
    let headers = &reply.headers;
    let policy = headers[header::CONTENT_SECURITY_POLICY]
        .to_str()
        .expect("text");
    assert!(policy.contains("default-src 'none'"), "{what}: {policy}");
    assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{what}");
    assert!(!reply.status.is_redirection(), "{what}");
    assert!(!headers.contains_key(header::LOCATION), "{what}");
    assert!(!headers.contains_key("x-evil"), "{what}");
}

#[tokio::test]
async fn hostile_ids_are_refused_in_json_and_nothing_breaks() {
    let world = World::new().await;
    for route in routes::ALL {
        let under = route.path.starts_with("/orchestrator") && route.path.contains('{');
        if !under || route.method != Method::Get {
            continue;
        }
        for id in IDS {
            let part = |part: &str| match part.starts_with('{') {
                true => (*id).to_owned(),
                false => part.to_owned(),
            };
            let path: Vec<_> = route.path.split('/').map(part).collect();
            let reply = world.get(&path.join("/")).await;
            let what = format!("{route:?} {id}: {}", reply.text());
            assert!(!reply.status.is_server_error(), "{what}");
            harmless(&reply, &what);
            if !reply.status.is_success() {
                reply.kind();
            }
        }
    }
}

#[tokio::test]
async fn hostile_bodies_are_refused_in_json_and_nothing_breaks() {
    let world = World::new().await;
    let bodies = bodies();
    for route in routes::ALL {
        let plain = route.path.starts_with("/orchestrator") && !route.path.contains('{');
        if !plain || !route.reads_body() {
            continue;
        }
        for body in &bodies {
            let request = world.request(&route.method.to_string(), route.path, body.clone());
            let reply = world.send(request).await;
            let shown: String = body.chars().take(80).collect();
            let what = format!("{route:?} {shown}: {}", reply.text());
            assert!(!reply.status.is_server_error(), "{what}");
            harmless(&reply, &what);
            if !reply.status.is_success() {
                reply.kind();
            }
        }
    }
}

/// A14: text from nodes is returned as JSON that no browser renders as a page.
#[tokio::test]
async fn a14_output_that_is_markup_stays_data() {
    let world = World::new().await;
    let evil = "<script>alert(1)</script>\u{1b}[2J\u{202e}";
    let result = pxp::action::ActionResult {
        stdout: Some(evil.to_owned()),
        ..Default::default()
    };
    let nodes = world.nodes(
        1,
        &Manner {
            result,
            ..Manner::default()
        },
    );
    let job = world.run(&nodes).await;
    world.over(&job).await;
    for path in ["nodes", "events", "report"] {
        let reply = world
            .get(&format!("/orchestrator/v1/jobs/{job}/{path}"))
            .await;
        harmless(&reply, path);
        assert_eq!(reply.headers[header::CONTENT_TYPE], "application/json");
    }
    let nodes = world
        .ok(&format!("/orchestrator/v1/jobs/{job}/nodes"))
        .await;
    assert_eq!(nodes["items"][0]["result"]["_output"], evil);
}

/// A14: errors, unknown paths and public routes have the same headers.
#[tokio::test]
async fn a14_every_answer_tells_browsers_to_run_nothing() {
    let world = World::new().await;
    for path in [
        "/",
        "/nothing",
        "/orchestrator/v1/swagger.json",
        "/status/v1/simple",
        "/metrics",
    ] {
        for token in ["", &world.token] {
            let request = Request::get(path).header("X-Authentication", token);
            let reply = world.send(request.body(Body::empty()).expect("one")).await;
            harmless(&reply, path);
        }
    }
}

/// A15: no route of the orchestrator redirects any caller, so no client sends its token to another
/// server.
#[tokio::test]
async fn a15_no_answer_sends_a_client_elsewhere() {
    let world = World::new().await;
    for route in routes::ALL {
        if !route.path.starts_with("/orchestrator") || route.policy == Policy::Broker {
            continue;
        }
        for suffix in [
            "",
            "/",
            "//evil.example.com",
            "/../..",
            "?next=https://evil.example.com",
        ] {
            let path = format!("{}{suffix}", route.path.replace(['{', '}'], ""));
            let request = Request::builder()
                .method(route.method.to_string().as_str())
                .uri(path.as_str())
                .header(header::HOST, "evil.example.com");
            let reply = world.send(request.body(Body::empty()).expect("one")).await;
            harmless(&reply, &path);
            assert_ne!(reply.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        }
    }
}
