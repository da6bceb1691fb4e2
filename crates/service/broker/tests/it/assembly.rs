//! The budget of large messages on their way in, over all clients.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::json;

use crate::status::get;
use crate::support::{Client, TestBroker, World, guard, message};

/// A message of some 900 KiB to its own sender.
fn large(certname: &str) -> serde_json::Value {
    let target = format!("pcp://{certname}/agent");
    message(1, "test/x", &target, json!("x".repeat(900 << 10)))
}

/// The frame of `message`, cut in two.
fn halves(message: &serde_json::Value) -> (Bytes, Bytes) {
    let mut frame = BytesMut::new();
    let text = message.to_string();
    ws::encode(
        ws::OutgoingFrame::Text(&text),
        Some([1, 2, 3, 4]),
        &mut frame,
    );
    let rest = frame.split_off(frame.len() / 2);
    (frame.freeze(), rest.freeze())
}

async fn metric(broker: &TestBroker, name: &str) -> u64 {
    let (_, _, text) = get(broker, "GET /metrics").await;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
        .parse()
        .unwrap()
}

/// Waits until a metric satisfies `wanted`.
async fn until(broker: &TestBroker, name: &str, wanted: impl Fn(u64) -> bool) {
    guard(async {
        while !wanted(metric(broker, name).await) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

const RESERVED: &str = "tutti_broker_assembly_reserved_bytes";
const WAITS: &str = "tutti_broker_assembly_waits_total";

/// The second client waits while the first holds the budget; `end` is what the first does then.
async fn second_waits_until(end: impl AsyncFnOnce(Client, Bytes)) {
    let broker = World::shared().broker(|config| config.limits.assembly_bytes = 1 << 20);
    let mut first = Client::connect(&broker, "a.example").await;
    let mut second = Client::connect(&broker, "b.example").await;
    let mut small = Client::connect(&broker, "c.example").await;
    let (half, rest) = halves(&large("a.example"));
    first.send_raw(&half).await;
    until(&broker, RESERVED, |bytes| bytes > 450 << 10).await;

    let second = tokio::spawn(async move {
        second.send(large("b.example")).await;
        second.recv().await
    });
    until(&broker, WAITS, |waits| waits == 1).await;
    // Small messages pass; large ones wait.
    small.expect_alive().await;
    assert!(!second.is_finished());
    assert!(metric(&broker, RESERVED).await <= 1 << 20);

    end(first, rest).await;
    let heard = guard(second).await.unwrap();
    assert_eq!(heard["data"].as_str().map(str::len), Some(900 << 10));
    until(&broker, RESERVED, |bytes| bytes == 0).await;
}

#[tokio::test]
async fn large_messages_wait_for_each_other_and_small_ones_do_not() {
    second_waits_until(async |mut first, rest| {
        first.send_raw(&rest).await;
        let heard = first.recv().await;
        assert_eq!(heard["data"].as_str().map(str::len), Some(900 << 10));
        first.expect_alive().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_gives_its_room_back() {
    second_waits_until(async |first, _| drop(first)).await;
}

/// The head of a masked text frame of `bytes`, unmasked by zeros.
fn frame_head(first_byte: u8, bytes: u64) -> Vec<u8> {
    let mut head = vec![first_byte, 0x80 | 127];
    head.extend(bytes.to_be_bytes());
    head.extend([0; 4]);
    head
}

/// A text frame that is the whole message.
const WHOLE: u8 = 0x81;
/// A text frame that is not the last of its message.
const FRAGMENT: u8 = 0x01;

#[tokio::test]
async fn fragments_reserve_what_has_arrived_and_a_step() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    client.send_raw(&frame_head(FRAGMENT, 100_000)).await;
    client.send_raw(&[b'x'; 100_000]).await;
    until(&broker, RESERVED, |bytes| bytes > 100_000).await;
    let most = 100_014 + broker::defaults::ASSEMBLY_STEP_BYTES as u64;
    assert!(metric(&broker, RESERVED).await <= most);
}

/// Announced bytes do not block others, and a certname has one large message at a time.
#[tokio::test]
async fn eight_sessions_that_announce_the_most_do_not_hold_up_other_senders() {
    let broker = World::shared().broker(|config| {
        // Neither progress nor a deadline helps here.
        config.timeouts.assembly = Duration::from_secs(3_600);
        config.timeouts.assembly_progress = Duration::from_secs(3_600);
    });
    let sessions = broker::defaults::SESSIONS_PER_CERTNAME;
    let mut attackers = Vec::new();
    for index in 0..sessions {
        let path = format!("/pcp2/t{index}");
        let mut attacker = Client::at(&broker, "greedy.example", &path).await;
        attacker.send_raw(&frame_head(WHOLE, 64 << 20)).await;
        attacker.send_raw(&[b'x'; 100_000]).await;
        attackers.push(attacker);
    }
    // All but one wait for their certname's turn, and hold nothing.
    let waiting = sessions as u64 - 1;
    until(&broker, WAITS, |waits| waits >= waiting).await;
    let most = 100_014 + broker::defaults::ASSEMBLY_STEP_BYTES as u64;
    assert!(metric(&broker, RESERVED).await <= most);
    let mut honest = Client::connect(&broker, "a.example").await;
    let data = "x".repeat(60 << 20);
    honest
        .send(message(1, "test/x", "pcp://a.example/agent", json!(data)))
        .await;
    let heard = honest.recv().await;
    assert_eq!(heard["data"].as_str().map(str::len), Some(60 << 20));
}

#[tokio::test]
async fn a_large_message_that_does_not_grow_closes_1008() {
    let broker = World::shared().broker(|config| {
        config.timeouts.assembly = Duration::from_secs(3_600);
        config.timeouts.assembly_progress = Duration::from_millis(50);
    });
    let mut client = Client::connect(&broker, "a.example").await;
    client.send_raw(&frame_head(WHOLE, 64 << 20)).await;
    client.send_raw(&[b'x'; 100_000]).await;
    assert_eq!(client.close_code().await, 1008);
}

#[tokio::test]
async fn a_large_message_that_does_not_come_to_its_end_closes_1008() {
    let broker = World::shared().broker(|config| {
        config.timeouts.assembly = Duration::from_millis(50);
    });
    let mut client = Client::connect(&broker, "a.example").await;
    let data = json!("x".repeat(120 << 10));
    let (half, rest) = halves(&message(1, "test/x", "pcp://a.example/agent", data));
    client.send_raw(&half).await;
    client.send_raw(&rest[..rest.len() / 2]).await;
    assert_eq!(client.close_code().await, 1008);
}
