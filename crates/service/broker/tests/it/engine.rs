//! The engine in the same process, through the fabric.

use std::sync::Arc;

use fabric::{EngineInbox, Fabric, FabricSendError, PresenceChange};
use pcp::{PcpMessage, PcpUri};
use serde_json::json;

use crate::support::{Client, TestBroker, V1Message, World, guard, message};

fn start() -> (TestBroker, Fabric, EngineInbox) {
    let address = PcpUri::new("orch.example", "server").unwrap();
    let (fabric, inbox) = Fabric::new(address);
    let broker = World::shared().broker_with(Some(fabric.clone()), |_| {});
    (broker, fabric, inbox)
}

fn to(target: &str) -> PcpMessage {
    let data = serde_json::value::to_raw_value(&json!({"x": 1})).unwrap();
    PcpMessage::new("test/x", Some(data))
        .to(target.parse().unwrap())
        .from("pcp://orch.example/server".parse().unwrap())
}

#[tokio::test]
async fn agents_are_announced_with_what_they_can_do() {
    let (broker, fabric, _inbox) = start();
    let mut events = fabric.watch_presence();
    let identity = broker.world.identity("ours.example");
    let tls = broker.world.client_tls(&identity);
    let header = [("tutti-pxp-extensions", "version=9.9, live_output, cancel")];
    let mut ours = Client::over(broker.addr(), Arc::clone(&tls), "/pcp2/agent", &header)
        .await
        .unwrap();
    let Ok(Some(PresenceChange::Connected(name, presence))) = guard(events.next()).await else {
        panic!("no presence")
    };
    assert_eq!(name.as_str(), "ours.example");
    let capabilities = presence.capabilities.expect("announced");
    assert!(capabilities.live_output && capabilities.cancel && !capabilities.acknowledged_results);
    assert_eq!(presence.broker.as_str(), "pcp://broker.example/server");
    // Other client types are not nodes.
    let _other = Client::over(broker.addr(), tls, "/pcp2/other", &[])
        .await
        .unwrap();
    let _stock = Client::connect(&broker, "stock.example").await;
    let Ok(Some(PresenceChange::Connected(name, presence))) = guard(events.next()).await else {
        panic!("no presence")
    };
    assert_eq!(
        (name.as_str(), presence.capabilities),
        ("stock.example", None)
    );
    ours.ws.close(None).await.unwrap();
    ours.closed().await;
    let gone = guard(events.next()).await;
    assert_eq!(
        gone,
        Ok(Some(PresenceChange::Disconnected(
            "ours.example".parse().unwrap()
        )))
    );
}

#[tokio::test]
async fn messages_go_both_ways() {
    let (broker, fabric, mut inbox) = start();
    let mut agent = Client::connect(&broker, "a.example").await;
    fabric.send(to("pcp://a.example/agent")).await.unwrap();
    let heard = agent.recv().await;
    assert_eq!(heard["sender"], "pcp://orch.example/server");
    agent
        .send(message(
            1,
            "test/answer",
            "pcp://orch.example/server",
            json!(2),
        ))
        .await;
    let inbound = guard(inbox.recv()).await.unwrap();
    assert_eq!(inbound.certname.as_str(), "a.example");
    assert_eq!(inbound.message.message_type, "test/answer");
    assert_eq!(
        inbound.message.sender.unwrap().as_str(),
        "pcp://a.example/agent"
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_at_once() {
    let (broker, fabric, _inbox) = start();
    let absent = "nobody.example".parse().unwrap();
    let sent = fabric.send(to("pcp://nobody.example/agent")).await;
    assert_eq!(sent, Err(FabricSendError::NotConnected(absent)));
    let agent = Client::connect(&broker, "a.example").await;
    drop(agent);
    drop(broker);
}

#[tokio::test]
async fn a_busy_engine_slows_its_senders_and_loses_nothing() {
    let (broker, _fabric, mut inbox) = start();
    let mut agent = Client::connect(&broker, "a.example").await;
    let count = u32::try_from(fabric::defaults::INBOX_MESSAGES).unwrap() + 500;
    for id in 0..count {
        agent
            .send(message(
                id,
                "test/x",
                "pcp://orch.example/server",
                json!(id),
            ))
            .await;
    }
    for id in 0..count {
        let inbound = guard(inbox.recv()).await.unwrap();
        assert_eq!(inbound.message.data.unwrap().get(), id.to_string());
    }
    agent.expect_alive().await;
}

#[tokio::test]
async fn a_stopped_broker_takes_its_nodes_along() {
    let (broker, fabric, _inbox) = start();
    let mut events = fabric.watch_presence();
    let mut agent = Client::connect(&broker, "a.example").await;
    guard(events.next()).await.unwrap();
    tokio::join!(agent.closed(), broker.handle.shutdown());
    let gone = guard(events.next()).await;
    assert!(
        matches!(gone, Ok(Some(PresenceChange::Disconnected(_)))),
        "{gone:?}"
    );
    assert!(fabric.connected_nodes().is_empty());
}

/// A pxp-agent over PCP 1 puts the standard error of actions into its message as it is.
#[tokio::test]
async fn a_v1_message_with_bytes_that_are_not_utf8_reaches_the_engine_with_a_mark() {
    let (broker, _fabric, mut inbox) = start();
    let mut agent = Client::at(&broker, "a.example", "/pcp/").await;
    let envelope = V1Message::envelope(
        1,
        "http://puppetlabs.com/rpc_non_blocking_response",
        "pcp://a.example/agent",
        &["pcp://orch.example/server"],
    );
    let data = b"{\"transaction_id\":\"1\",\"results\":{\"exitcode\":0,\"stderr\":\"a\xffb\"}}";
    agent
        .send_binary(V1Message::write(&envelope, &[(2, data)]))
        .await;
    let inbound = guard(inbox.recv()).await.unwrap();
    assert!(inbound.message.has_replaced_bytes);
    let data = inbound.message.data.unwrap();
    assert!(data.get().contains("a\u{fffd}b"), "{data}");
}
