//! A broker on another machine that speaks plain PCP, as stock ones do.

use fabric::remote::{RemoteBroker, RemoteBrokerError, serve};
use fabric::{Fabric, PresenceChange};
use futures_util::{Sink, Stream};
use pcp::PcpMessage;
use pcp::types::{self, InventoryChange, InventoryDirection, InventoryResponse, InventoryUpdate};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::{engine, uri};

/// Address of the orchestrator at the broker.
const ADDRESS: &str = "pcp://orch.example:8143/server";

fn broker(authority: &str) -> RemoteBroker {
    RemoteBroker {
        certname: "broker.example".parse().unwrap(),
        authority: authority.to_owned(),
    }
}

fn stream(from: UnboundedReceiver<String>) -> impl Stream<Item = String> + Unpin {
    Box::pin(futures_util::stream::unfold(from, async |mut from| {
        Some((from.recv().await?, from))
    }))
}

fn sink(to: UnboundedSender<String>) -> impl Sink<String> + Unpin {
    Box::pin(futures_util::sink::unfold(to, async |to, text| {
        to.send(text).map(|()| to)
    }))
}

fn from_broker(message_type: &str, data: Box<serde_json::value::RawValue>) -> String {
    let message = PcpMessage::new(message_type, Some(data)).from(uri("pcp:///server"));
    pcp::v2::encode(&message.to(uri(ADDRESS)))
}

fn changes(changes: &[(&str, InventoryDirection)]) -> String {
    let changes = changes
        .iter()
        .map(|(client, change)| InventoryChange {
            client: uri(client),
            change: *change,
        })
        .collect();
    from_broker(
        types::INVENTORY_UPDATE,
        types::encode(&InventoryUpdate { changes }),
    )
}

#[tokio::test]
async fn a_stock_broker_is_asked_and_believed_and_addresses_are_rewritten() {
    let (fabric, mut inbox) = Fabric::new(engine());
    let mut events = fabric.watch_presence();
    let (to_us, incoming) = mpsc::unbounded_channel::<String>();
    let (outgoing, mut from_us) = mpsc::unbounded_channel::<String>();
    let script = async {
        let mut said = Vec::new();
        for _ in 0..2 {
            let text = from_us.recv().await.unwrap();
            let message = pcp::v2::decode(&text).unwrap().to_message();
            assert_eq!(message.sender.as_ref(), Some(&uri(ADDRESS)));
            said.push(message.message_type);
        }
        assert_eq!(
            said,
            [fabric::wire::PRESENCE_REQUEST, types::INVENTORY_REQUEST]
        );

        // A stock broker ignores the first one.
        let uris = vec![uri("pcp://a/agent"), uri("pcp://a/other")];
        let response = InventoryResponse { uris };
        to_us
            .send(from_broker(
                types::INVENTORY_RESPONSE,
                types::encode(&response),
            ))
            .unwrap();
        to_us.send("{ not json".to_owned()).unwrap();
        let update = [
            ("pcp://b/agent", InventoryDirection::Connected),
            ("pcp://a/agent", InventoryDirection::Disconnected),
        ];
        to_us.send(changes(&update)).unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(match events.next().await.unwrap().unwrap() {
                PresenceChange::Connected(name, presence) => {
                    assert_eq!(presence.capabilities, None);
                    format!("+{name}")
                }
                PresenceChange::Disconnected(name) => format!("-{name}"),
            });
        }
        assert_eq!(seen, ["+a", "+b", "-a"]);
        let holding = |name: &str| fabric.brokers_with_session(&name.parse().unwrap());
        assert!(holding("a").is_empty());
        assert_eq!(holding("b"), [uri("pcp://broker.example/server")]);

        fabric
            .send(
                PcpMessage::new("test/x", None)
                    .to(uri("pcp://b/agent"))
                    .from(engine()),
            )
            .await
            .unwrap();
        let text = from_us.recv().await.unwrap();
        let sent = pcp::v2::decode(&text).unwrap().to_message();
        assert_eq!(sent.sender, Some(uri(ADDRESS)));
        let answer = PcpMessage::new("test/y", None)
            .to(uri(ADDRESS))
            .from(uri("pcp://b/agent"));
        to_us.send(pcp::v2::encode(&answer)).unwrap();
        let inbound = inbox.recv().await.unwrap();
        assert_eq!(
            (inbound.certname.as_str(), inbound.message.target),
            ("b", Some(engine()))
        );

        // The node has disconnected meanwhile: the engine receives the id of the lost message.
        let error = PcpMessage::error("Not connected.", Some(sent.id)).from(uri("pcp:///server"));
        to_us.send(pcp::v2::encode(&error)).unwrap();
        let complaint = inbox.recv().await.unwrap();
        assert_eq!(complaint.certname.as_str(), "broker.example");
        let complaint = complaint.message;
        assert_eq!(complaint.in_reply_to, Some(sent.id));
        assert_eq!(complaint.sender, Some(uri("pcp://broker.example/server")));
        assert_eq!(complaint.message_type, types::ERROR_MESSAGE);
        drop(to_us);
    };
    let (served, ()) = tokio::join!(
        serve(
            &fabric,
            broker("orch.example:8143"),
            stream(incoming),
            sink(outgoing)
        ),
        script
    );
    served.unwrap();
    assert!(
        fabric.connected_nodes().is_empty(),
        "its nodes went with it"
    );
}

#[tokio::test]
async fn an_authority_that_makes_no_address_is_refused() {
    let (fabric, _inbox) = Fabric::new(engine());
    let (_to_us, incoming) = mpsc::unbounded_channel::<String>();
    let (outgoing, _from_us) = mpsc::unbounded_channel::<String>();
    let served = serve(&fabric, broker("a/b"), stream(incoming), sink(outgoing)).await;
    assert!(matches!(served, Err(RemoteBrokerError::Authority { .. })));
}
