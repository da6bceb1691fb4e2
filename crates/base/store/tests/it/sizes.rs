//! Large requests and results.

use store::{JobRunChange, RunChange};

use crate::engine::{Bench, both, job};

both!(
    a_result_of_fifty_megabytes_is_kept,
    a_job_on_ten_thousand_nodes_is_one_transaction
);

async fn a_result_of_fifty_megabytes_is_kept(bench: Bench) {
    let number = bench.store.insert_job(job(&["a"])).await.unwrap();
    let result = format!("{{\"_output\":\"{}\"}}", "x".repeat(50 << 20));
    let change = RunChange {
        job: number,
        certname: "a".to_owned(),
        to_state: "finished".to_owned(),
        at_ms: 1,
        duration_ms: None,
        result: Some(result.clone()),
        details: None,
        sealed: None,
        event: None,
    };
    assert!(
        bench
            .store
            .commit(vec![JobRunChange::Run(change)])
            .await
            .unwrap()[0]
            .changed
    );
    let run = bench.store.run(number, "a").await.unwrap().unwrap();
    assert!(run.result.unwrap() == result);
}

async fn a_job_on_ten_thousand_nodes_is_one_transaction(bench: Bench) {
    let nodes: Vec<String> = (0..10_000).map(|index| format!("node{index}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let number = bench.store.insert_job(job(&nodes)).await.unwrap();
    assert_eq!(
        bench.store.node_states(&[number]).await.unwrap()[&number]["ready"],
        10_000
    );
}
