//! The head beside the database: a server notices at its start that the chain was changed.

use audit::Head;

use crate::bench::{Bench, both};

both!(
    a_start_after_a_cut_is_told_in_the_chain_and_keeps_the_head,
    a_start_without_a_change_tells_nothing,
    a_head_file_that_is_broken_is_put_aside,
    a_pruned_head_is_no_fault,
);

async fn a_start_after_a_cut_is_told_in_the_chain_and_keeps_the_head(bench: Bench) {
    let bench = bench.filled(10).await;
    let before = Head::read(&bench.head_file()).unwrap().unwrap();
    bench
        .tamper(
            "DELETE FROM audit WHERE seq > 7; \
             UPDATE ledger SET audit = 7, audit_hash = (SELECT hash FROM audit WHERE seq = 7)",
        )
        .await;
    let bench = bench.reopened().await;
    bench.audit().await.shutdown().await;
    let rows = bench.store.audit_entries(8, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].entry.action, "chain_contradicted");
    assert!(
        rows[0].entry.details.contains("entry 10"),
        "{:?}",
        rows[0].entry
    );
    let kept = std::fs::read_dir(bench.directory.path()).unwrap();
    let kept: Vec<_> = kept
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("contradicted"))
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(Head::read(&kept[0]).unwrap(), Some(before));
}

async fn a_start_without_a_change_tells_nothing(bench: Bench) {
    let bench = bench.filled(10).await;
    let bench = bench.reopened().await;
    bench.audit().await.shutdown().await;
    assert_eq!(bench.verify().await.unwrap().last, 10);
}

async fn a_head_file_that_is_broken_is_put_aside(bench: Bench) {
    let bench = bench.filled(3).await;
    std::fs::write(bench.head_file(), "{").unwrap();
    bench.audit().await.shutdown().await;
    let rows = bench.store.audit_entries(4, 10).await.unwrap();
    assert_eq!(rows[0].entry.action, "chain_contradicted");
    let head = Head::read(&bench.head_file()).unwrap().unwrap();
    assert_eq!(head.seq, 4, "a new one was written");
}

async fn a_pruned_head_is_no_fault(bench: Bench) {
    let bench = bench.filled(10).await;
    let head = Head::read(&bench.head_file()).unwrap().unwrap();
    let audit = bench.audit().await;
    // The head's own entry goes, one more stays.
    bench.tamper("UPDATE audit SET at_ms = at_ms").await;
    audit
        .record(&crate::bench::act("x"), &Default::default())
        .await
        .unwrap();
    let pruned = crate::prune::prune_through(&bench, head.seq).await;
    assert_eq!(pruned, 10);
    audit.shutdown().await;
    let expected = audit::Expected {
        heads: vec![head],
        hash: None,
    };
    let report = bench.verify_against(expected).await.unwrap();
    assert_eq!(report.heads_pruned, 1);
    bench.audit().await.shutdown().await;
    assert_eq!(
        bench.verify().await.unwrap().last,
        report.last,
        "nothing to tell"
    );
}
