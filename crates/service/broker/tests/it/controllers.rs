//! Orchestrators to which the broker connects (K1-K12), and Tutti's orchestrator as one of them.

use std::time::Duration;

use broker::ControllersConfig;
use fabric::{Fabric, PresenceChange};
use futures_util::{SinkExt, StreamExt};
use pki::ServerCertnames;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::{
    Client, FakeController, Peer, TestBroker, World, guard, message, text_of, tls_stream,
};

const REQUEST: &str = "http://puppetlabs.com/rpc_blocking_request";

/// The certnames of the controllers here, which are reached under an address.
fn orchestrators() -> ServerCertnames {
    let names = ["orch.example", "orch2.example"];
    ServerCertnames::Listed(names.map(str::to_owned).to_vec())
}

fn dial(controllers: &[&FakeController]) -> TestBroker {
    let world = World::shared();
    let uris = controllers
        .iter()
        .map(|controller| controller.uri())
        .collect();
    world.broker(|config| {
        let mut controllers = ControllersConfig::new(uris, world.identity("broker.example").files);
        controllers.certnames = orchestrators();
        controllers.backoff = Duration::from_millis(10);
        controllers.ping = Duration::from_millis(50);
        config.controllers = Some(controllers);
        config.timeouts.inventory = Duration::from_millis(50);
    })
}

async fn one() -> (FakeController, TestBroker, Peer) {
    let controller = FakeController::listen(&World::shared(), "orch.example").await;
    let broker = dial(&[&controller]);
    let peer = controller.accept().await;
    (controller, broker, peer)
}

async fn state(broker: &TestBroker) -> (u16, String) {
    let tls = broker.world.anonymous_tls();
    let mut stream = tls_stream(broker.addr(), tls).await.unwrap();
    stream
        .write_all(b"GET /status/v1/simple HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    guard(stream.read_to_string(&mut answer)).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head.split(' ').nth(1).unwrap().parse().unwrap(),
        body.to_owned(),
    )
}

