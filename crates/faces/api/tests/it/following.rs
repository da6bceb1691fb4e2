//! The listener of a server that follows another one.

use api::follower_status_router;
use axum::body::Body;
use file_sync::{FollowedVersion, FollowerStatus, LeaseKnowledge};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt as _;

const CLIENT: &str = "/status/v1/services/file-sync-client-service";
const SIMPLE: &str = "/status/v1/simple/file-sync-client-service";

struct World {
    follower: watch::Sender<FollowerStatus>,
}

impl World {
    fn new() -> Self {
        Self {
            follower: watch::Sender::default(),
        }
    }

    async fn send(&self, request: http::request::Builder) -> (u16, String) {
        let router = follower_status_router("1.2.3".to_owned(), self.follower.subscribe());
        let request = request.body(Body::empty()).expect("a request");
        let reply = router.oneshot(request).await.expect("a reply");
        let status = reply.status().as_u16();
        let body = axum::body::to_bytes(reply.into_body(), 1 << 20).await;
        let body = body.expect("a body");
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.send(Request::get(path)).await
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).await.1).expect("JSON")
    }

    /// Checks the responses for load balancers, and the detailed status.
    async fn is(&self, status: StatusCode, state: &str, sync: &str) {
        let expected = (status.as_u16(), state.to_owned());
        assert_eq!(self.get("/status/v1/simple").await, expected);
        assert_eq!(self.get(SIMPLE).await, expected);
        for path in [CLIENT, "/status/v1/services"] {
            assert_eq!(self.get(path).await.0, expected.0, "{path}");
        }
        let shown = self.json(CLIENT).await;
        assert_eq!(
            (&shown["state"], &shown["status"]["status"]),
            (&json!(state), &json!(sync))
        );
    }

    fn set(&self, knows: LeaseKnowledge, production: FollowedVersion) {
        let environments = [("production".parse().expect("a name"), production)];
        self.follower.send_replace(FollowerStatus {
            heard_ms: Some(1_700_000_000_000),
            knowledge: knows,
            environments: environments.into(),
        });
    }
}

fn live() -> FollowedVersion {
    FollowedVersion {
        generation: 7,
        live: Some("a".repeat(40).parse().expect("a signature")),
        ..FollowedVersion::default()
    }
}

fn behind(cause: Option<&str>) -> FollowedVersion {
    FollowedVersion {
        is_behind: true,
        cause: cause.map(str::to_owned),
        ..live()
    }
}

#[tokio::test]
async fn load_balancers_are_told_whether_it_has_what_is_live() {
    let world = World::new();
    let (ok, unavailable) = (StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE);
    world.is(unavailable, "unknown", "new-commits").await;
    world.set(LeaseKnowledge::Unknown, live());
    world.is(unavailable, "unknown", "new-commits").await;
    world.set(LeaseKnowledge::Current, live());
    world.is(ok, "running", "ok").await;
    // All followers are in this state for a moment at each deployment.
    world.set(LeaseKnowledge::Current, behind(None));
    world.is(ok, "running", "new-commits").await;
    world.set(LeaseKnowledge::Current, behind(Some("its disk is full")));
    world.is(unavailable, "error", "error").await;
    world.set(LeaseKnowledge::Expired, live());
    world.is(unavailable, "error", "error").await;
    let status = world.get("/status/v1/simple/status-service").await;
    assert_eq!(status, (200, "running".to_owned()), "it answers");
}

#[tokio::test]
async fn names_are_told_to_who_asks_for_them_in_puppet_enterprises_form() {
    let world = World::new();
    world.set(LeaseKnowledge::Current, behind(Some("its disk is full")));
    let commit = world.json(CLIENT).await["status"]["latest_commit"].clone();
    assert_eq!(commit["commit"].as_str().map(str::len), Some(40));
    let brief = json!({
        "service_version": "1.2.3", "service_status_version": 1, "detail_level": "info",
        "state": "error", "active_alerts": [],
        "status": {
            "status": "error", "latest_commit": commit,
            "last_check_in_time": "2023-11-14T22:13:20Z",
        },
    });
    assert_eq!(world.json(CLIENT).await, brief);
    let all = world.json("/status/v1/services?level=debug").await;
    let services = all.as_object().expect("an object").keys();
    let services: Vec<&String> = services.collect();
    assert_eq!(services, ["file-sync-client-service", "status-service"]);
    let repository = json!({
        "status": "error", "latest_commit": commit,
        "submodules": {"production": {
            "status": "error", "cause": "its disk is full", "generation": 7,
            "latest_commit": {"commit": "a".repeat(40)},
        }},
    });
    let shown = &all["file-sync-client-service"]["status"]["repos"];
    assert_eq!(*shown, json!({"puppet-code": repository}));
    let critical = world.json(&format!("{CLIENT}?level=critical")).await;
    assert_eq!(
        (&critical["status"], &critical["state"]),
        (&json!({}), &json!("error"))
    );
}

#[tokio::test]
async fn it_answers_nothing_else() {
    let world = World::new();
    for (path, status, kind) in [
        ("/", 404, "puppetlabs.orchestrator/not-found"),
        (
            "/file-sync/v1/latest-commits",
            404,
            "puppetlabs.orchestrator/not-found",
        ),
        (
            "/status/v1/services/%00",
            404,
            "puppetlabs.orchestrator/unknown-service",
        ),
        (
            "/status/v1/simple/%FF",
            400,
            "puppetlabs.orchestrator/validation-error",
        ),
        (
            "/status/v1/services?level=all",
            400,
            "puppetlabs.orchestrator/validation-error",
        ),
        (
            "/status/v1/services?else=1",
            400,
            "puppetlabs.orchestrator/validation-error",
        ),
    ] {
        let (told, body) = world.get(path).await;
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(
            (told, &body["kind"]),
            (status, &json!(kind)),
            "{path}: {body}"
        );
    }
    let (told, _) = world.send(Request::post(CLIENT)).await;
    assert_eq!(told, 405);
}
