//! Brokers on other machines, which connect to the server.

use api::ServerInfo;
use futures_util::{SinkExt as _, StreamExt as _};
use pcp::types::{INVENTORY_REQUEST, INVENTORY_RESPONSE, InventoryResponse, encode};
use pcp::{PcpMessage, PcpUri};
use pki::CertnamePrivilege;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error as WsError, Message as Frame};
use tokio_util::sync::CancellationToken;

use crate::site::{Broker, Site};
use crate::world::{World, privileged};

async fn world(stopping: &CancellationToken) -> World {
    Box::pin(World::with(ServerInfo {
        privileged_names: privileged(CertnamePrivilege::RemoteBroker, "broker2.example.com"),
        stopping: stopping.clone(),
        ..ServerInfo::default()
    }))
    .await
}

/// Receives the next message of the orchestrator; `None` if the connection is closed.
async fn heard(broker: &mut Broker) -> Option<PcpMessage> {
    loop {
        match broker.next().await? {
            Ok(Frame::Text(text)) => {
                return Some(pcp::v2::decode(&text).expect("PCP 2").to_message());
            }
            Ok(Frame::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Answers the orchestrator's inventory request: this agent is connected.
async fn introduce(broker: &mut Broker, agent: &str) {
    loop {
        let request = heard(broker).await.expect("an inventory request");
        if request.message_type == INVENTORY_REQUEST {
            let agent: PcpUri = format!("pcp://{agent}/agent").parse().expect("an address");
            let inventory = encode(&InventoryResponse { uris: vec![agent] });
            let answer = PcpMessage::new(INVENTORY_RESPONSE, Some(inventory))
                .from(PcpUri::broker())
                .to(request.sender.expect("a sender"));
            let text = pcp::v2::encode(&answer);
            broker.send(Frame::Text(text.into())).await.expect("sent");
            return;
        }
    }
}

#[tokio::test]
async fn the_agents_of_a_listed_broker_are_reachable_while_it_is_connected() {
    let world = world(&CancellationToken::new()).await;
    let site = Site::start(&world).await;
    for path in ["/server", "/server/server"] {
        let mut changes = world.state.fabric.watch_presence();
        let mut broker = site
            .dial("broker2.example.com", path)
            .await
            .expect("let in");
        introduce(&mut broker, "far.example.com").await;
        changes
            .next()
            .await
            .expect("no lag")
            .expect("the fabric is there");
        let item = world.ok("/orchestrator/v1/inventory/far.example.com").await;
        assert_eq!(item["connected"], true);
        assert_eq!(item["broker"], "pcp://broker2.example.com/server");
        broker.close(None).await.expect("closed");
        changes
            .next()
            .await
            .expect("no lag")
            .expect("the fabric is there");
        let item = world.ok("/orchestrator/v1/inventory/far.example.com").await;
        assert_eq!(
            item,
            json!({"name": "far.example.com", "connected": false,
            "absence": "never-connected"})
        );
    }
    site.end().await;
}

#[tokio::test]
async fn a_certificate_that_is_not_on_the_list_is_refused() {
    let world = world(&CancellationToken::new()).await;
    let site = Site::start(&world).await;
    let refused = site.dial("agent.example.com", "/server").await;
    let Err(WsError::Http(response)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(response.status().as_u16(), 403);
    // An administrator's token does not replace the certificate.
    let path = format!("/server?token={}", world.token);
    let refused = site.dial("agent.example.com", &path).await;
    assert!(matches!(refused, Err(WsError::Http(_))));
    site.end().await;
}

#[tokio::test]
async fn a_broker_whose_certificate_is_revoked_is_cut_and_cannot_come_back() {
    let world = world(&CancellationToken::new()).await;
    let site = Site::start(&world).await;
    let name = "broker2.example.com";
    let mut changes = world.state.fabric.watch_presence();
    let mut broker = site.dial(name, "/server").await.expect("let in");
    introduce(&mut broker, "far.example.com").await;
    changes.next().await.expect("no lag").expect("it came");
    // The revocation of another certificate does not affect this broker: it still answers.
    let refused = site.dial("other.example.com", "/server").await;
    assert!(refused.is_err(), "not on the list");
    site.revoke("other.example.com");
    broker
        .send(Frame::Ping(Default::default()))
        .await
        .expect("sent");
    while !matches!(broker.next().await, Some(Ok(Frame::Pong(_)))) {}

    site.revoke(name);
    while heard(&mut broker).await.is_some() {}
    let gone = changes
        .next()
        .await
        .expect("no lag")
        .expect("the fabric is there");
    let expected = fabric::PresenceChange::Disconnected("far.example.com".parse().expect("a name"));
    assert_eq!(gone, expected);
    let again = site.dial(name, "/server").await;
    assert!(again.is_err(), "a revoked certificate");
    site.end().await;
}

#[tokio::test]
async fn brokers_are_let_go_when_the_server_stops() {
    let stopping = CancellationToken::new();
    let world = world(&stopping).await;
    let site = Site::start(&world).await;
    let mut broker = site
        .dial("broker2.example.com", "/server")
        .await
        .expect("let in");
    introduce(&mut broker, "far.example.com").await;
    stopping.cancel();
    while heard(&mut broker).await.is_some() {}
    site.end().await;
}
