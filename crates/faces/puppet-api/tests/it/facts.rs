//! Facts that nodes send without a request for a catalog.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::site::{Client, Site};

async fn put(client: &Client, path: &str, document: &Value) -> (StatusCode, String) {
    let request = client.request(Method::PUT, &format!("/puppet/v3/facts/{path}"));
    let request = request.header("content-type", "application/json");
    let answer = request.body(document.to_string()).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

fn facts(name: &str) -> Value {
    json!({"name": name, "values": {"kernel": "Linux", "trusted": {"certname": "other"}},
        "timestamp": "2026-11-28T03:08:29.299383440+00:00", "expiration": "2026-11-28T03:38:29+00:00"})
}

#[tokio::test]
async fn a_node_sends_its_facts() {
    let site = Site::start().await;
    let node = site.node("web1.example");
    let sent = put(
        &node,
        "web1.example?environment=dev",
        &facts("web1.example"),
    )
    .await;
    assert_eq!(sent.0, StatusCode::OK, "{}", sent.1);
    let certname = "web1.example".parse().unwrap();
    let known = site.inventory.facts(&certname).await.unwrap().unwrap();
    assert_eq!(json!(*known.facts), json!({"kernel": "Linux"}));
    assert_eq!(known.trusted["certname"], "web1.example");
    assert_eq!(known.trusted["domain"], "example");
    assert_eq!(known.environment.as_deref(), Some("dev"));
}

#[tokio::test]
async fn the_last_facts_count_whatever_the_clock_of_the_node_says() {
    let site = Site::start().await;
    let node = site.node("web1");
    let certname = "web1".parse().unwrap();
    let now = jiff::Timestamp::now();
    let hour = std::time::Duration::from_secs(3_600);
    let times = [now, now + hour, now - hour, now - 30 * 24 * hour];
    for (index, time) in times.into_iter().enumerate() {
        let document =
            json!({"name": "web1", "values": {"run": index}, "timestamp": time.to_string()});
        let (status, body) = put(&node, "web1", &document).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let known = site.inventory.facts(&certname).await.unwrap().unwrap();
        assert_eq!(json!(*known.facts), json!({"run": index}), "{time}");
    }
}

#[tokio::test]
async fn facts_of_others_and_those_that_are_none_are_refused() {
    let site = Site::start().await;
    let node = site.node("web1");
    let large = json!({"name": "web1", "values": {"x": "y".repeat(2 << 20)}});
    let huge = json!({"name": "web1", "values": {"x": "y".repeat(5 << 20)}});
    let deep = "[".repeat(200) + &"]".repeat(200);
    let deep: Value = json!({"name": "web1", "values": {"x": deep}});
    assert_eq!(
        put(&node, "web1", &deep).await.0,
        StatusCode::OK,
        "a text is no depth"
    );
    for (path, document, expected) in [
        ("web2", facts("web2"), 403),
        ("web1", facts("web2"), 400),
        ("web1", json!({"values": {}}), 400),
        ("web1", json!([]), 400),
        ("web1", json!({"name": "web1", "values": []}), 400),
        ("web1?environment=..%2Fx", facts("web1"), 400),
        ("web1?environment=a&environment=b", facts("web1"), 400),
        ("web1", large, 413),
        ("web1", huge, 413),
    ] {
        let (status, body) = put(&node, path, &document).await;
        assert_eq!(status.as_u16(), expected, "{path}: {body}");
    }
    let (status, _) = put(&site.nobody(), "web1", &facts("web1")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}
