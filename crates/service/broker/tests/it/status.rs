//! Requests that are no upgrade (B4, B47).

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Client, TestBroker, World, guard, tls_stream};

/// Status, headers and body of the answer.
pub(crate) async fn get(broker: &TestBroker, request: &str) -> (u16, String, String) {
    // No certificate is needed to ask.
    let tls = broker.world.anonymous_tls();
    let mut stream = tls_stream(broker.addr(), tls).await.unwrap();
    let text = format!("{request} HTTP/1.1\r\nHost: broker.example\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    guard(stream.read_to_string(&mut answer))
        .await
        .expect("ends with close_notify");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn b04_a_plain_get_is_not_found() {
    let broker = World::shared().broker(|_| {});
    for path in [
        "GET /pcp2/agent",
        "GET /pcp/",
        "GET /",
        "GET /etc/passwd",
        "POST /nothing",
    ] {
        assert_eq!(get(&broker, path).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn b47_status_when_running() {
    let broker = World::shared().broker(|_| {});
    let _client = Client::connect(&broker, "a.example").await;
    let (status, _, body) = get(&broker, "GET /status/v1/services/broker-service?level=info").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    assert_eq!(body["service_name"], "broker-service");
    assert_eq!(body["service_status_version"], 1);
    assert_eq!(body["state"], "running");
    assert_eq!(body["detail_level"], "info");
    assert_eq!(body["active_alerts"], serde_json::json!([]));
    assert_eq!(body["status"]["connections"], 1);
    let (status, _, body) = get(&broker, "GET /status/v1/simple").await;
    assert_eq!((status, body.as_str()), (200, "running"));
    assert_eq!(
        get(&broker, "GET /status/v1/services/broker-service?level=loud")
            .await
            .0,
        400
    );
    assert_eq!(get(&broker, "DELETE /status/v1/simple").await.0, 405);
    let (status, head, body) = get(&broker, "HEAD /status/v1/simple").await;
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(head.contains("Content-Length: 7"), "{head}");
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client.expect_alive().await;
    let (status, _, body) = get(&broker, "GET /metrics").await;
    assert_eq!(status, 200);
    for line in [
        "tutti_broker_connections 1",
        "tutti_broker_associations_total 1",
        "tutti_broker_messages_received_total{outcome=\"AUTHORIZATION_SUCCESS\"} 1",
        "# EOF",
    ] {
        assert!(body.lines().any(|l| l == line), "{line} in\n{body}");
    }
}
