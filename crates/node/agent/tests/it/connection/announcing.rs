//! Announcements: each connection announces the agent's current capabilities.

use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::connection::{ConnectionConfig, PcpVersion};
use tokio::time::timeout;

use super::support::{FakeBroker, PATIENCE, Peer, Site, TestAgent, capabilities, config};

fn announced(peer: &Peer) -> &str {
    let header = &peer.headers[pxp::CAPABILITIES_HEADER];
    header.to_str().expect("ASCII")
}

/// An agent that checks its announcement continuously, and its first connection.
async fn connected() -> (Site, FakeBroker, TestAgent, Peer) {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let config = ConnectionConfig {
        announce_interval: Duration::from_millis(10),
        settled_after: Duration::ZERO,
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    };
    let agent = TestAgent::start(config);
    let peer = broker.accept().await;
    assert_eq!(announced(&peer), capabilities().to_string());
    (site, broker, agent, peer)
}

/// Waits for two more checks of the agent, so that the first one has taken effect.
async fn looked(agent: &TestAgent) {
    let mut looks = agent.announcer.looks.subscribe();
    let enough = *looks.borrow() + 3;
    let seen = timeout(PATIENCE, looks.wait_for(|looks| *looks >= enough)).await;
    drop(seen.expect("in time").expect("the announcer lives"));
}

#[tokio::test]
async fn a_new_connection_announces_what_has_changed() {
    let (_site, broker, agent, peer) = connected().await;
    let other = agent.announcer.rotate();
    peer.close(1001, "going away").await;
    let peer = broker.accept().await;
    assert_eq!(announced(&peer), other);
}

#[tokio::test]
async fn news_is_announced_on_a_connection_of_its_own_when_a_peer_goes_by_it() {
    let (_site, broker, agent, mut peer) = connected().await;
    agent.announcer.is_heeded.store(true, Ordering::Relaxed);
    looked(&agent).await;
    peer.is_alive().await;
    let other = agent.announcer.rotate();
    let (mut next, ()) = tokio::join!(broker.accept(), async {
        // A close frame, answered by the library, then the end.
        while peer.next().await.is_some() {}
    });
    assert_eq!(announced(&next), other);
    looked(&agent).await;
    next.is_alive().await;
}

#[tokio::test]
async fn nobody_is_left_for_news_that_nobody_goes_by() {
    let (_site, _broker, agent, mut peer) = connected().await;
    agent.announcer.rotate();
    looked(&agent).await;
    peer.is_alive().await;
}
