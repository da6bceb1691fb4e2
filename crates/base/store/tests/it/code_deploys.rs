//! Code deployments, and environments that are pinned to a version.

use store::{CodeDeployEnd, CodeDeployRow, CodePinRow, NewCodeDeploy, Store};

use crate::engine::{Bench, both};

both!(
    a_deployment_goes_through_its_states_and_then_stays,
    several_are_written_and_ended_together,
    lists_go_back_from_a_number,
    what_failed_last_is_told_until_it_is_mended,
    old_ones_are_forgotten_but_not_who_made_live_what_is_live,
    a_pin_is_one_for_an_environment,
);

fn new(name: &str, environment: &str) -> NewCodeDeploy {
    NewCodeDeploy {
        request_id: name.to_owned(),
        environment: environment.to_owned(),
        action: "deploy".to_owned(),
        options: "{}".to_owned(),
        owner: "anna".to_owned(),
        reason: "a\0b".to_owned(),
        state: "queued".to_owned(),
        queued_ms: 1_000,
    }
}

fn end(state: &str, by: i64, at: i64) -> CodeDeployEnd {
    CodeDeployEnd {
        state: state.to_owned(),
        finished_ms: at,
        served_by: by,
        signature: (state == "synced").then(|| format!("sig{by}")),
        before: None,
        outcome: "{}".to_owned(),
    }
}

async fn insert(store: &Store, name: &str, environment: &str) -> i64 {
    store
        .insert_code_deploys(&[new(name, environment)])
        .await
        .unwrap()[0]
}

async fn ended(store: &Store, name: &str, environment: &str, state: &str, at: i64) -> i64 {
    let id = insert(store, name, environment).await;
    let end = end(state, id, at);
    store.end_code_deploys(&[id], &end).await.unwrap();
    id
}

fn ids(rows: &[CodeDeployRow]) -> Vec<i64> {
    rows.iter().map(|row| row.id).collect()
}

async fn a_deployment_goes_through_its_states_and_then_stays(mut bench: Bench) {
    let id = insert(&bench.store, "one", "production").await;
    let store = &bench.store;
    store
        .enter_code_deploys(&[id], "deploying", Some(2_000))
        .await
        .unwrap();
    store
        .enter_code_deploys(&[id], "syncing", Some(3_000))
        .await
        .unwrap();
    let open = store.open_code_deploys().await.unwrap();
    assert_eq!(open[0].state, "syncing");
    assert_eq!(open[0].started_ms, Some(2_000), "when it began");
    assert_eq!(open[0].reason, "a\u{2400}b");
    let over = end("synced", id, 4_000);
    store.end_code_deploys(&[id], &over).await.unwrap();
    let late = end("failed", id, 5_000);
    store.end_code_deploys(&[id], &late).await.unwrap();
    store
        .enter_code_deploys(&[id], "queued", None)
        .await
        .unwrap();
    bench.reopen().await;
    let row = bench.store.code_deploy(id).await.unwrap().unwrap();
    assert_eq!(
        (row.state.as_str(), row.finished_ms),
        ("synced", Some(4_000))
    );
    assert_eq!(row.signature, Some(format!("sig{id}")));
    assert!(bench.store.open_code_deploys().await.unwrap().is_empty());
    assert_eq!(bench.store.code_deploy(77).await.unwrap(), None);
}

async fn several_are_written_and_ended_together(bench: Bench) {
    let store = &bench.store;
    let all = [new("a", "one"), new("b", "two"), new("c", "one")];
    let numbers = store.insert_code_deploys(&all).await.unwrap();
    assert_eq!(numbers, [1, 2, 3]);
    // One of them exists already, so none is written.
    let twice = [new("d", "three"), new("a", "one")];
    assert!(store.insert_code_deploys(&twice).await.is_err());
    assert_eq!(store.open_code_deploys().await.unwrap().len(), 3);
    let over = end("synced", 3, 2_000);
    store.end_code_deploys(&[1, 3], &over).await.unwrap();
    assert_eq!(
        store.code_deploy(1).await.unwrap().unwrap().served_by,
        Some(3)
    );
    assert_eq!(ids(&store.open_code_deploys().await.unwrap()), [2]);
}

async fn lists_go_back_from_a_number(bench: Bench) {
    let store = &bench.store;
    for name in ["a", "b", "c", "d"] {
        insert(store, name, if name == "b" { "two" } else { "one" }).await;
    }
    let all = store.code_deploys(None, None, 3).await.unwrap();
    assert_eq!(ids(&all), [4, 3, 2]);
    let one = store.code_deploys(Some("one"), Some(4), 10).await.unwrap();
    assert_eq!(ids(&one), [3, 1]);
}

async fn what_failed_last_is_told_until_it_is_mended(bench: Bench) {
    let store = &bench.store;
    ended(store, "a", "one", "failed", 1).await;
    let second = ended(store, "b", "two", "failed", 1).await;
    // A deployment that is in progress does not end the failure yet.
    insert(store, "c", "two").await;
    let mended = ended(store, "d", "one", "synced", 2).await;
    assert_eq!(ids(&store.failed_code_deploys().await.unwrap()), [second]);
    let newest = store.newest_code_deploys().await.unwrap();
    assert_eq!(ids(&newest), [mended, second], "by environment");
}

async fn old_ones_are_forgotten_but_not_who_made_live_what_is_live(bench: Bench) {
    let store = &bench.store;
    ended(store, "a", "one", "synced", 10).await;
    let live = ended(store, "b", "one", "synced", 20).await;
    ended(store, "c", "one", "failed", 30).await;
    let newest = ended(store, "d", "two", "failed", 40).await;
    assert_eq!(store.prune_code_deploys(100).await.unwrap(), 2);
    let left = store.code_deploys(None, None, 10).await.unwrap();
    assert_eq!(ids(&left), [newest, live]);
    assert_eq!(ids(&store.live_code_deploys().await.unwrap()), [live]);
    assert_eq!(insert(store, "e", "two").await, newest + 1);
}

async fn a_pin_is_one_for_an_environment(bench: Bench) {
    let pin = |signature: &str, owner: &str| CodePinRow {
        environment: "production".to_owned(),
        signature: signature.to_owned(),
        owner: owner.to_owned(),
        reason: "freeze".to_owned(),
        pinned_ms: 1,
    };
    let store = &bench.store;
    store.pin_code(&pin("a", "anna")).await.unwrap();
    store.pin_code(&pin("b", "ben")).await.unwrap();
    let found = store.code_pin("production").await.unwrap();
    assert_eq!(found, Some(pin("b", "ben")));
    assert_eq!(store.code_pins().await.unwrap().len(), 1);
    assert!(store.unpin_code("production").await.unwrap());
    assert!(!store.unpin_code("production").await.unwrap());
    assert_eq!(store.code_pin("production").await.unwrap(), None);
}
