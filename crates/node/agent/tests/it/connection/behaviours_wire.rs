//! Behaviour of a pxp-agent that its peers see. `docs/stock-peers.md` has the numbers of these
//! behaviours.

use std::time::Duration;

use agent::connection::backoff::BackoffLimits;
use agent::connection::{ConnectionConfig, ConnectionStatus, PcpVersion};
use pcp::types::{ASSOCIATE_REQUEST, ASSOCIATE_RESPONSE, ERROR_MESSAGE};
use pcp::{PcpMessage, PcpUri};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::support::{
    FakeBroker, Frame, PATIENCE, Peer, Site, TestAgent, config, controller, from_controller, own,
    request, v2_pair,
};

const BLOCKING: &str = "http://puppetlabs.com/rpc_blocking_request";

/// The answer of a broker to a version 1 association.
fn answer(asked: &PcpMessage, success: bool) -> PcpMessage {
    let data = json!({"id": asked.id, "success": success});
    PcpMessage::new(ASSOCIATE_RESPONSE, Some(pcp::types::encode(&data)))
        .to(own())
        .from(PcpUri::broker())
}

/// An agent on PCP version 1 and its one broker.
async fn v1_pair() -> (Site, FakeBroker, TestAgent, Peer) {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let agent = TestAgent::start(config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]));
    let mut peer = broker.accept().await;
    let asked = peer.message().await;
    peer.send_v1(&answer(&asked, true)).await;
    agent.connected().await;
    (site, broker, agent, peer)
}

#[tokio::test]
async fn an_association_has_exactly_the_usual_fields() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]));
    let mut peer = broker.accept().await;
    let Some(Frame::Binary(bytes)) = peer.next().await else {
        panic!("expected a binary message");
    };
    // Version 1, one chunk of type 1 and its length, the envelope, no more.
    assert_eq!(bytes[..2], [1, 1]);
    let length = u32::from_be_bytes(bytes[2..6].try_into().expect("four bytes"));
    assert_eq!(bytes.len(), 6 + length as usize, "no other chunk");
    let envelope: Value = serde_json::from_slice(&bytes[6..]).expect("JSON");
    let keys: Vec<&String> = envelope.as_object().expect("an object").keys().collect();
    assert_eq!(keys.len(), 5, "{envelope}");
    assert_eq!(envelope["message_type"], json!(ASSOCIATE_REQUEST));
    assert_eq!(envelope["sender"], json!(own()));
    assert_eq!(envelope["targets"], json!(["pcp:///server"]));
    let id = envelope["id"].as_str().expect("an id");
    assert!(id.parse::<pcp::MessageId>().is_ok(), "{id}");
    let expires = envelope["expires"].as_str().expect("a time");
    let expires: jiff::Timestamp = expires.parse().expect("ISO 8601");
    assert!(expires > jiff::Timestamp::now() - Duration::from_secs(60));
}

/// On version 1 the error is an object with the id of the message that it answers.
#[tokio::test]
async fn data_errors_on_version_1_name_the_message() {
    let (_site, _broker, mut agent, mut peer) = v1_pair().await;
    let no_data = PcpMessage::new(BLOCKING, None).to(own()).from(controller());
    for (message, text) in [
        (no_data, "no data"),
        (from_controller(BLOCKING, &json!({"x": 1})), "invalid data"),
    ] {
        peer.send_v1(&message).await;
        let Some(Frame::Binary(bytes)) = peer.next().await else {
            panic!("expected a binary message");
        };
        let start = 6 + u32::from_be_bytes(bytes[2..6].try_into().expect("four bytes")) as usize;
        let envelope: Value = serde_json::from_slice(&bytes[6..start]).expect("JSON");
        assert_eq!(envelope["message_type"], json!(ERROR_MESSAGE));
        assert_eq!(envelope["targets"], json!([controller()]));
        assert_eq!(bytes[start], 2, "a data chunk");
        let data: Value = serde_json::from_slice(&bytes[start + 5..]).expect("JSON");
        assert_eq!(data, json!({"id": message.id, "description": text}));
    }
    peer.send_v1(&request("afterwards")).await;
    agent.next_handled().await;
}

