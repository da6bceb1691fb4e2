//! Connections that are stored.

use pki::seal::SealKey;
use serde_json::{Map, Value, json};
use ssh::{CreateError, DuplicatePolicy, SshConnections};

use crate::world::{Outcome, World, certname};

#[tokio::test]
async fn a_stored_connection_reaches_its_node_also_after_a_restart() {
    let mut world = World::new().await;
    let name = certname();
    assert!(!world.fabric.is_agentless_node(&name));
    let connection = world.connection(json!({}));
    let names = [name.clone()];
    let id = world
        .connections
        .create(&names, connection, DuplicatePolicy::Error)
        .await
        .unwrap();
    assert!(world.fabric.is_agentless_node(&name));
    assert!(
        world.fabric.connected_nodes().is_empty(),
        "it is not connected"
    );
    let params = Map::from_iter([("command".to_owned(), Value::from("echo there"))]);
    let transaction = world.ask_as_known(&name, "command", params.clone()).await;
    let result = world.outcome(&transaction).await.result();
    assert_eq!(result.stdout.as_deref(), Some("there\n"));

    let seal = SealKey::open_or_create(&world.directory.path().join("seal.key")).unwrap();
    let again = SshConnections::open(world.store.clone(), seal)
        .await
        .unwrap();
    assert_eq!(again.query(None, false)[0].id, id);
    let other = SealKey::open_or_create(&world.directory.path().join("other.key")).unwrap();
    let none = SshConnections::open(world.store.clone(), other)
        .await
        .unwrap();
    assert!(!none.is_reachable(&name), "sealed with another key");

    world.connections.delete(&names).await.unwrap();
    let transaction = world.ask_as_known(&name, "command", params).await;
    match world.outcome(&transaction).await {
        Outcome::Error(error) => assert!(error.contains("no connection"), "{error}"),
        Outcome::Result(result) => panic!("{result:?}"),
    }
}

#[tokio::test]
async fn duplicates_are_refused_or_replaced_and_unused_connections_go() {
    let world = World::new().await;
    let names = |names: &[&str]| -> Vec<pcp::Certname> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    };
    let connection = || world.connection(json!({"private-key-content": null, "password": "pw"}));
    let create = |some: Vec<pcp::Certname>, duplicates| {
        let connections = world.connections.clone();
        let connection = connection();
        async move { connections.create(&some, connection, duplicates).await }
    };
    let first = create(names(&["a", "b"]), DuplicatePolicy::Error)
        .await
        .unwrap();
    let error = create(names(&["b", "c"]), DuplicatePolicy::Error)
        .await
        .unwrap_err();
    assert!(matches!(error, CreateError::Duplicates(taken) if taken == names(&["b"])));
    assert!(
        !world.connections.is_reachable(&names(&["c"])[0]),
        "nothing of it was stored"
    );
    let second = create(names(&["b", "c"]), DuplicatePolicy::Replace)
        .await
        .unwrap();

    let shown = world
        .connections
        .query(Some(&names(&["c", "b", "b", "zzz"])), false);
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (shown[0].id.as_str(), &shown[0].certnames),
        (second.as_str(), &names(&["b", "c"]))
    );
    assert!(shown[0].sensitive.is_empty());
    assert!(
        !Value::Object(shown[0].parameters.clone())
            .to_string()
            .contains("pw")
    );
    let shown = world.connections.query(Some(&names(&["a"])), true);
    assert_eq!(shown[0].id, first);
    assert_eq!(shown[0].sensitive["password"], "pw");

    world
        .connections
        .delete(&names(&["a", "never"]))
        .await
        .unwrap();
    let rows = world.store.connections().await.unwrap();
    assert_eq!(
        rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        [second.as_str()]
    );
    assert_eq!(world.store.connection_nodes().await.unwrap().len(), 2);
}
