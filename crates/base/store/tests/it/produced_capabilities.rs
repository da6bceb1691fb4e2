//! Capabilities that nodes produce.

use store::{ProducedCapabilityRow, Store};

use crate::engine::{Bench, both};

both!(
    the_capabilities_of_a_node_are_replaced_together,
    a_capability_is_found_by_environment_type_and_title,
    a_deleted_node_produces_nothing
);

fn capability(environment: &str, title: &str, certname: &str) -> ProducedCapabilityRow {
    ProducedCapabilityRow {
        environment: environment.to_owned(),
        capability_type: "Sql".to_owned(),
        title: title.to_owned(),
        certname: certname.to_owned(),
        code_id: None,
        attributes: vec![0, 255, 1],
        produced_ms: Some(1_795_000_000_000),
    }
}

async fn put(store: &Store, certname: &str, rows: &[ProducedCapabilityRow]) {
    let put = store.put_produced_capabilities(certname, rows, false);
    assert!(put.await.unwrap());
}

async fn find(store: &Store, environment: &str, title: &str) -> Vec<ProducedCapabilityRow> {
    let found = store.produced_capabilities(environment, "Sql", title, None, 10);
    found.await.unwrap()
}

async fn the_capabilities_of_a_node_are_replaced_together(bench: Bench) {
    let store = &bench.store;
    let first = [capability("production", "ü'\"", "a")];
    put(store, "a", &first).await;
    assert_eq!(find(store, "production", "ü'\"").await, first);
    let second = [ProducedCapabilityRow {
        code_id: Some("c2".to_owned()),
        ..capability("staging", "x", "a")
    }];
    put(store, "a", &second).await;
    assert_eq!(find(store, "production", "ü'\"").await, []);
    assert_eq!(find(store, "staging", "x").await, second);
    // the same capability twice is refused, and then nothing of the node changes
    let twice = [
        capability("production", "y", "a"),
        capability("production", "y", "a"),
    ];
    let refused = store.put_produced_capabilities("a", &twice, false);
    assert!(refused.await.is_err());
    assert_eq!(find(store, "staging", "x").await, second);
    put(store, "a", &[]).await;
    assert_eq!(find(store, "staging", "x").await, []);
}

async fn a_capability_is_found_by_environment_type_and_title(bench: Bench) {
    let store = &bench.store;
    for certname in ["b", "a"] {
        let rows = [
            capability("production", "x", certname),
            capability("production", "y", certname),
        ];
        put(store, certname, &rows).await;
    }
    let producers = |rows: Vec<ProducedCapabilityRow>| -> Vec<String> {
        rows.into_iter().map(|row| row.certname).collect()
    };
    assert_eq!(producers(find(store, "production", "x").await), ["a", "b"]);
    let mut all = store.capability_producers().await.unwrap();
    all.sort();
    assert_eq!(all, ["a", "b"]);
    let of_code = ProducedCapabilityRow {
        code_id: Some("c1".to_owned()),
        ..capability("production", "x", "c")
    };
    put(store, "c", &[of_code]).await;
    for (code_id, limit, expected) in [
        (Some("c1"), 2, &["c", "a"][..]),
        (Some("c2"), 1, &["a"]),
        (None, 3, &["a", "b", "c"]),
    ] {
        let found = store.produced_capabilities("production", "Sql", "x", code_id, limit);
        assert_eq!(producers(found.await.unwrap()), expected, "{code_id:?}");
    }
    let one = store.produced_capabilities("production", "Sql", "x", None, 1);
    assert_eq!(producers(one.await.unwrap()), ["a"]);
    assert_eq!(find(store, "production", "X").await, []);
    assert_eq!(find(store, "staging", "x").await, []);
    let other = store.produced_capabilities("production", "sql", "x", None, 10);
    assert_eq!(other.await.unwrap(), []);
}

async fn a_deleted_node_produces_nothing(bench: Bench) {
    let store = &bench.store;
    store
        .record_inventory_nodes(&["a".to_owned()])
        .await
        .unwrap();
    let rows = [capability("production", "x", "a")];
    put(store, "a", &rows).await;
    let known = store.put_produced_capabilities("a", &rows, true);
    assert!(known.await.unwrap());
    assert!(store.delete_inventory_node("a").await.unwrap());
    assert_eq!(find(store, "production", "x").await, []);
    // nor later, when its last catalog is there
    let late = store.put_produced_capabilities("a", &rows, true);
    assert!(!late.await.unwrap());
    assert_eq!(find(store, "production", "x").await, []);
    let nothing = store.put_produced_capabilities("a", &[], true);
    assert!(nothing.await.unwrap());
}
