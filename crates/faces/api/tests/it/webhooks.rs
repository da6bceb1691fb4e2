//! `/tutti/v1/webhooks`: creation, display and refusals.

use api_types::{NewWebhook, Route};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::world::World;

const PLACE: &str = "/tutti/v1/webhooks";

/// A valid request for each route; `<webhook>` stands for the id of an existing one.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let one = "/tutti/v1/webhooks/<webhook>";
    Some(match route.operation_id {
        "webhooks" => (PLACE, String::new()),
        "webhook_create" => (PLACE, body().to_string()),
        "webhook" | "webhook_delete" => (one, String::new()),
        "webhook_edit" => (one, json!({"description": "x"}).to_string()),
        "webhook_test" => ("/tutti/v1/webhooks/<webhook>/test", String::new()),
        _ => return None,
    })
}

/// Creates the webhook that a sample refers to.
pub(crate) async fn filled(world: &World, path: String) -> String {
    if !path.contains("<webhook>") {
        return path;
    }
    // No program listens on this port.
    let new = NewWebhook {
        url: "http://127.0.0.1:1/".to_owned(),
        events: vec!["job_aborted".to_owned()],
        template: None,
        description: String::new(),
        secret: None,
    };
    let created = world.state.webhooks.create(new, "admin".to_owned()).await;
    path.replace("<webhook>", &created.expect("made").0.id)
}

fn body() -> Value {
    json!({"url": "https://ci.example.com/tutti", "events": ["job_finished"]})
}

#[tokio::test]
async fn a_key_is_shown_once_and_a_webhook_as_often_as_asked() {
    let world = World::new().await;
    let made = world.post(PLACE, body().to_string()).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let made = made.json();
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let one = format!("{PLACE}/{}", made["id"].as_str().unwrap());
    let shown = world.get(&one).await.json();
    let expected = json!({
        "id": made["id"], "url": "https://ci.example.com/tutti", "events": ["job_finished"],
        "template": "json", "description": "", "enabled": true, "created_by": "admin",
        "created_timestamp": made["created_timestamp"], "delivered": 0, "given_up": 0,
        "failing_since": null, "last_error": null,
    });
    assert_eq!(shown, expected);
    assert_eq!(world.get(PLACE).await.json(), json!({"items": [expected]}));

    let edit = json!({"enabled": false, "renew_secret": true});
    let edited = world
        .send(world.request("PUT", &one, edit.to_string()))
        .await
        .json();
    assert_eq!(edited["enabled"], false);
    assert_ne!(edited["secret"], made["secret"]);
    assert_eq!(
        world.send(world.request("DELETE", &one, "")).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(world.get(&one).await.kind(), "tutti/unknown-webhook");
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let world = World::new().await;
    for (key, value) in [
        ("url", json!("http://example.com/")),
        ("url", json!("https://user:secret@example.com/")),
        ("events", json!(["no_such"])),
        ("secret", json!("hunter2")),
        ("description", json!("x".repeat(1_001))),
        ("unheard", json!(1)),
    ] {
        let mut wrong = body();
        wrong[key] = value;
        let refused = world.post(PLACE, wrong.to_string()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{key}");
        let text = refused.json().to_string();
        assert!(text.contains(key), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let refused = world.get("/tutti/v1/webhooks/..%2f..").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_test_says_what_the_receiver_did() {
    let world = World::new().await;
    let path = filled(&world, format!("{PLACE}/<webhook>/test")).await;
    let told = world.post(&path, "").await.json();
    assert_eq!(told["delivered"], false);
    let error = told["error"].as_str().unwrap();
    assert!(error.contains("cannot be reached"), "{error}");
}