/// Ids name directories, so those that are paths are rejected here.
#[tokio::test]
async fn transaction_ids_that_lead_elsewhere_are_invalid_data() {
    let (_site, _broker, mut agent, mut peer) = v2_pair().await;
    let long = "x".repeat(200);
    for id in [
        "",
        ".",
        "..",
        "../../x",
        "a/b",
        "/etc",
        ".blocking",
        "a\0",
        "ä",
        &long,
    ] {
        let mut sent = vec![request(id)];
        sent.push(from_controller(
            "http://puppetlabs.com/rpc_non_blocking_request",
            &json!({"transaction_id": id, "module": "command", "action": "run",
                    "params": {"command": "true"}, "notify_outcome": true}),
        ));
        for message in sent {
            peer.send_v2(&message).await;
            let answer = peer.message().await;
            assert_eq!(answer.message_type, ERROR_MESSAGE, "{id:?}");
            assert_eq!(answer.in_reply_to, Some(message.id), "{id:?}");
            assert_eq!(answer.data.expect("data").get(), "\"invalid data\"");
        }
    }
    peer.send_v2(&request("fine")).await;
    let (_, _, body) = agent.next_handled().await;
    assert!(
        matches!(body, pxp::PxpMessageBody::BlockingRequest(it) if it.transaction_id.as_str() == "fine")
    );
}

/// Limits with distinguishable waits, which no test actually waits for.
fn telling() -> BackoffLimits {
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    BackoffLimits {
        spread: hours(1),
        floor: hours(2),
        ceiling: hours(3),
        closed_ceiling: hours(3),
        denied_floor: hours(10),
        superseded_floor: hours(20),
        long_ceiling: hours(30),
    }
}

/// The length of the agent's current wait.
async fn wait_of(agent: &TestAgent) -> Duration {
    let mut status = agent.connection.status();
    let waits = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Waiting { .. });
    let status = timeout(PATIENCE, status.wait_for(waits)).await;
    let status = status.expect("in time").expect("the task lives").clone();
    match status {
        ConnectionStatus::Waiting { delay, .. } => delay,
        other => panic!("it does not wait: {other:?}"),
    }
}

#[derive(Debug, Clone, Copy)]
enum End {
    Close(u16),
    Abrupt,
    Upgrade(u16),
    Association,
    Silence,
}

async fn end(broker: &FakeBroker, end: End) {
    match end {
        End::Close(code) => broker.accept().await.close(code, "the test says so").await,
        End::Abrupt => drop(broker.accept().await),
        End::Upgrade(status) => {
            let mut stream = broker.accept_tls().await.expect("TLS");
            let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
            let written = stream.write_all(answer.as_bytes()).await;
            written.expect("an open connection");
        }
        End::Association => {
            let mut peer = broker.accept().await;
            let asked = peer.message().await;
            peer.send_v1(&answer(&asked, false)).await;
            while peer.next().await.is_some() {}
        }
        End::Silence => {
            let mut peer = broker.accept().await;
            while peer.next().await.is_some() {}
        }
    }
}

/// No wait is permanent, and each ending has its own.
#[tokio::test]
async fn each_way_to_lose_a_connection_has_its_wait() {
    let limits = telling();
    let soon = (Duration::ZERO, limits.spread);
    let denied = (limits.denied_floor, limits.long_ceiling);
    let superseded = (limits.superseded_floor, limits.long_ceiling);
    for (ending, version, (least, most)) in [
        (End::Close(1000), PcpVersion::V2, soon),
        (End::Close(1001), PcpVersion::V2, soon),
        (End::Close(1011), PcpVersion::V2, soon),
        (End::Abrupt, PcpVersion::V2, soon),
        (End::Upgrade(404), PcpVersion::V2, soon),
        (End::Close(4002), PcpVersion::V2, denied),
        (End::Close(4003), PcpVersion::V2, denied),
        (End::Upgrade(403), PcpVersion::V2, denied),
        (End::Close(4001), PcpVersion::V2, superseded),
        (End::Association, PcpVersion::V1, denied),
        (End::Silence, PcpVersion::V1, soon),
    ] {
        let site = Site::new();
        let broker = FakeBroker::start(&site).await;
        let agent = TestAgent::start(ConnectionConfig {
            backoff: limits,
            association_timeout: Duration::from_millis(100),
            ..config(&site, version, &[broker.uri("/pcp2/")])
        });
        // Boxed for the lint: the peer's socket is a large value.
        Box::pin(end(&broker, ending)).await;
        let wait = wait_of(&agent).await;
        assert!((least..=most).contains(&wait), "{ending:?}: {wait:?}");
    }
}

/// A refused attempt ends with the refusal, not with its timeout.
#[tokio::test]
async fn a_refused_attempt_wastes_no_time() {
    let site = Site::new();
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let address = free.expect("a free port").local_addr().expect("an address");
    let agent = TestAgent::start(ConnectionConfig {
        connection_timeout: Duration::from_secs(24 * 3600),
        backoff: telling(),
        ..config(&site, PcpVersion::V2, &[format!("wss://{address}/pcp2/")])
    });
    assert!(wait_of(&agent).await <= telling().spread);
}
