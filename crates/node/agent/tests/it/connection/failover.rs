//! Several brokers, and the return to the preferred one.

use std::time::Duration;

use agent::connection::{ConnectionConfig, PcpVersion};

use super::support::{FakeBroker, Frame, Site, TestAgent, config};

/// An address at which no process listens.
async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    format!("wss://localhost:{port}/pcp2/")
}

#[tokio::test]
async fn the_next_broker_is_tried_when_the_first_does_not_answer() {
    let site = Site::new();
    let second = FakeBroker::start(&site).await;
    let uris = [nobody().await, second.uri("/pcp2/")];
    let _agent = TestAgent::start(config(&site, PcpVersion::V2, &uris));
    second.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_broker_that_worked_is_tried_first_after_a_loss() {
    let site = Site::new();
    let (first, second) = (
        FakeBroker::start(&site).await,
        FakeBroker::start(&site).await,
    );
    let config = ConnectionConfig {
        settled_after: Duration::ZERO,
        ..config(
            &site,
            PcpVersion::V2,
            &[first.uri("/pcp2/"), second.uri("/pcp2/")],
        )
    };
    let _agent = TestAgent::start(config);
    for _ in 0..3 {
        first.accept().await.close(1012, "CRL reloaded").await;
    }
    first.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_broker_that_keeps_throwing_us_out_makes_way_for_the_next() {
    let site = Site::new();
    let (first, second) = (
        FakeBroker::start(&site).await,
        FakeBroker::start(&site).await,
    );
    let uris = [first.uri("/pcp2/"), second.uri("/pcp2/")];
    let _agent = TestAgent::start(config(&site, PcpVersion::V2, &uris));
    first
        .accept()
        .await
        .close(1011, "All controllers disconnected.")
        .await;
    second.accept().await.is_alive().await;
}

#[tokio::test]
async fn the_agent_comes_home_without_a_gap() {
    let site = Site::new();
    let (first, second) = (
        FakeBroker::start(&site).await,
        FakeBroker::start(&site).await,
    );
    let config = ConnectionConfig {
        home_probe_interval: Duration::from_millis(20),
        ..config(
            &site,
            PcpVersion::V2,
            &[first.uri("/pcp2/"), second.uri("/pcp2/")],
        )
    };
    let _agent = TestAgent::start(config);
    first
        .accept()
        .await
        .close(1011, "Broker is not running.")
        .await;
    let mut away = second.accept().await;
    // Probes connect and close; then a whole connection is opened, while the other one is still
    // open.
    let mut home = first.accept().await;
    let Some(Frame::Close(Some(frame))) = away.next().await else {
        panic!("expected a close frame");
    };
    assert_eq!(u16::from(frame.code), 1000);
    home.is_alive().await;
}