/// Polls until the broker has this state.
async fn state_becomes(broker: &TestBroker, wanted: (u16, &str)) {
    guard(async {
        while state(broker).await != (wanted.0, wanted.1.to_owned()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn k01_to_k03_path_certificate_and_tls() {
    let (controller, _broker, peer) = one().await;
    assert_eq!(peer.path, "/server/server");
    assert_eq!(peer.host, controller.addr.to_string());
    assert_eq!(peer.certname.as_deref(), Some("broker.example"));
    assert!(peer.tls13);
}

#[tokio::test]
async fn k04_agents_are_served_before_the_first_controller_comes() {
    // Other brokers answer 404 until then.
    let controller = FakeController::listen(&World::shared(), "orch.example").await;
    let broker = dial(&[&controller]);
    Client::connect(&broker, "a.example")
        .await
        .expect_alive()
        .await;
    assert_eq!(state(&broker).await, (503, "error".to_owned()));
    let _peer = controller.accept().await;
    state_becomes(&broker, (200, "running")).await;
}

#[tokio::test]
async fn k06_inventory_without_sender_and_target() {
    let (controller, broker, mut peer) = one().await;
    let _agent = Client::connect(&broker, "a.example").await;
    peer.send(json!({
        "id": "00000000-0000-4000-8000-000000000001",
        "message_type": "http://puppetlabs.com/inventory_request",
        "data": { "query": ["pcp://*/agent"], "subscribe": true },
    }))
    .await;
    let answer = peer.recv().await;
    assert_eq!(answer["data"], json!({ "uris": ["pcp://a.example/agent"] }));
    assert_eq!(answer["target"], controller.address());
    let _second = Client::connect(&broker, "b.example").await;
    let update = peer.recv().await;
    let changes = json!([{ "client": "pcp://b.example/agent", "change": 1 }]);
    assert_eq!(update["data"]["changes"], changes);
}

#[tokio::test]
async fn k07_to_k09_allowlist_spoofed_sender_not_connected() {
    let (controller, broker, mut peer) = one().await;
    let mut agent = Client::connect(&broker, "a.example").await;
    peer.send(message(
        1,
        "http://puppetlabs.com/rpc_blocking_response",
        "pcp://a.example/agent",
        json!({}),
    ))
    .await;
    assert_eq!(text_of(&peer.recv().await), "Message not authorized.");
    let mut spoofed = message(2, REQUEST, "pcp://a.example/agent", json!({}));
    spoofed["sender"] = json!("pcp://other.example:8143/server");
    peer.send(spoofed).await;
    assert_eq!(text_of(&peer.recv().await), "Message not authenticated.");
    peer.send(message(3, REQUEST, "pcp://gone.example/agent", json!({})))
        .await;
    let answer = peer.recv().await;
    assert_eq!(text_of(&answer), "Not connected.");
    assert_eq!(
        answer["in_reply_to"],
        "00000000-0000-4000-8000-000000000003"
    );
    peer.send(message(
        4,
        REQUEST,
        "pcp://a.example/agent",
        json!({"ok": true}),
    ))
    .await;
    let heard = agent.recv().await;
    assert_eq!(heard["sender"], controller.address());
}

#[tokio::test]
async fn k10_agents_reach_the_controller_by_host_and_port() {
    let (controller, broker, mut peer) = one().await;
    let mut agent = Client::connect(&broker, "a.example").await;
    agent
        .send(message(1, "test/x", &controller.address(), json!(1)))
        .await;
    let heard = peer.recv().await;
    assert_eq!(heard["sender"], "pcp://a.example/agent");
    assert_eq!(heard["target"], controller.address());
}

#[tokio::test]
async fn k11_agents_stay_while_all_controllers_are_away_and_the_broker_dials_on() {
    let (controller, broker, peer) = one().await;
    let mut agent = Client::connect(&broker, "a.example").await;
    drop(peer);
    controller.refuse().await;
    controller.refuse().await;
    // Other brokers refuse new clients, and later close all sessions.
    agent.expect_alive().await;
    Client::connect(&broker, "b.example")
        .await
        .expect_alive()
        .await;
    agent
        .send(message(1, "test/x", &controller.address(), json!(1)))
        .await;
    assert_eq!(text_of(&agent.recv().await), "Not connected.");
    assert_eq!(state(&broker).await.0, 503);
    let mut back = controller.accept().await;
    state_becomes(&broker, (200, "running")).await;
    agent
        .send(message(2, "test/x", &controller.address(), json!(2)))
        .await;
    assert_eq!(back.recv().await["data"], 2);
}

#[tokio::test]
async fn k12_several_controllers_and_one_that_is_away() {
    let world = World::shared();
    let first = FakeController::listen(&world, "orch.example").await;
    let second = FakeController::listen(&world, "orch2.example").await;
    let broker = dial(&[&first, &second]);
    let (mut a, b) = (first.accept().await, second.accept().await);
    let mut agent = Client::connect(&broker, "a.example").await;
    drop(b);
    agent
        .send(message(1, "test/x", &first.address(), json!(1)))
        .await;
    assert_eq!(a.recv().await["data"], 1);
    assert_eq!(state(&broker).await.0, 200);
}

#[tokio::test]
async fn a_node_with_the_controllers_host_name_is_left_without_a_word() {
    let node = FakeController::listen(&World::shared(), "evil.example").await;
    let _broker = dial(&[&node]);
    for _ in 0..2 {
        node.is_left_without_a_word().await;
    }
}

#[tokio::test]
async fn a_controller_is_pinged() {
    let (_controller, _broker, mut peer) = one().await;
    match guard(peer.ws.next()).await {
        Some(Ok(Message::Ping(payload))) => assert_eq!(&payload[..], [0]),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn our_orchestrator_on_the_other_end() {
    let (controller, broker, peer) = one().await;
    let (fabric, mut inbox) = Fabric::new("pcp://orch.example/server".parse().unwrap());
    let mut events = fabric.watch_presence();
    let remote = fabric::remote::RemoteBroker {
        certname: peer.certname.clone().unwrap().parse().unwrap(),
        authority: peer.host.clone(),
    };
    let (sink, stream) = peer.ws.split();
    let incoming = Box::pin(stream.filter_map(|frame| {
        std::future::ready(match frame {
            Ok(Message::Text(text)) => Some(text.to_string()),
            _ => None,
        })
    }));
    let outgoing = Box::pin(sink.with(|text: String| async move {
        Ok::<_, tokio_tungstenite::tungstenite::Error>(Message::text(text))
    }));
    let served = fabric.clone();
    let link =
        tokio::spawn(
            async move { fabric::remote::serve(&served, remote, incoming, outgoing).await },
        );

    let tls = broker
        .world
        .client_tls(&broker.world.identity("ours.example"));
    let header = [("tutti-pxp-extensions", "version=1, acknowledged_results")];
    let mut agent = Client::over(broker.addr(), tls, "/pcp2/agent", &header)
        .await
        .unwrap();
    let Ok(Some(PresenceChange::Connected(name, presence))) = guard(events.next()).await else {
        panic!("no presence")
    };
    assert_eq!(name.as_str(), "ours.example");
    assert!(
        presence
            .capabilities
            .expect("announced")
            .acknowledged_results
    );
    assert_eq!(presence.broker.as_str(), "pcp://broker.example/server");

    let data = serde_json::value::to_raw_value(&json!({"n": 1})).unwrap();
    let request = pcp::PcpMessage::new(REQUEST, Some(data))
        .to("pcp://ours.example/agent".parse().unwrap())
        .from(fabric.address().clone());
    fabric.send(request).await.unwrap();
    let heard = agent.recv().await;
    assert_eq!(heard["sender"], controller.address());
    agent
        .send(message(
            9,
            "test/answer",
            heard["sender"].as_str().unwrap(),
            json!(1),
        ))
        .await;
    let inbound = guard(inbox.recv()).await.unwrap();
    assert_eq!(inbound.certname.as_str(), "ours.example");
    assert_eq!(inbound.message.target.as_ref(), Some(fabric.address()));

    drop(broker);
    guard(link).await.unwrap().unwrap();
    assert!(fabric.connected_nodes().is_empty());
}

#[tokio::test]
async fn a_close_of_a_controller_is_answered() {
    for code in [None, Some(CloseCode::Away)] {
        let (_controller, _broker, mut peer) = one().await;
        let frame = code.map(|code| CloseFrame {
            code,
            reason: "restart".into(),
        });
        guard(peer.ws.close(frame)).await.unwrap();
        let answer = loop {
            match guard(peer.ws.next()).await {
                Some(Ok(Message::Close(answer))) => break answer,
                Some(Ok(_)) => {}
                other => panic!("no close frame: {other:?}"),
            }
        };
        let expected = code.unwrap_or(CloseCode::Normal);
        assert_eq!(answer.map(|frame| frame.code), Some(expected));
    }
}

/// Sessions that begin and end between two rounds of updates.
#[tokio::test]
async fn a_session_that_is_gone_is_never_announced_without_what_it_can() {
    let (_controller, broker, mut peer) = one().await;
    let ask = |id: u32, kind: &str, data: serde_json::Value| {
        json!({
            "id": format!("00000000-0000-4000-8000-00000000000{id}"),
            "message_type": kind,
            "data": data,
        })
    };
    peer.send(ask(1, fabric::wire::PRESENCE_REQUEST, json!(null)))
        .await;
    let all = json!({"query": ["pcp://*/agent"], "subscribe": true});
    peer.send(ask(2, "http://puppetlabs.com/inventory_request", all))
        .await;
    peer.recv().await;

    let header = [("tutti-pxp-extensions", "version=1, acknowledged_results")];
    for name in ["brief.example", "lasting.example"] {
        let identity = broker.world.identity(name);
        let connect = async || {
            let tls = broker.world.client_tls(&identity);
            let path = "/pcp2/agent";
            let client = Client::over(broker.addr(), tls, path, &header).await;
            let uri = format!("pcp://{name}/agent");
            Client {
                uri,
                ..client.unwrap()
            }
        };
        if name == "brief.example" {
            for _ in 0..20 {
                let mut session = connect().await;
                session.expect_alive().await;
                session.ws.close(None).await.unwrap();
                // The broker has removed the session when its connection has ended.
                session.closed().await;
            }
        } else {
            let mut session = connect().await;
            let mut announced = std::collections::HashMap::new();
            'updates: loop {
                let update = peer.recv().await;
                if update["message_type"] == fabric::wire::PRESENCE {
                    for (uri, header) in update["data"]["capabilities"].as_object().unwrap() {
                        assert!(header.is_string(), "{uri} was announced as a stock agent");
                        announced.insert(uri.clone(), header.clone());
                    }
                    continue;
                }
                for change in update["data"]["changes"].as_array().unwrap() {
                    let uri = change["client"].as_str().unwrap();
                    if change["change"] == 1 {
                        assert!(announced.contains_key(uri), "{uri}");
                    }
                    if uri == "pcp://lasting.example/agent" {
                        break 'updates;
                    }
                }
            }
            session.expect_alive().await;
        }
    }
}
