//! Switches of environments, and the followers of code.

use store::{CodeFollowerRow, CodeGenerationRow};

use crate::engine::{Bench, both};

both!(
    the_last_switch_counts,
    a_follower_is_one_row_until_it_is_forgotten
);

fn switch(environment: &str, generation: i64, signature: Option<&str>) -> CodeGenerationRow {
    CodeGenerationRow {
        environment: environment.to_owned(),
        generation,
        signature: signature.map(str::to_owned),
    }
}

async fn the_last_switch_counts(bench: Bench) {
    let store = &bench.store;
    for row in [
        switch("staging", 1, Some("a")),
        switch("production", 2, Some("b")),
        switch("staging", 3, None),
    ] {
        store.set_code_generation(&row).await.unwrap();
    }
    let rows = store.code_generations().await.unwrap();
    let last = [
        switch("production", 2, Some("b")),
        switch("staging", 3, None),
    ];
    assert_eq!(rows, last);
}

async fn a_follower_is_one_row_until_it_is_forgotten(bench: Bench) {
    let store = &bench.store;
    let row = |name: &str, seen_ms: i64| CodeFollowerRow {
        name: name.to_owned(),
        seen_ms,
        report: format!("{{\"at\":{seen_ms}}}"),
    };
    for row in [
        row("b.example", 1),
        row("a.example", 2),
        row("b.example", 3),
    ] {
        store.set_code_follower(&row).await.unwrap();
    }
    let rows = store.code_followers().await.unwrap();
    assert_eq!(rows, [row("a.example", 2), row("b.example", 3)]);
    store.forget_code_follower("a.example").await.unwrap();
    store.forget_code_follower("nobody").await.unwrap();
    assert_eq!(store.code_followers().await.unwrap(), [row("b.example", 3)]);
}
