//! The head beside the database: a server notices at its start that the chain was changed.

use audit::{ChainFault, ChainHead, ExpectedChain, HeadFileHeads};

use crate::bench::{Bench, both};

both!(
    a_start_after_a_cut_is_told_in_the_chain_and_keeps_the_head,
    a_start_without_a_change_tells_nothing,
    a_head_file_that_is_broken_is_put_aside,
    a_pruned_head_is_no_fault,
    a_truncated_log_stays_detected_after_the_server_wrote_a_new_head,
    a_head_that_was_taken_away_is_told,
    a_check_says_whether_it_had_something_to_compare_with,
);

async fn a_start_after_a_cut_is_told_in_the_chain_and_keeps_the_head(bench: Bench) {
    let bench = bench.filled(10).await;
    let before = ChainHead::read(&bench.head_file()).unwrap().unwrap();
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
    assert_eq!(ChainHead::read(&kept[0]).unwrap(), Some(before));
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
    let head = ChainHead::read(&bench.head_file()).unwrap().unwrap();
    assert_eq!(head.seq, 4, "a new one was written");
}

async fn a_pruned_head_is_no_fault(bench: Bench) {
    let bench = bench.filled(10).await;
    let head = ChainHead::read(&bench.head_file()).unwrap().unwrap();
    let audit = bench.audit().await;
    // The entry of the head will be pruned, one more stays.
    bench.tamper("UPDATE audit SET at_ms = at_ms").await;
    audit
        .record(&crate::bench::act("x"), &Default::default())
        .await
        .unwrap();
    let pruned = crate::prune::prune_through(&bench, head.seq).await;
    assert_eq!(pruned, 10);
    audit.shutdown().await;
    let expected = audit::ExpectedChain {
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

const CUT: &str = "DELETE FROM audit WHERE seq > 7; \
                   UPDATE ledger SET audit = 7, audit_hash = (SELECT hash FROM audit WHERE seq = 7)";

/// The heads in the files beside the database, against which a check compares.
fn kept(bench: &Bench) -> ExpectedChain {
    let kept = HeadFileHeads::read(&bench.head_file()).unwrap();
    ExpectedChain {
        heads: kept.all().collect(),
        hash: None,
    }
}

async fn a_truncated_log_stays_detected_after_the_server_wrote_a_new_head(bench: Bench) {
    let bench = bench.filled(10).await;
    bench.tamper(CUT).await;
    let cut = bench.verify_against(kept(&bench)).await;
    assert_eq!(
        cut,
        Err(ChainFault::End {
            missing: 8,
            head: 10
        })
    );
    // The server starts, reports the defect, and continues the chain beyond the former end.
    let bench = bench.reopened().await.filled(10).await;
    assert!(bench.verify().await.is_ok(), "the rows alone say nothing");
    let after = bench.verify_against(kept(&bench)).await;
    assert_eq!(after, Err(ChainFault::Rewritten { seq: 10 }));
}

async fn a_head_that_was_taken_away_is_told(bench: Bench) {
    let bench = bench.filled(10).await;
    let report = bench.verify_against(kept(&bench)).await.unwrap();
    assert_eq!(report.compared_through, 10);
    std::fs::remove_file(bench.head_file()).unwrap();
    bench.tamper(CUT).await;
    let report = bench.verify_against(kept(&bench)).await.unwrap();
    assert_eq!(report.compared_through, 0);
    let bench = bench.reopened().await;
    bench.audit().await.shutdown().await;
    let rows = bench.store.audit_entries(8, 10).await.unwrap();
    assert_eq!(rows[0].entry.action, "head_missing");
    assert_eq!(rows.len(), 1);
}

async fn a_check_says_whether_it_had_something_to_compare_with(bench: Bench) {
    let bench = bench.filled(5).await;
    assert_eq!(bench.verify().await.unwrap().compared_through, 0);
    let head = ChainHead::read(&bench.head_file()).unwrap().unwrap();
    let third = bench.store.audit_entries(3, 1).await.unwrap()[0].hash;
    for (heads, hash, through) in [
        (vec![head], None, 5),
        (vec![], Some(third), 3),
        (vec![head], Some(third), 5),
        (
            vec![ChainHead {
                seq: 0,
                hash: [0; 32],
            }],
            None,
            0,
        ),
    ] {
        let report = bench.verify_against(ExpectedChain { heads, hash }).await;
        assert_eq!(report.unwrap().compared_through, through);
    }
}
