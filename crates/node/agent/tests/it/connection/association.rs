//! The agent's messages at the beginning of a connection.

use agent::connection::ConnectionStatus;
use agent::connection::PcpVersion;
use pcp::types::{ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE};
use pcp::{PcpMessage, PcpUri};
use serde_json::json;
use tokio::time::timeout;

use super::support::{FakeBroker, Frame, PATIENCE, Site, TestAgent, config, own, request, v2_pair};
use actions::PxpOutbox;

fn associated(request: &PcpMessage, success: bool) -> PcpMessage {
    let mut data = json!({"id": request.id, "success": success});
    if !success {
        data["reason"] = json!("Message not authorized.");
    }
    PcpMessage::new(ASSOCIATE_RESPONSE, Some(pcp::types::encode(&data)))
        .to(own())
        .from(PcpUri::broker())
}

#[tokio::test]
async fn version_2_asks_for_its_type_in_the_path_and_says_nothing_first() {
    for (configured, asked) in [
        ("/pcp2/", "/pcp2/agent"),
        ("/pcp2", "/pcp2/agent"),
        ("/", "/agent"),
    ] {
        let site = Site::new();
        let broker = FakeBroker::start(&site).await;
        let _agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri(configured)]));
        let mut peer = broker.accept().await;
        assert_eq!(peer.path, asked);
        peer.send(Frame::Ping("first".into())).await;
        assert_eq!(peer.next().await, Some(Frame::Pong("first".into())));
    }
}

#[tokio::test]
async fn the_upgrade_announces_the_extensions_and_no_subprotocol() {
    let (_site, _broker, _agent, peer) = v2_pair().await;
    assert_eq!(peer.headers["sec-websocket-version"], "13");
    let announced = peer.headers[pxp::CAPABILITIES_HEADER]
        .to_str()
        .expect("ASCII");
    assert_eq!(announced, super::support::capabilities().to_string());
    assert!(!peer.headers.contains_key("sec-websocket-protocol"));
    assert!(!peer.headers.contains_key("sec-websocket-extensions"));
}

#[tokio::test]
async fn version_1_uses_the_path_as_it_is_and_associates_first() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let mut agent = TestAgent::start(config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]));
    let mut peer = broker.accept().await;
    assert_eq!(peer.path, "/pcp/");

    let asked = peer.message().await;
    assert_eq!(asked.message_type, ASSOCIATE_REQUEST);
    assert_eq!(asked.sender, Some(own()));
    assert_eq!(asked.target, Some(PcpUri::broker()));
    assert!(asked.data.is_none(), "an associate_request has no data");
    assert!(!*agent.outbox.connected().borrow(), "not a member yet");

    peer.send_v1(&associated(&asked, true)).await;
    peer.send_v1(&request("t1")).await;
    let (_, _, body) = agent.next_handled().await;
    assert!(matches!(body, pxp::PxpMessageBody::BlockingRequest(_)));
    assert!(*agent.outbox.connected().borrow());
}

#[tokio::test]
async fn a_refused_association_is_tried_again_for_ever() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]));
    for _ in 0..3 {
        let mut peer = broker.accept().await;
        let asked = peer.message().await;
        peer.send_v1(&associated(&asked, false)).await;
    }
}

#[tokio::test]
async fn a_broker_that_never_answers_the_association_is_left() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let mut config = config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]);
    config.association_timeout = std::time::Duration::from_millis(50);
    let _agent = TestAgent::start(config);
    for _ in 0..2 {
        let mut peer = broker.accept().await;
        assert_eq!(peer.message().await.message_type, ASSOCIATE_REQUEST);
        let Some(Frame::Close(Some(frame))) = peer.next().await else {
            panic!("expected a close frame");
        };
        assert_eq!(u16::from(frame.code), 1000);
        assert_eq!(frame.reason.as_str(), "must associate again");
    }
}

#[tokio::test]
async fn the_status_follows_the_connection() {
    let (_site, broker, agent, peer) = v2_pair().await;
    let mut status = agent.connection.status();
    let is_up = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Connected { .. });
    let up = timeout(PATIENCE, status.wait_for(is_up)).await;
    assert_eq!(
        *up.expect("in time").expect("the task lives"),
        ConnectionStatus::Connected {
            broker: broker.uri("/pcp2/")
        }
    );
    peer.close(1001, "Shutdown").await;
    let down = timeout(PATIENCE, status.wait_for(|status| !is_up(status))).await;
    drop(down.expect("in time").expect("the task lives"));
}
