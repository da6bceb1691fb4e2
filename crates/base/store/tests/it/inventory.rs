//! Facts and reports of agents.

use store::{InventoryFacts, InventoryReportRow, InventoryReportWrite};

use crate::engine::{Bench, both};

both!(
    late_facts_do_not_replace_newer_ones,
    a_node_keeps_its_newest_reports,
    nodes_are_read_in_pages_and_forgotten_with_their_reports
);

fn facts(text: &str, at_ms: i64) -> InventoryFacts {
    InventoryFacts {
        facts: text.to_owned(),
        trusted: "{}".to_owned(),
        environment: Some("production".to_owned()),
        at_ms,
    }
}

fn report(certname: &str, uuid: &str, received_ms: i64) -> InventoryReportRow {
    InventoryReportRow {
        certname: certname.to_owned(),
        transaction_uuid: uuid.to_owned(),
        received_ms,
        report: format!("{{\"n\":{received_ms}}}"),
    }
}

/// A report of a node that keeps two.
fn two_kept(row: InventoryReportRow) -> InventoryReportWrite {
    InventoryReportWrite {
        row,
        job_id: None,
        keep: 2,
    }
}

async fn late_facts_do_not_replace_newer_ones(bench: Bench) {
    let store = &bench.store;
    store
        .record_inventory_nodes(&["a".to_owned()])
        .await
        .unwrap();
    let seen = store.inventory_nodes("", 10).await.unwrap();
    assert_eq!((seen.len(), seen[0].facts.as_ref()), (1, None));
    let put = async |text, at_ms| {
        let facts = facts(text, at_ms);
        store.put_inventory_facts("a", &facts, 10).await.unwrap()
    };
    assert!(put("{\"x\":1}", 5).await);
    assert!(!put("{\"x\":0}", 4).await);
    assert!(put("{\"x\":2}", 5).await, "the same moment: the last word");
    store
        .record_inventory_nodes(&["a".to_owned()])
        .await
        .unwrap();
    let kept = store.inventory_nodes("", 10).await.unwrap();
    assert_eq!(kept[0].facts, Some(facts("{\"x\":2}", 5)));
    // of a time at which the clock of the server was ahead
    assert!(put("{\"x\":3}", 11).await);
    assert!(put("{\"x\":4}", 6).await);
    let kept = store.inventory_nodes("", 10).await.unwrap();
    assert_eq!(kept[0].facts, Some(facts("{\"x\":4}", 6)));
}

async fn a_node_keeps_its_newest_reports(bench: Bench) {
    let store = &bench.store;
    for (uuid, at) in [("u1", 1), ("u3", 3), ("u2", 2)] {
        let row = report("a", uuid, at);
        store.put_inventory_report(&two_kept(row)).await.unwrap();
    }
    let other = report("b", "u1", 1);
    store
        .put_inventory_report(&two_kept(other.clone()))
        .await
        .unwrap();
    let kept = store.inventory_reports("", "a").await.unwrap();
    let names: Vec<&str> = kept.iter().map(|row| &*row.transaction_uuid).collect();
    assert_eq!(names, ["u3", "u2"]);
    assert_eq!(store.inventory_report("a", "u1").await.unwrap(), None);
    assert_eq!(
        store.inventory_report("b", "u1").await.unwrap(),
        Some(other)
    );
}

async fn nodes_are_read_in_pages_and_forgotten_with_their_reports(bench: Bench) {
    let store = &bench.store;
    for name in ["c", "a", "b"] {
        let facts = facts("{}", 1);
        store.put_inventory_facts(name, &facts, 1).await.unwrap();
        let row = report(name, "u", 1);
        store.put_inventory_report(&two_kept(row)).await.unwrap();
    }
    let page = store.inventory_nodes("a", 1).await.unwrap();
    assert_eq!(page[0].certname, "b");
    assert!(store.delete_inventory_node("b").await.unwrap());
    assert!(!store.delete_inventory_node("b").await.unwrap());
    let left = store.inventory_reports("", "c").await.unwrap();
    let names: Vec<&str> = left.iter().map(|row| &*row.certname).collect();
    assert_eq!(names, ["a", "c"]);
}
