//! Catalogs of agents, and their compilations.

use store::{AgentCatalogBounds, AgentCatalogChange, AgentCatalogRow, CatalogCompilationRow};

use crate::engine::{Bench, both};

both!(
    a_node_has_its_last_catalogs_and_one_body,
    a_catalog_that_was_not_given_is_replaced,
    a_forgotten_or_unknown_node_has_none,
    catalogs_are_found_by_version_and_environment,
    unused_catalogs_are_deleted
);

const BOUNDS: AgentCatalogBounds = AgentCatalogBounds {
    catalogs: 3,
    compilations: 2,
    known_nodes_only: false,
};

fn row(certname: &str, sequence: i64) -> AgentCatalogRow {
    AgentCatalogRow {
        certname: certname.to_owned(),
        sequence,
        environment: "production".to_owned(),
        code_id: format!("code-{sequence}"),
        used_ms: sequence * 10,
        given: true,
        contents: vec![0, 1],
        body: Some(vec![255, 0]),
    }
}

fn catalog(certname: &str, sequence: i64) -> AgentCatalogChange {
    AgentCatalogChange::Catalog(row(certname, sequence))
}

fn compilation(certname: &str, sequence: i64) -> AgentCatalogChange {
    AgentCatalogChange::Compilation(CatalogCompilationRow {
        certname: certname.to_owned(),
        sequence,
        at_ms: sequence * 10,
        summary: format!("{{\"n\":{sequence}}}"),
    })
}

async fn change(bench: &Bench, changes: &[AgentCatalogChange]) {
    let changing = bench.store.change_agent_catalogs(changes, BOUNDS);
    changing.await.unwrap();
}

/// Sequences of the catalogs of a node that are stored, and of those that have a body.
async fn sequences(bench: &Bench, certname: &str) -> (Vec<i64>, Vec<i64>) {
    let rows = bench.store.agent_catalogs(certname, 10).await.unwrap();
    let all = rows.iter().map(|row| row.sequence).collect();
    let with_body = rows.iter().filter(|row| row.body.is_some());
    (all, with_body.map(|row| row.sequence).collect())
}

async fn a_node_has_its_last_catalogs_and_one_body(bench: Bench) {
    assert_eq!(bench.store.last_agent_catalog().await.unwrap(), None);
    for sequence in 1..=4 {
        change(
            &bench,
            &[catalog("a", sequence), compilation("a", sequence)],
        )
        .await;
    }
    change(&bench, &[catalog("b", 5), compilation("b", 6)]).await;
    assert_eq!(sequences(&bench, "a").await, (vec![4, 3, 2], vec![4]));
    let newest = bench.store.agent_catalogs("a", 1).await.unwrap();
    assert_eq!(newest, [row("a", 4)]);
    let compilations = bench.store.catalog_compilations("a", 10).await.unwrap();
    let last: Vec<i64> = compilations.iter().map(|row| row.sequence).collect();
    assert_eq!(last, [4, 3]);
    assert_eq!(compilations[0].summary, "{\"n\":4}");
    assert_eq!(bench.store.last_agent_catalog().await.unwrap(), Some(6));
}

async fn a_catalog_that_was_not_given_is_replaced(bench: Bench) {
    let unused = |sequence| {
        AgentCatalogChange::Catalog(AgentCatalogRow {
            given: false,
            ..row("a", sequence)
        })
    };
    change(&bench, &[catalog("a", 1), unused(2), unused(3)]).await;
    assert_eq!(sequences(&bench, "a").await, (vec![3, 1], vec![3]));
    let given = AgentCatalogChange::Given {
        certname: "a".to_owned(),
        sequence: 3,
        at_ms: 77,
    };
    change(&bench, &[given, catalog("a", 4)]).await;
    assert_eq!(sequences(&bench, "a").await, (vec![4, 3, 1], vec![4]));
    change(&bench, &[unused(5)]).await;
    let all = vec![5, 4, 3, 1];
    assert_eq!(sequences(&bench, "a").await, (all, vec![5]));
    let rows = bench.store.agent_catalogs("a", 10).await.unwrap();
    assert_eq!((rows[2].given, rows[2].used_ms), (true, 77));
}

async fn a_forgotten_or_unknown_node_has_none(bench: Bench) {
    let store = &bench.store;
    let known = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    store
        .record_inventory_nodes(&known(&["a", "b"]))
        .await
        .unwrap();
    let bounds = AgentCatalogBounds {
        known_nodes_only: true,
        ..BOUNDS
    };
    let all = ["a", "b", "c"].map(|name| [catalog(name, 1), compilation(name, 1)]);
    let all = all.concat();
    store.change_agent_catalogs(&all, bounds).await.unwrap();
    assert_eq!(sequences(&bench, "c").await.0, [0; 0], "not known");
    let of_unknown = store.catalog_compilations("c", 10).await.unwrap();
    assert_eq!(of_unknown, []);
    assert!(store.delete_inventory_node("a").await.unwrap());
    assert_eq!(sequences(&bench, "a").await.0, [0; 0]);
    assert_eq!(store.catalog_compilations("a", 10).await.unwrap(), []);
    assert_eq!(sequences(&bench, "b").await.0, [1]);
    let certname = "b".to_owned();
    change(&bench, &[AgentCatalogChange::Forget { certname }]).await;
    assert_eq!(sequences(&bench, "b").await.0, [0; 0]);
    assert_eq!(store.catalog_compilations("b", 10).await.unwrap().len(), 1);
}

async fn catalogs_are_found_by_version_and_environment(bench: Bench) {
    let of_test = AgentCatalogRow {
        environment: "test".to_owned(),
        ..row("b", 3)
    };
    let of_test = AgentCatalogChange::Catalog(of_test);
    change(&bench, &[catalog("a", 1), catalog("b", 2), of_test]).await;
    change(&bench, &[catalog("c", 4)]).await;
    let mut code_ids = bench.store.agent_catalog_code_ids().await.unwrap();
    code_ids.sort();
    assert_eq!(code_ids, ["code-1", "code-2", "code-3", "code-4"]);
    let nodes_since = async |since_ms, after: &str, limit| {
        let nodes = bench
            .store
            .nodes_with_agent_catalog("production", since_ms, after, limit);
        nodes.await.unwrap()
    };
    let nodes = async |after: &str, limit| nodes_since(0, after, limit).await;
    assert_eq!(
        nodes("", 10).await,
        ["a", "c"],
        "that of b is of another one"
    );
    assert_eq!(nodes("", 1).await, ["a"]);
    assert_eq!(nodes("a", 10).await, ["c"]);
    let used_ms = row("c", 4).used_ms;
    assert_eq!(nodes_since(used_ms, "", 10).await, ["c"]);
    assert_eq!(nodes_since(used_ms + 1, "", 10).await, [""; 0]);
}

async fn unused_catalogs_are_deleted(bench: Bench) {
    let changes = [catalog("a", 1), catalog("b", 2), compilation("a", 1)];
    change(&bench, &changes).await;
    assert_eq!(bench.store.prune_agent_catalogs(20).await.unwrap(), 1);
    assert_eq!(sequences(&bench, "a").await.0, [0; 0]);
    assert_eq!(bench.store.catalog_compilations("a", 1).await.unwrap(), []);
    assert_eq!(sequences(&bench, "b").await.0, [2]);
}
