//! Pings, pongs and unresponsive brokers.

use std::time::Duration;

use agent::connection::keepalive::KeepaliveConfig;
use agent::connection::{ConnectionConfig, PcpVersion};

use super::support::{FakeBroker, Frame, Site, TestAgent, config};

fn short(allowed_misses: u32) -> KeepaliveConfig {
    KeepaliveConfig {
        interval: Duration::from_millis(30),
        pong_timeout: Duration::from_millis(20),
        allowed_misses,
    }
}

#[tokio::test]
async fn pings_are_sent_at_the_configured_interval_with_no_payload() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(ConnectionConfig {
        // Long enough for a slow machine, which is not under test.
        keepalive: short(1_000),
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    let mut peer = broker.accept().await;
    for _ in 0..5 {
        // The library answers each ping by itself.
        assert_eq!(peer.next().await, Some(Frame::Ping("".into())));
    }
}

#[tokio::test]
async fn a_broker_that_answers_no_pings_is_left() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(ConnectionConfig {
        keepalive: short(1),
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    // Not read, so that no ping is answered.
    let _deaf = broker.accept().await;
    let _deaf_too = broker.accept().await;
    broker.accept().await;
}

#[tokio::test]
async fn pings_of_the_broker_are_answered_with_their_payload() {
    let (_site, _broker, _agent, mut peer) = super::support::v2_pair().await;
    for payload in ["", "x", &"y".repeat(125)] {
        peer.send(Frame::Ping(payload.to_owned().into())).await;
        assert_eq!(
            peer.next().await,
            Some(Frame::Pong(payload.to_owned().into()))
        );
    }
}
