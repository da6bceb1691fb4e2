//! Exported resources of nodes.

use store::{ExportedTypeRow, ExportingNodeRow};

use crate::engine::{Bench, both};

both!(
    the_resources_of_a_node_are_replaced_together,
    a_node_without_resources_has_no_rows,
    exported_resources_are_read_in_pages_of_nodes,
    a_forgotten_node_exports_nothing
);

fn node(certname: &str) -> ExportingNodeRow {
    ExportingNodeRow {
        certname: certname.to_owned(),
        environment: "production".to_owned(),
        code_id: None,
        digest: Some("d".to_owned()),
    }
}

fn resources(certname: &str, resource_type: &str) -> ExportedTypeRow {
    ExportedTypeRow {
        certname: certname.to_owned(),
        resource_type: resource_type.to_owned(),
        resources: format!("[{{\"title\":\"of {certname} \\u0000 ü\"}}]"),
        sealed: None,
    }
}

async fn the_resources_of_a_node_are_replaced_together(bench: Bench) {
    let store = &bench.store;
    let first = [resources("a", "File"), resources("a", "Foo::Bar")];
    store
        .put_exported_resources(&node("a"), &first)
        .await
        .unwrap();
    let read = async |ty| store.exported_resources(ty, "", 10).await.unwrap();
    assert_eq!(read("File").await, first[..1]);
    assert_eq!(read("Foo::Bar").await, first[1..]);
    assert_eq!(read("file").await, []);
    let changed = ExportingNodeRow {
        code_id: Some("c2".to_owned()),
        digest: None,
        ..node("a")
    };
    let second = [ExportedTypeRow {
        sealed: Some(vec![0, 255, 1]),
        ..resources("a", "File")
    }];
    store
        .put_exported_resources(&changed, &second)
        .await
        .unwrap();
    assert_eq!(read("File").await, second);
    assert_eq!(read("Foo::Bar").await, []);
    assert_eq!(store.exporting_node("a").await.unwrap(), Some(changed));
    // two lists of one type are refused, and then nothing of the node changes
    let twice = [resources("a", "Exec"), resources("a", "Exec")];
    let refused = store.put_exported_resources(&node("a"), &twice).await;
    assert!(refused.is_err());
    assert_eq!(read("File").await, second);
    assert_eq!(read("Exec").await, []);
}

async fn a_node_without_resources_has_no_rows(bench: Bench) {
    let store = &bench.store;
    let some = [resources("a", "File")];
    store
        .put_exported_resources(&node("a"), &some)
        .await
        .unwrap();
    store.put_exported_resources(&node("a"), &[]).await.unwrap();
    assert_eq!(store.exporting_node("a").await.unwrap(), None);
    assert_eq!(store.exported_resources("File", "", 1).await.unwrap(), []);
}

async fn exported_resources_are_read_in_pages_of_nodes(bench: Bench) {
    let store = &bench.store;
    for certname in ["c", "a", "b"] {
        let rows = [resources(certname, "File"), resources(certname, "Exec")];
        store
            .put_exported_resources(&node(certname), &rows)
            .await
            .unwrap();
    }
    let page = async |after| {
        let rows = store.exported_resources("File", after, 2).await.unwrap();
        rows.into_iter().map(|row| row.certname).collect::<Vec<_>>()
    };
    assert_eq!(page("").await, ["a", "b"]);
    assert_eq!(page("b").await, ["c"]);
    assert_eq!(page("c").await, [""; 0]);
}

async fn a_forgotten_node_exports_nothing(bench: Bench) {
    let store = &bench.store;
    for certname in ["a", "b"] {
        let rows = [resources(certname, "File")];
        store
            .put_exported_resources(&node(certname), &rows)
            .await
            .unwrap();
    }
    let nodes = ["a".to_owned()];
    store.record_inventory_nodes(&nodes).await.unwrap();
    assert!(store.delete_inventory_node("a").await.unwrap());
    assert!(!store.delete_inventory_node("b").await.unwrap());
    assert_eq!(store.exporting_node("a").await.unwrap(), None);
    let left = store.exported_resources("File", "", 10).await.unwrap();
    assert_eq!(
        left,
        [],
        "b is deleted, though the inventory did not know it"
    );
}
