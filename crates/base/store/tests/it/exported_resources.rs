//! Exported resources of nodes.

use store::{ExportedPage, ExportedPageBounds, ExportedTypeRow, ExportingNodeRow, Store};

use crate::engine::{Bench, both};

both!(
    the_resources_of_a_node_are_replaced_together,
    a_node_without_resources_has_no_rows,
    exported_resources_are_read_in_pages_of_nodes,
    a_page_has_no_more_bytes_than_its_bound,
    a_forgotten_node_exports_nothing,
    resources_of_a_node_that_was_deleted_meanwhile_are_not_kept
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

const MANY: ExportedPageBounds = ExportedPageBounds {
    nodes: 10,
    bytes: 1 << 20,
};

/// All resources of a type.
async fn all(store: &Store, resource_type: &str) -> Vec<ExportedTypeRow> {
    let page = store.exported_resources(resource_type, "", MANY).await;
    page.unwrap().rows
}

/// Lets the inventory know these nodes.
async fn record(store: &Store, certnames: &[&str]) {
    let certnames: Vec<String> = certnames.iter().map(|it| (*it).to_owned()).collect();
    store.record_inventory_nodes(&certnames).await.unwrap();
}

async fn the_resources_of_a_node_are_replaced_together(bench: Bench) {
    let store = &bench.store;
    record(store, &["a"]).await;
    let first = [resources("a", "File"), resources("a", "Foo::Bar")];
    store
        .put_exported_resources(&node("a"), &first)
        .await
        .unwrap();
    let read = async |ty| all(store, ty).await;
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
    record(store, &["a"]).await;
    let some = [resources("a", "File")];
    store
        .put_exported_resources(&node("a"), &some)
        .await
        .unwrap();
    store.put_exported_resources(&node("a"), &[]).await.unwrap();
    assert_eq!(store.exporting_node("a").await.unwrap(), None);
    assert_eq!(all(store, "File").await, []);
}

async fn exported_resources_are_read_in_pages_of_nodes(bench: Bench) {
    let store = &bench.store;
    record(store, &["a", "b", "c"]).await;
    for certname in ["c", "a", "b"] {
        let rows = [resources(certname, "File"), resources(certname, "Exec")];
        store
            .put_exported_resources(&node(certname), &rows)
            .await
            .unwrap();
    }
    let page = async |after| certnames(store, after, ExportedPageBounds { nodes: 2, ..MANY }).await;
    assert_eq!(
        page("").await,
        (vec!["a".into(), "b".into()], Some("b".into()))
    );
    assert_eq!(page("b").await, (vec!["c".into()], Some("c".into())));
    assert_eq!(page("c").await, (vec![], None));
}

/// Nodes of a page, and the last one as the store names it.
async fn certnames(
    store: &Store,
    after: &str,
    bounds: ExportedPageBounds,
) -> (Vec<String>, Option<String>) {
    let page = store.exported_resources("File", after, bounds).await;
    let ExportedPage { rows, last } = page.unwrap();
    (rows.into_iter().map(|row| row.certname).collect(), last)
}

async fn a_page_has_no_more_bytes_than_its_bound(bench: Bench) {
    let store = &bench.store;
    record(store, &["a", "b", "c", "d", "e"]).await;
    let sizes = [
        ("a", 500, 0),
        ("b", 300, 300),
        ("c", 10, 10),
        ("d", 2_000, 0),
        ("e", 1, 0),
    ];
    for (certname, plain, sealed) in sizes {
        let row = ExportedTypeRow {
            // two bytes each
            resources: "ü".repeat(plain / 2),
            sealed: (sealed > 0).then(|| vec![0; sealed]),
            ..resources(certname, "File")
        };
        let put = store.put_exported_resources(&node(certname), &[row]).await;
        put.unwrap();
    }
    let mut pages = Vec::new();
    let mut after = String::new();
    let bounds = ExportedPageBounds {
        nodes: 10,
        bytes: 1_000,
    };
    loop {
        let (certnames, last) = certnames(store, &after, bounds).await;
        let Some(last) = last else { break };
        after = last;
        pages.push(certnames.join(" "));
    }
    // "d" is larger than a page, and alone in one
    assert_eq!(pages, ["a", "b c", "d", "e"]);
}

async fn a_forgotten_node_exports_nothing(bench: Bench) {
    let store = &bench.store;
    record(store, &["a"]).await;
    let rows = [resources("a", "File")];
    assert!(
        store
            .put_exported_resources(&node("a"), &rows)
            .await
            .unwrap()
    );
    assert!(store.delete_inventory_node("a").await.unwrap());
    assert_eq!(store.exporting_node("a").await.unwrap(), None);
    assert_eq!(all(store, "File").await, []);
}

async fn resources_of_a_node_that_was_deleted_meanwhile_are_not_kept(bench: Bench) {
    let store = &bench.store;
    record(store, &["a", "b"]).await;
    let put = async |certname, rows: &[ExportedTypeRow]| {
        let put = store.put_exported_resources(&node(certname), rows).await;
        put.unwrap()
    };
    assert!(put("b", &[resources("b", "File")]).await);
    store.delete_inventory_node("a").await.unwrap();
    assert!(!put("a", &[resources("a", "File"), resources("a", "Exec")]).await);
    assert!(put("a", &[]).await, "there is nothing that could stay");
    assert_eq!(store.exporting_node("a").await.unwrap(), None);
    assert_eq!(all(store, "Exec").await, []);
    assert_eq!(all(store, "File").await, [resources("b", "File")]);
}
