//! Slow bodies: the caller is authenticated again when the body has arrived, and other requests are
//! not delayed.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use http::{StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::agents::Manner;
use crate::world::World;

const TASK: &str = "/orchestrator/v1/command/task";

/// A body in two halves: the receiver signals that the first half was read, the sender releases the
/// second.
fn halves(text: &str) -> (Body, oneshot::Receiver<()>, oneshot::Sender<()>) {
    let (taken, is_taken) = oneshot::channel();
    let (go, goes) = oneshot::channel();
    let (first, second) = text.split_at(text.len() / 2);
    let [first, second] = [first, second].map(|half| Bytes::from(half.to_owned()));
    let first = stream::once(async { Ok::<_, Infallible>(first) });
    let second = stream::once(async {
        let _ = taken.send(());
        let _ = goes.await;
        Ok(second)
    });
    (Body::from_stream(first.chain(second)), is_taken, go)
}

/// Another token of the same user.
async fn token(world: &World) -> String {
    let password = SecretString::from(world.password());
    let login = world
        .state
        .access
        .login("admin", password, Default::default(), None);
    login.await.unwrap().expose_secret().to_owned()
}

async fn revoke(world: &World, token: &str) {
    let access = &world.state.access;
    let admin = access.authenticate(&world.token).await.unwrap();
    access.revoke_one(&admin, token).await.unwrap();
}

fn task(nodes: &[String]) -> Value {
    json!({"task": "test", "params": {}, "scope": {"nodes": nodes}})
}

#[tokio::test]
async fn who_is_revoked_while_his_body_comes_does_nothing() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    for (path, body) in [
        (TASK, task(&nodes)),
        ("/orchestrator/v1/inventory", json!({"nodes": nodes})),
        ("/orchestrator/v1/command/ping", json!({"nodes": nodes})),
        (
            "/orchestrator/v1/command/release_leases",
            json!({"nodes": nodes}),
        ),
        ("/orchestrator/v1/leases", json!({"nodes": nodes})),
        ("/classifier-api/v2/classified/nodes/a", json!({"fact": {}})),
    ] {
        let token = token(&world).await;
        let (body, taken, go) = halves(&body.to_string());
        let mut request = world.request("POST", path, body);
        let headers = request.headers_mut();
        headers.insert("X-Authentication", token.parse().unwrap());
        let revoked = async {
            taken.await.unwrap();
            revoke(&world, &token).await;
            go.send(()).unwrap();
        };
        let (reply, ()) = tokio::join!(world.send(request), revoked);
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(reply.kind(), "puppetlabs.rbac/token-revoked", "{path}");
    }
    assert_eq!(world.ok("/orchestrator/v1/jobs").await["items"], json!([]));
    world.state.audit.shutdown().await;
    let entries = world.store.audit_entries(1, 100).await.unwrap();
    assert!(!entries.is_empty(), "the refusal is told");
    let phases = entries.iter().map(|row| row.entry.phase.as_str());
    assert_eq!(phases.filter(|phase| *phase == "intent").count(), 0);
}

/// Such a body counts with the maximum size of a client, and is read twice: by the audit and by the
/// handler.
#[tokio::test]
async fn a_body_that_does_not_say_its_length_is_counted_once() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let (body, _, go) = halves(&task(&nodes).to_string());
    go.send(()).unwrap();
    let reply = world.post(TASK, body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
}

#[tokio::test]
async fn a_stalled_large_body_holds_up_no_small_one_and_ends_within_a_window() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let large = |body: Body| {
        let mut request = world.request("POST", TASK, body);
        let bytes = api::defaults::BODY_IDENTITY_BYTES.into();
        request.headers_mut().insert(header::CONTENT_LENGTH, bytes);
        request
    };
    let (body, taken, _never) = halves(&task(&nodes).to_string());
    let others = async {
        taken.await.unwrap();
        // The same user has no memory for another large body: it is refused before the first one
        // times out.
        let refused = world.send(large(Body::empty())).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(
            refused.kind(),
            "puppetlabs.orchestrator/service-unavailable"
        );
        assert!(refused.headers.contains_key(header::RETRY_AFTER));
        world.run(&nodes).await;
        token(&world).await;
    };
    let (reply, ()) = tokio::join!(world.send(large(body)), others);
    assert_eq!(
        reply.status,
        StatusCode::REQUEST_TIMEOUT,
        "{}",
        reply.text()
    );
    // The memory of the first body was released.
    let reply = world
        .send(large(Body::from(task(&nodes).to_string())))
        .await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
}

#[tokio::test]
async fn commands_that_name_little_take_little() {
    let world = World::new().await;
    for (path, limit) in [
        ("command/stop", api_types::defaults::BODY_BYTES),
        ("command/ping", api_types::defaults::NODES_BODY_BYTES),
        (
            "command/release_leases",
            api_types::defaults::NODES_BODY_BYTES,
        ),
        ("leases", api_types::defaults::NODES_BODY_BYTES),
        ("command/deploy", api_types::defaults::NODES_BODY_BYTES),
        ("command/converge", api_types::defaults::NODES_BODY_BYTES),
        ("command/multi_pass", api_types::defaults::NODES_BODY_BYTES),
    ] {
        let path = format!("/orchestrator/v1/{path}");
        let reply = world.post(&path, " ".repeat(limit + 1)).await;
        assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
    }
}
