//! Nodes that have agents, and connections that are stored for them.

use std::sync::Arc;

use async_trait::async_trait;
use fabric::{BrokerLink, BrokerPort, FabricSendError};
use pcp::{Certname, PcpMessage};
use pki::seal::SealKey;
use serde_json::{Map, json};
use ssh::{CreateError, DuplicatePolicy, SshConnections};

use crate::world::{Outcome, World, certname};

/// A broker that takes everything and sends nothing.
struct Deaf;

#[async_trait]
impl BrokerLink for Deaf {
    async fn deliver(&self, _: PcpMessage) -> Result<(), FabricSendError> {
        Ok(())
    }

    fn has_session(&self, _: &Certname) -> bool {
        false
    }
}

fn broker(world: &World) -> BrokerPort {
    let address = "pcp://broker.example/server".parse().unwrap();
    world.fabric.attach_broker(address, Arc::new(Deaf))
}

/// Connects and disconnects an agent; returns when the store has its name.
async fn visit(world: &World, certname: &Certname) {
    let broker = broker(world);
    broker.add_node(certname.clone(), None);
    while !world
        .store
        .agents("", 10)
        .await
        .unwrap()
        .contains(&certname.to_string())
    {
        tokio::task::yield_now().await;
    }
    broker.remove_node(certname);
}

#[tokio::test]
async fn what_is_meant_for_an_agent_goes_to_no_host_that_was_stored_before() {
    let mut world = World::new().await;
    let names = [certname()];
    let connection = world.connection(json!({}));
    let stored = world
        .connections
        .create(&names, connection, DuplicatePolicy::Error);
    stored.await.unwrap();
    assert!(
        world.fabric.is_agentless_node(&names[0]),
        "it never had an agent"
    );

    visit(&world, &names[0]).await;
    assert!(!world.fabric.is_agentless_node(&names[0]));
    // A request for this node fails even if one is sent.
    let params = Map::from_iter([("command".to_owned(), "echo there".into())]);
    let transaction = world.ask_as_known(&names[0], "command", params).await;
    match world.outcome(&transaction).await {
        Outcome::Error(error) => assert!(error.contains("had an agent"), "{error}"),
        Outcome::Result(result) => panic!("{result:?}"),
    }
    let seal = SealKey::open_or_create(&world.directory.path().join("seal.key")).unwrap();
    let again = SshConnections::open(world.store.clone(), seal)
        .await
        .unwrap();
    assert!(!again.is_reachable(&names[0]), "nor after a restart");
    world.runner.shutdown().await;
}

#[tokio::test]
async fn for_a_node_with_an_agent_only_a_connection_that_says_so_is_stored_and_used() {
    let world = World::new().await;
    let names = [certname()];
    visit(&world, &names[0]).await;
    let plain = world.connection(json!({}));
    let create = |connection| {
        world
            .connections
            .create(&names, connection, DuplicatePolicy::Replace)
    };
    let refused = create(plain).await.unwrap_err();
    assert!(
        matches!(&refused, CreateError::Agents(taken) if *taken == names),
        "{refused}"
    );
    assert!(refused.to_string().contains("replaces-agent"), "{refused}");
    assert!(world.store.connections().await.unwrap().is_empty());

    let marked = world.connection(json!({"replaces-agent": true}));
    create(marked).await.unwrap();
    assert!(world.fabric.is_agentless_node(&names[0]));
    let shown = world.connections.query(Some(&names), false);
    assert_eq!(shown[0].parameters["replaces-agent"], true);
    world.runner.shutdown().await;
}
