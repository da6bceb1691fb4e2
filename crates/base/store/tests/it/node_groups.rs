//! Node groups and check-ins.

use store::{CheckInRow, NodeGroupRow};

use crate::engine::{Bench, both};

both!(
    groups_are_written_by_serial_number,
    groups_are_replaced_all_or_none,
    check_ins_are_bounded,
);

fn group(id: &str, parent: &str, name: &str) -> NodeGroupRow {
    NodeGroupRow {
        id: id.to_owned(),
        parent: parent.to_owned(),
        name: name.to_owned(),
        description: None,
        environment: "production".to_owned(),
        environment_trumps: true,
        rule: Some(r#"["~","name","a\u0000"]"#.to_owned()),
        classes: "{}".to_owned(),
        config_data: "{}".to_owned(),
        variables: "{}".to_owned(),
        last_edited_ms: 5,
        serial_number: 1,
    }
}

async fn groups_are_written_by_serial_number(bench: Bench) {
    let store = &bench.store;
    let root = group("r", "r", "root");
    store.insert_node_group(root.clone()).await.unwrap();
    store
        .insert_node_group(group("c", "r", "child"))
        .await
        .unwrap();
    assert!(
        store
            .insert_node_group(group("x", "r", "child"))
            .await
            .is_err()
    );
    assert_eq!(store.node_groups().await.unwrap()[1], root);
    let edited = NodeGroupRow {
        rule: None,
        description: Some("d".to_owned()),
        serial_number: 2,
        ..group("c", "r", "renamed")
    };
    let write = |serial| store.update_node_groups(vec![(edited.clone(), serial)]);
    assert_eq!(write(1).await.unwrap(), [true]);
    assert_eq!(write(1).await.unwrap(), [false], "another edit came before");
    assert_eq!(store.node_groups().await.unwrap()[0], edited);
    assert!(!store.delete_node_group("c", 1).await.unwrap());
    store
        .insert_node_group(group("g", "c", "grandchild"))
        .await
        .unwrap();
    assert!(
        !store.delete_node_group("c", 2).await.unwrap(),
        "it has a child"
    );
    assert!(store.delete_node_group("g", 1).await.unwrap());
    assert!(store.delete_node_group("c", 2).await.unwrap());
}

async fn groups_are_replaced_all_or_none(bench: Bench) {
    let store = &bench.store;
    let before = vec![group("a", "a", "A"), group("b", "a", "B")];
    store.replace_node_groups(before.clone()).await.unwrap();
    let twins = vec![group("c", "c", "C"), group("d", "c", "C")];
    assert!(store.replace_node_groups(twins).await.is_err());
    assert_eq!(store.node_groups().await.unwrap(), before);
    let after = vec![group("c", "c", "A")];
    store.replace_node_groups(after.clone()).await.unwrap();
    assert_eq!(store.node_groups().await.unwrap(), after);
}

async fn check_ins_are_bounded(bench: Bench) {
    let store = &bench.store;
    let check_in = |id: u32, certname: &str| CheckInRow {
        id: format!("{id:04}"),
        certname: certname.to_owned(),
        at_ms: i64::from(id),
        transaction_uuid: None,
        explanation: "{}".to_owned(),
    };
    for id in 0..4 {
        store.insert_check_in(check_in(id, "a"), 2).await.unwrap();
    }
    store.insert_check_in(check_in(9, "B"), 2).await.unwrap();
    let ids = |rows: Vec<CheckInRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(
        ids(store.check_ins_of("a").await.unwrap()),
        ["0003", "0002"]
    );
    assert_eq!(
        ids(store.check_ins(9, 0).await.unwrap()),
        ["0009", "0003", "0002"]
    );
    assert_eq!(ids(store.check_ins(1, 1).await.unwrap()), ["0003", "0002"]);
    assert_eq!(store.prune_check_ins(1).await.unwrap(), 2);
    assert_eq!(ids(store.check_ins(9, 0).await.unwrap()), ["0009"]);
}
