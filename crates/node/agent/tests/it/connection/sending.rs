//! Outgoing messages of the engine: the moment at which they count as sent, and their waits.

use std::time::Duration;

use actions::{NotSent, PxpOutbox};
use agent::connection::{ConnectionConfig, PcpVersion};
use futures_util::StreamExt;
use pcp::types::ASSOCIATE_RESPONSE;
use pcp::{PcpMessage, PcpUri};
use pxp::{PxpMessageBody, PxpResponse, TransactionId, types};
use serde_json::json;
use tokio::time::timeout;

use super::support::{
    FakeBroker, Frame, MAX_MESSAGE_BYTES, PATIENCE, Site, TestAgent, config, controller, own,
    v2_pair,
};

fn transaction(id: &str) -> TransactionId {
    id.parse().expect("a transaction id")
}

fn provisional(id: &str) -> PxpMessageBody {
    PxpMessageBody::ProvisionalResponse {
        transaction_id: transaction(id),
    }
}

fn result(bytes: usize) -> PxpMessageBody {
    PxpMessageBody::BlockingResponse(PxpResponse {
        transaction_id: transaction("large"),
        results: pcp::types::encode(&json!({"stdout": "x".repeat(bytes)})),
    })
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent_and_nothing_waits() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]));
    let sent = agent.outbox.send(&controller(), provisional("t")).await;
    assert_eq!(sent, Err(NotSent::NotConnected));
    assert!(!*agent.outbox.connected().borrow());
}

#[tokio::test]
async fn a_message_carries_our_address_and_the_targets() {
    let (_site, _broker, agent, mut peer) = v2_pair().await;
    agent
        .outbox
        .send(&controller(), provisional("t1"))
        .await
        .expect("a connection");
    let message = peer.message().await;
    assert_eq!(message.message_type, types::PROVISIONAL_RESPONSE);
    assert_eq!(
        (message.sender, message.target),
        (Some(own()), Some(controller()))
    );
    assert_eq!(message.in_reply_to, None);
    assert_eq!(
        message.data.expect("data").get(),
        r#"{"transaction_id":"t1"}"#
    );
}

#[tokio::test]
async fn version_1_messages_expire_after_their_ttl() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let agent = TestAgent::start(ConnectionConfig {
        message_ttl: Duration::from_secs(3600),
        ..config(&site, PcpVersion::V1, &[broker.uri("/pcp/")])
    });
    let mut peer = broker.accept().await;
    let asked = peer.message().await;
    let granted = json!({"id": asked.id, "success": true});
    let granted = PcpMessage::new(ASSOCIATE_RESPONSE, Some(pcp::types::encode(&granted)));
    peer.send_v1(&granted.to(own()).from(PcpUri::broker()))
        .await;
    agent.connected().await;
    agent
        .outbox
        .send(&controller(), provisional("t1"))
        .await
        .expect("a connection");
    let Some(Frame::Binary(bytes)) = peer.next().await else {
        panic!("expected a binary message");
    };
    let frame = pcp::v1::decode(&bytes).expect("PCP version 1");
    let left = frame
        .envelope
        .expires
        .duration_since(jiff::Timestamp::now());
    assert!((3_000..=3_600).contains(&left.as_secs()), "{left:?}");
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_with_both_sizes() {
    let (_site, _broker, agent, _peer) = v2_pair().await;
    let sent = agent
        .outbox
        .send(&controller(), result(MAX_MESSAGE_BYTES))
        .await;
    match sent {
        Err(NotSent::TooLarge {
            size_bytes,
            limit_bytes,
        }) => {
            assert!(size_bytes > limit_bytes);
            assert_eq!(limit_bytes, MAX_MESSAGE_BYTES);
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn a_slow_broker_makes_senders_wait_but_its_pings_are_answered() {
    let (_site, _broker, agent, peer) = v2_pair().await;
    // Far more than the kernel's buffers accept.
    let outbox = agent.outbox.clone();
    let sending = tokio::spawn(async move { outbox.send(&controller(), result(32_000_000)).await });
    let (mut sink, mut stream) = peer.ws.split();
    // The agent reads while it cannot write: this message would not arrive if its reader waited for
    // its writer.
    let large = format!("{{\"padding\":\"{}\"}}", "y".repeat(16_000_000));
    timeout(
        PATIENCE,
        futures_util::SinkExt::send(&mut sink, Frame::text(large)),
    )
    .await
    .expect("the agent reads")
    .expect("an open connection");
    assert!(
        !sending.is_finished(),
        "32 MB cannot have been taken by anybody"
    );
    let taken = timeout(PATIENCE, stream.next()).await.expect("in time");
    assert!(taken.expect("a frame").expect("an open connection").len() > 32_000_000);
    sending.await.expect("no panic").expect("it was sent");
}

#[tokio::test]
async fn pongs_overtake_what_waits_in_the_queue() {
    let (_site, _broker, agent, mut peer) = v2_pair().await;
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let outbox = agent.outbox.clone();
        senders.spawn(async move { outbox.send(&controller(), result(4_000_000)).await });
    }
    peer.send(Frame::Ping("now".into())).await;
    let mut messages_before = 0;
    loop {
        match peer.next().await {
            Some(Frame::Pong(_)) => break,
            Some(Frame::Text(_)) => messages_before += 1,
            other => panic!("expected messages and a pong, got {other:?}"),
        }
    }
    assert!(messages_before < 8, "the pong came last");
    while messages_before < 8 {
        peer.message().await;
        messages_before += 1;
    }
    for sent in senders.join_all().await {
        sent.expect("a connection");
    }
}

#[tokio::test]
async fn senders_are_told_when_the_connection_breaks_under_them() {
    let (_site, _broker, agent, peer) = v2_pair().await;
    let mut senders = tokio::task::JoinSet::new();
    // More than the queue holds, and none of it is ever read.
    for _ in 0..50 {
        let outbox = agent.outbox.clone();
        senders.spawn(async move { outbox.send(&controller(), result(1_000_000)).await });
    }
    tokio::task::yield_now().await;
    drop(peer);
    let results = timeout(PATIENCE, senders.join_all())
        .await
        .expect("in time");
    assert!(results.contains(&Err(NotSent::NotConnected)));
}
