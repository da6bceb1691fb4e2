//! Bounds in bytes, number and time (B45, B46), before and after authentication.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Client, Closed, World, guard, message, text_of, tls_stream};

#[tokio::test]
async fn b45_a_message_that_is_too_large_closes_1009() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let text = message(
        1,
        "test/x",
        "pcp://a.example/agent",
        json!("x".repeat(65 << 20)),
    );
    // The broker answers the frame's header; the rest may meet a closed socket.
    client.send_or_be_cut(text.to_string()).await;
    assert_eq!(client.close_code().await, 1009);
}

#[tokio::test]
async fn a_large_message_passes() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let data = "x".repeat(60 << 20);
    client
        .send(message(1, "test/x", "pcp://a.example/agent", json!(data)))
        .await;
    assert_eq!(
        client.recv().await["data"].as_str().map(str::len),
        Some(60 << 20)
    );
    client.expect_alive().await;
}

#[tokio::test]
async fn a_small_type_may_not_be_large() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let data = json!("x".repeat(2 << 20));
    client
        .send(message(
            1,
            "http://puppetlabs.com/error_message",
            "pcp://a.example/agent",
            data,
        ))
        .await;
    let answer = client.recv().await;
    assert!(text_of(&answer).contains("too large"), "{answer}");
    client.expect_alive().await;
}

#[tokio::test]
async fn b46_idle_closes_1001() {
    let broker = World::shared().broker(|config| config.timeouts.idle = Duration::from_millis(50));
    let mut client = Client::connect(&broker, "a.example").await;
    match client.closed().await {
        Closed::Frame(1001, reason) => assert!(reason.contains("Idle timeout"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn at_the_limit_only_a_successor_comes_in() {
    let broker = World::shared().broker(|config| config.limits.max_connections = 1);
    let mut first = Client::connect(&broker, "a.example").await;
    let mut other = Client::connect(&broker, "b.example").await;
    let expected = Closed::Frame(1011, "Connection limit exceeded.".to_owned());
    assert_eq!(other.closed().await, expected);
    let mut successor = Client::connect(&broker, "a.example").await;
    assert_eq!(first.close_code().await, 4001);
    successor.expect_alive().await;
}

#[tokio::test]
async fn a_certname_has_a_few_sessions_and_no_more() {
    let broker = World::shared().broker(|_| {});
    let path = |index: usize| format!("/pcp2/t{index}");
    let mut sessions = Vec::new();
    for index in 0..broker::defaults::SESSIONS_PER_CERTNAME {
        let mut session = Client::at(&broker, "greedy.example", &path(index)).await;
        session.expect_alive().await;
        sessions.push(session);
    }
    let mut one_more = Client::at(&broker, "greedy.example", "/pcp2/agent").await;
    let reason = "This certname has 8 sessions already, the most that it may have.";
    let expected = Closed::Frame(1011, reason.to_owned());
    assert_eq!(one_more.closed().await, expected);
    // Other certnames are not affected, and the sessions of this one can still be replaced.
    let mut other = Client::connect(&broker, "modest.example").await;
    other.expect_alive().await;
    let mut successor = Client::at(&broker, "greedy.example", &path(0)).await;
    assert_eq!(sessions[0].close_code().await, 4001);
    successor.expect_alive().await;
    // A session that ends allows another one.
    let mut ends = sessions.remove(1);
    guard(ends.ws.close(None)).await.unwrap();
    ends.closed().await;
    guard(async {
        while broker.handle.connections() > broker::defaults::SESSIONS_PER_CERTNAME {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut agent = Client::connect(&broker, "greedy.example").await;
    agent.expect_alive().await;
}

#[tokio::test]
async fn half_open_connections_are_bounded_and_time_out() {
    let broker = World::shared().broker(|config| {
        config.limits.half_open = 4;
        config.timeouts.opening = Duration::from_millis(300);
    });
    // More connections than the limit, all of them silent.
    let mut idle = Vec::new();
    for _ in 0..12 {
        idle.push(TcpStream::connect(broker.addr()).await.unwrap());
    }
    // A client that completes its handshake is still accepted.
    let mut client = Client::connect(&broker, "a.example").await;
    client.expect_alive().await;
    let mut first = idle.remove(0);
    let mut nothing = [0; 1];
    assert!(
        matches!(guard(first.read(&mut nothing)).await, Ok(0) | Err(_)),
        "it was cut"
    );
}

#[tokio::test]
async fn a_slow_request_times_out() {
    let broker =
        World::shared().broker(|config| config.timeouts.opening = Duration::from_millis(300));
    let tls = broker.world.client_tls(&broker.world.identity("a.example"));
    let mut stream = tls_stream(broker.addr(), tls).await.unwrap();
    stream.write_all(b"GET /pcp2 HTTP/1.1\r\n").await.unwrap();
    let cut = guard(async {
        let mut nothing = [0; 1];
        loop {
            // Sends small parts until the broker closes the connection.
            tokio::select! {
                read = stream.read(&mut nothing) => break read,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
            if stream.write_all(b"X-Slow: 1\r\n").await.is_err() {
                break Ok(0);
            }
        }
    })
    .await;
    assert!(matches!(cut, Ok(0) | Err(_)));
}

#[tokio::test]
async fn an_oversize_request_is_refused() {
    let broker = World::shared().broker(|_| {});
    let tls = broker.world.client_tls(&broker.world.identity("a.example"));
    let mut stream = tls_stream(broker.addr(), tls).await.unwrap();
    let request = format!("GET /pcp2 HTTP/1.1\r\nX-Long: {}\r\n", "x".repeat(40_000));
    // It may be cut off in the middle.
    stream.write_all(request.as_bytes()).await.ok();
    let mut answer = Vec::new();
    guard(stream.read_to_end(&mut answer)).await.ok();
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    assert_eq!(broker.handle.connections(), 0);
}

#[tokio::test]
async fn garbage_instead_of_tls_is_refused() {
    let broker = World::shared().broker(|_| {});
    let mut stream = TcpStream::connect(broker.addr()).await.unwrap();
    stream
        .write_all(b"GET /pcp2 HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    guard(stream.read_to_end(&mut answer)).await.ok();
    assert!(!answer.starts_with(b"HTTP"));
    Client::connect(&broker, "a.example")
        .await
        .expect_alive()
        .await;
}
