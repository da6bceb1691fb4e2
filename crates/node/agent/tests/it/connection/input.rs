//! Input from brokers and controllers, and its treatment.

use agent::access_log::AccessLog;
use agent::connection::{ConnectionConfig, PcpVersion};
use pcp::types::ERROR_MESSAGE;
use pcp::{PcpMessage, PcpUri};
use serde_json::{Value, json};

use super::support::{
    FakeBroker, Frame, Site, TestAgent, config, controller, from_controller, own, request, v2_pair,
};

const BLOCKING: &str = "http://puppetlabs.com/rpc_blocking_request";
const NON_BLOCKING: &str = "http://puppetlabs.com/rpc_non_blocking_request";

#[tokio::test]
async fn what_is_no_message_is_ignored_and_the_connection_goes_on() {
    let (_site, _broker, mut agent, mut peer) = v2_pair().await;
    for text in [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"id":"x","message_type":"y"}"#,
        r#"{"id":"11111111-2222-3333-4444-555555555555","message_type":"y","more":1}"#,
        "\u{0}",
    ] {
        peer.send(Frame::text(text)).await;
    }
    peer.send(Frame::binary(vec![0; 250])).await;
    peer.send(Frame::text("[".repeat(100_000))).await;
    peer.is_alive().await;
    peer.send_v2(&request("afterwards")).await;
    agent.next_handled().await;
    assert!(
        agent.handled.try_recv().is_err(),
        "nothing else was handed on"
    );
}

#[tokio::test]
async fn the_same_on_version_1() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V1, &[broker.uri("/pcp/")]));
    let mut peer = broker.accept().await;
    peer.message().await;
    peer.send(Frame::text("{}")).await;
    for bytes in [
        vec![],
        vec![1],
        vec![0; 250],
        vec![2, 1, 0, 0, 0, 0],
        vec![1; 40],
    ] {
        peer.send(Frame::binary(bytes)).await;
    }
    peer.is_alive().await;
}

#[tokio::test]
async fn a_message_of_33_mb_is_taken_and_one_beyond_the_limit_is_not() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let mut agent = TestAgent::start(ConnectionConfig {
        max_incoming_bytes: 34_000_000,
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    let large = |bytes: usize| {
        from_controller(
            BLOCKING,
            &json!({"transaction_id": "t", "module": "echo", "action": "echo",
                    "params": {"argument": "x".repeat(bytes)}}),
        )
    };
    let mut peer = broker.accept().await;
    peer.send_v2(&large(33_000_000)).await;
    agent.next_handled().await;
    peer.is_alive().await;

    // The agent stops reading half-way, so sending may fail.
    let text = pcp::v2::encode(&large(34_000_001));
    let _ = futures_util::SinkExt::send(&mut peer.ws, Frame::text(text)).await;
    loop {
        match peer.next().await {
            Some(Frame::Close(Some(frame))) => {
                assert_eq!(u16::from(frame.code), 1009);
                break;
            }
            Some(_) => {}
            None => break,
        }
    }
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn requests_go_to_the_engine_with_sender_and_message_id() {
    let (_site, _broker, mut agent, mut peer) = v2_pair().await;
    let sent = request("t1");
    peer.send_v2(&sent).await;
    let (sender, id, body) = agent.next_handled().await;
    assert_eq!((sender, id), (controller(), sent.id));
    let pxp::PxpMessageBody::BlockingRequest(request) = body else {
        panic!("expected a blocking request");
    };
    assert_eq!(request.transaction_id.as_str(), "t1");

    let non_blocking = from_controller(
        NON_BLOCKING,
        &json!({"transaction_id": "t2", "module": "m", "action": "a", "params": {},
                "notify_outcome": true}),
    );
    peer.send_v2(&non_blocking).await;
    assert!(matches!(
        agent.next_handled().await.2,
        pxp::PxpMessageBody::NonBlockingRequest(_)
    ));
}

#[tokio::test]
async fn a_request_without_data_or_with_wrong_data_is_answered_with_a_pcp_error() {
    let (_site, _broker, mut agent, mut peer) = v2_pair().await;
    let no_data = PcpMessage::new(BLOCKING, None).to(own()).from(controller());
    let cases: [(PcpMessage, &str); 5] = [
        (no_data, "no data"),
        (from_controller(BLOCKING, &json!({})), "invalid data"),
        (from_controller(BLOCKING, &json!("text")), "invalid data"),
        (
            from_controller(NON_BLOCKING, &json!({"transaction_id": "t"})),
            "invalid data",
        ),
        (
            from_controller(
                BLOCKING,
                &json!({"transaction_id": "t", "module": "m", "action": "a", "params": {}, "x": 1}),
            ),
            "invalid data",
        ),
    ];
    for (message, text) in cases {
        peer.send_v2(&message).await;
        let answer = peer.message().await;
        assert_eq!(answer.message_type, ERROR_MESSAGE);
        assert_eq!(answer.target, Some(controller()));
        assert_eq!(answer.sender, Some(own()));
        assert_eq!(answer.in_reply_to, Some(message.id));
        let data: Value = serde_json::from_str(answer.data.expect("data").get()).expect("JSON");
        assert_eq!(data, json!(text));
    }
    assert!(agent.handled.try_recv().is_err(), "nothing was handed on");
}

#[tokio::test]
async fn nobody_is_answered_who_did_not_ask() {
    let (_site, _broker, mut agent, mut peer) = v2_pair().await;
    let data = json!({"transaction_id": "t", "module": "ping", "action": "ping", "params": {}});
    let mut without_sender = from_controller(BLOCKING, &data);
    without_sender.sender = None;
    for message in [
        without_sender,
        from_controller("http://puppetlabs.com/nonsense", &json!({})),
        from_controller("http://puppetlabs.com/rpc_blocking_response", &json!({})),
        from_controller(
            "http://puppetlabs.com/inventory_update",
            &json!({"changes": []}),
        ),
        PcpMessage::error("Not connected.", None)
            .to(own())
            .from(PcpUri::broker()),
        PcpMessage::new(ERROR_MESSAGE, None).to(own()),
    ] {
        peer.send_v2(&message).await;
    }
    // The next frame is a pong: any answer would have arrived before it.
    peer.send(Frame::Ping("end".into())).await;
    assert_eq!(peer.next().await, Some(Frame::Pong("end".into())));
    assert!(agent.handled.try_recv().is_err(), "nothing was handed on");
}

#[tokio::test]
async fn every_message_leaves_a_line_in_the_access_log() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let path = site.dir.path().join("log/pcp-access.log");
    let log = AccessLog::open(&path).expect("a log file");
    let uri = broker.uri("/pcp2/");
    let mut agent = TestAgent::with_access_log(
        config(&site, PcpVersion::V2, std::slice::from_ref(&uri)),
        log,
    );
    let mut peer = broker.accept().await;
    peer.send(Frame::text("garbage")).await;
    let message = request("t1");
    peer.send_v2(&message).await;
    agent.next_handled().await;
    let text = std::fs::read_to_string(&path).expect("the log");
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("] "))
        .map(|l| l.1)
        .collect();
    assert_eq!(
        lines,
        [
            format!("DESERIALIZATION_ERROR {uri} unknown unknown unknown"),
            format!(
                "AUTHORIZATION_SUCCESS {uri} {} {BLOCKING} {}",
                controller(),
                message.id
            ),
        ]
    );
}
