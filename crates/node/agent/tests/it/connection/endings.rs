//! Every ending of a connection, and the agent's next step.

use actions::PxpOutbox;
use agent::connection::PcpVersion;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::support::{FakeBroker, Frame, PATIENCE, Site, TestAgent, config, request, v2_pair};

#[tokio::test]
async fn every_close_code_is_followed_by_a_new_connection() {
    let (_site, broker, mut agent, mut peer) = v2_pair().await;
    for code in [1000, 1001, 1009, 1011, 1012, 4001, 4002, 4003, 4999] {
        peer.close(code, "the test says so").await;
        peer = broker.accept().await;
        peer.send_v2(&request(&format!("after-{code}"))).await;
        agent.next_handled().await;
    }
}

#[tokio::test]
async fn an_abrupt_end_is_followed_by_a_new_connection() {
    let (_site, broker, _agent, peer) = v2_pair().await;
    drop(peer);
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_close_frame_is_answered_with_one() {
    let (_site, _broker, _agent, mut peer) = v2_pair().await;
    peer.ws.close(None).await.expect("an open connection");
    assert!(matches!(peer.next().await, Some(Frame::Close(_))));
}

#[tokio::test]
async fn what_is_no_websocket_ends_the_connection_and_not_the_agent() {
    let (_site, broker, _agent, mut peer) = v2_pair().await;
    // A masked frame from a server, with reserved bits and an unknown opcode.
    peer.ws
        .get_mut()
        .write_all(&[0xff, 0xff, 0, 0, 0])
        .await
        .expect("an open connection");
    let Some(Frame::Close(Some(frame))) = peer.next().await else {
        panic!("expected a close frame");
    };
    assert_eq!(u16::from(frame.code), 1002);
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn an_upgrade_that_is_refused_or_nonsense_is_tried_again() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]));
    for answer in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: bm90IHRoZSByaWdodCBvbmU=\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "",
    ] {
        let mut stream = broker.accept_tls().await.expect("TLS");
        stream
            .write_all(answer.as_bytes())
            .await
            .expect("an open connection");
        stream.shutdown().await.expect("an open connection");
    }
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_broker_that_takes_the_connection_and_says_nothing_is_left_in_time() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let mut config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    config.connection_timeout = std::time::Duration::from_millis(100);
    let _agent = TestAgent::start(config);
    let _silent = broker.accept_tcp().await;
    let _silent_too = broker.accept_tcp().await;
    broker.accept_tcp().await;
}

#[tokio::test]
async fn stopping_says_good_bye_and_reports_the_end_to_senders() {
    let (_site, _broker, agent, mut peer) = v2_pair().await;
    let mut connected = agent.outbox.connected();
    let stopping = tokio::spawn(agent.connection.shutdown(PATIENCE));
    let Some(Frame::Close(Some(frame))) = peer.next().await else {
        panic!("expected a close frame");
    };
    assert_eq!(
        (u16::from(frame.code), frame.reason.as_str()),
        (1000, "Closed by client")
    );
    while peer.next().await.is_some() {}
    timeout(PATIENCE, stopping)
        .await
        .expect("in time")
        .expect("no panic");
    timeout(PATIENCE, connected.wait_for(|up| !up))
        .await
        .expect("in time")
        .expect("the outbox lives");
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_broker_that_does_not_listen() {
    let (_site, _broker, agent, peer) = v2_pair().await;
    // `peer` is neither read nor closed.
    timeout(PATIENCE, agent.connection.shutdown(PATIENCE / 2))
        .await
        .expect("in time");
    drop(peer);
}
