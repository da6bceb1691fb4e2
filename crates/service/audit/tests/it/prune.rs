//! Old entries are pruned; the chain can still be verified, and records that they were pruned.

use std::time::Duration;

use audit::ChainFault;
use store::NewAudit;

use crate::bench::{Bench, both};

both!(
    old_entries_go_and_a_checkpoint_stays,
    a_prune_that_was_interrupted_is_taken_up,
    a_checkpoint_excuses_no_other_cut,
);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Adds `count` very old entries, and as many new ones.
async fn old_and_new(bench: &Bench, count: i64) {
    let now_ms = i64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap();
    let entry = |at_ms: i64| NewAudit {
        at_ms,
        phase: "event".to_owned(),
        times: 1,
        details: "{}".to_owned(),
        ..NewAudit::default()
    };
    let old = (0..count).map(entry);
    let new = (0..count).map(|_| entry(now_ms));
    bench
        .store
        .append_audit(old.chain(new).collect())
        .await
        .unwrap();
}

/// Makes all entries up to `seq` look old, and prunes them; returns their number.
pub(crate) async fn prune_through(bench: &Bench, seq: i64) -> u64 {
    let rows = bench.store.audit_entries(seq + 1, 1).await.unwrap();
    // The hashes stay unchanged: a prune deletes whole entries and reads no other column.
    let now_ms = i64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap();
    let keep_ms = u64::try_from(now_ms - rows[0].entry.at_ms).unwrap();
    bench
        .tamper(&format!("UPDATE audit SET at_ms = 0 WHERE seq < {seq}"))
        .await;
    bench
        .tamper(&format!("UPDATE audit SET at_ms = 1 WHERE seq = {seq}"))
        .await;
    audit::prune(&bench.store, Duration::from_millis(keep_ms + 1_000))
        .await
        .unwrap()
}

async fn old_entries_go_and_a_checkpoint_stays(bench: Bench) {
    old_and_new(&bench, 1_500).await;
    assert_eq!(audit::prune(&bench.store, DAY).await.unwrap(), 1_500);
    let report = bench.verify().await.unwrap();
    assert_eq!((report.first, report.last), (1_501, 3_001));
    let last = bench.store.last_audit_entry().await.unwrap().unwrap();
    assert_eq!(last.entry.phase, "checkpoint");
    assert!(last.entry.details.contains("\"through\":1500"));
    // No entry is old any more, so there is no second checkpoint.
    assert_eq!(audit::prune(&bench.store, DAY).await.unwrap(), 0);
    assert_eq!(bench.verify().await.unwrap().last, 3_001);
}

async fn a_prune_that_was_interrupted_is_taken_up(bench: Bench) {
    old_and_new(&bench, 2_500).await;
    let pruning = audit::prune(&bench.store, DAY);
    // The future is dropped before it has finished.
    let _ = tokio::time::timeout(Duration::from_millis(20), pruning).await;
    bench.verify().await.unwrap();
    audit::prune(&bench.store, DAY).await.unwrap();
    assert_eq!(bench.verify().await.unwrap().first, 2_501);
}

async fn a_checkpoint_excuses_no_other_cut(bench: Bench) {
    old_and_new(&bench, 100).await;
    audit::prune(&bench.store, DAY).await.unwrap();
    bench.verify().await.unwrap();
    bench.tamper("DELETE FROM audit WHERE seq < 110").await;
    assert_eq!(
        bench.verify().await,
        Err(ChainFault::Beginning { first: 110 })
    );
}
