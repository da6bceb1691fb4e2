//! A19: every change, cut, move or insertion is detected, with its place.

use audit::{ChainFault, ChainHead, ExpectedChain};
use store::NewAudit;

use crate::bench::{Bench, both};

both!(
    a_whole_chain_is_whole,
    an_edit_is_found_in_every_column,
    an_edit_with_its_hash_made_anew_is_found,
    a_cut_in_the_middle_is_found,
    a_cut_at_the_beginning_is_found,
    a_cut_at_the_end_is_found_by_the_ledger,
    a_cut_at_the_end_with_the_ledger_is_found_by_another_head,
    entries_that_change_places_are_found,
    an_entry_put_in_is_found,
    an_entry_put_in_at_the_end_is_found,
    a_chain_made_anew_is_found_by_another_head,
    a_row_that_cannot_be_read_is_named,
    a_chain_longer_than_a_page_is_read_to_its_end,
);

async fn a_whole_chain_is_whole(bench: Bench) {
    assert_eq!(bench.verify().await.unwrap().entries, 0, "an empty one too");
    let bench = bench.filled(10).await;
    let report = bench.verify().await.unwrap();
    assert_eq!((report.first, report.last, report.entries), (1, 10, 10));
    let mark = bench.store.audit_head().await.unwrap();
    assert_eq!(report.head, ChainHead::from(mark).to_string());
    let expected = ExpectedChain {
        heads: vec![mark.into()],
        hash: Some(mark.hash),
    };
    bench.verify_against(expected).await.unwrap();
}

async fn an_edit_is_found_in_every_column(bench: Bench) {
    let bench = bench.filled(10).await;
    for change in [
        "at_ms = at_ms + 1",
        "phase = 'login'",
        "intent = 3",
        "actor_type = 'server'",
        "actor_id = 'u-2'",
        "actor_name = 'bob'",
        "address = NULL",
        "service = 'rbac'",
        "action = 'x'",
        "object_type = 'x'",
        "object_id = 'x'",
        "object_name = 'x'",
        "route = 'x'",
        "decision = 'denied'",
        "permission = NULL",
        "status = 500",
        "times = 2",
        "details = '{\"x\":1}'",
        "hash = prev",
        "prev = hash",
    ] {
        bench
            .tamper("CREATE TABLE kept AS SELECT * FROM audit WHERE seq = 5")
            .await;
        bench
            .tamper(&format!("UPDATE audit SET {change} WHERE seq = 5"))
            .await;
        assert_eq!(
            bench.verify().await,
            Err(ChainFault::Edited { seq: 5 }),
            "{change}"
        );
        bench
            .tamper(
                "DELETE FROM audit WHERE seq = 5; INSERT INTO audit SELECT * FROM kept; \
                 DROP TABLE kept",
            )
            .await;
        bench.verify().await.unwrap();
    }
    bench
        .tamper("UPDATE audit SET version = 2 WHERE seq = 5")
        .await;
    let fault = ChainFault::Version { seq: 5, version: 2 };
    assert_eq!(bench.verify().await, Err(fault));
}

/// An attacker who can compute hashes changes an entry and its hash.
async fn an_edit_with_its_hash_made_anew_is_found(bench: Bench) {
    let bench = bench.filled(10).await;
    let row = bench.store.audit_entries(5, 1).await.unwrap().remove(0);
    let edited = NewAudit {
        actor_name: "bob".to_owned(),
        ..row.entry
    };
    let hash = hex(&edited.hash(row.version, 5, &row.prev));
    let literal = bench.bytes(&hash);
    let sql = format!("UPDATE audit SET actor_name = 'bob', hash = {literal} WHERE seq = 5");
    bench.tamper(&sql).await;
    assert_eq!(bench.verify().await, Err(ChainFault::Unlinked { seq: 6 }));
}

async fn a_cut_in_the_middle_is_found(bench: Bench) {
    let bench = bench.filled(10).await;
    bench.tamper("DELETE FROM audit WHERE seq IN (5, 6)").await;
    let fault = ChainFault::Missing { seq: 5, next: 7 };
    assert_eq!(bench.verify().await, Err(fault));
}

async fn a_cut_at_the_beginning_is_found(bench: Bench) {
    let bench = bench.filled(10).await;
    bench.tamper("DELETE FROM audit WHERE seq < 4").await;
    assert_eq!(
        bench.verify().await,
        Err(ChainFault::Beginning { first: 4 })
    );
}

async fn a_cut_at_the_end_is_found_by_the_ledger(bench: Bench) {
    let bench = bench.filled(10).await;
    bench.tamper("DELETE FROM audit WHERE seq > 7").await;
    let fault = ChainFault::End {
        missing: 8,
        head: 10,
    };
    assert_eq!(bench.verify().await, Err(fault));
    bench.tamper("DELETE FROM audit").await;
    let fault = ChainFault::End {
        missing: 1,
        head: 10,
    };
    assert_eq!(bench.verify().await, Err(fault));
}

/// With the database alone this cannot be detected: an attacker who can change all of it can
/// restore the state of yesterday. The head beside the database, or a hash kept elsewhere, reveals
/// it.
async fn a_cut_at_the_end_with_the_ledger_is_found_by_another_head(bench: Bench) {
    let bench = bench.filled(10).await;
    let noted = bench.store.audit_head().await.unwrap();
    let beside = ChainHead::read(&bench.head_file()).unwrap().unwrap();
    assert_eq!(beside, noted.into());
    bench
        .tamper(
            "DELETE FROM audit WHERE seq > 7; \
             UPDATE ledger SET audit = 7, audit_hash = (SELECT hash FROM audit WHERE seq = 7)",
        )
        .await;
    bench.verify().await.unwrap();
    let expected = ExpectedChain {
        heads: vec![beside],
        hash: None,
    };
    let fault = ChainFault::End {
        missing: 8,
        head: 10,
    };
    assert_eq!(bench.verify_against(expected).await, Err(fault));
    let expected = ExpectedChain {
        heads: Vec::new(),
        hash: Some(noted.hash),
    };
    let fault = bench.verify_against(expected).await.unwrap_err();
    assert!(matches!(fault, ChainFault::NotThere { .. }), "{fault}");
}

async fn entries_that_change_places_are_found(bench: Bench) {
    let bench = bench.filled(10).await;
    bench
        .tamper(
            "UPDATE audit SET seq = 1000 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 6; \
             UPDATE audit SET seq = 6 WHERE seq = 1000",
        )
        .await;
    assert_eq!(bench.verify().await, Err(ChainFault::Edited { seq: 5 }));
}

async fn an_entry_put_in_is_found(bench: Bench) {
    let bench = bench.filled(10).await;
    let copy = copied("seq = 5", "1005");
    bench
        .tamper(&format!(
            "{copy}; UPDATE audit SET seq = seq + 2000 WHERE seq > 5 AND seq < 1000; \
             UPDATE audit SET seq = 6 WHERE seq = 1005; \
             UPDATE audit SET seq = seq - 1999 WHERE seq > 2000"
        ))
        .await;
    assert_eq!(bench.verify().await, Err(ChainFault::Edited { seq: 6 }));
}

/// The entry and its link are valid, so only the ledger and other heads reveal it.
async fn an_entry_put_in_at_the_end_is_found(bench: Bench) {
    let bench = bench.filled(10).await;
    let row = bench.store.audit_entries(10, 1).await.unwrap().remove(0);
    let hash = bench.bytes(&hex(&row.entry.hash(row.version, 11, &row.hash)));
    let prev = bench.bytes(&hex(&row.hash));
    let copy = copied("seq = 10", "11");
    let sql = format!("{copy}; UPDATE audit SET prev = {prev}, hash = {hash} WHERE seq = 11");
    bench.tamper(&sql).await;
    let fault = ChainFault::Beyond { seq: 11, head: 10 };
    assert_eq!(bench.verify().await, Err(fault));
}

/// The chain is replaced by another one that is intact in itself.
async fn a_chain_made_anew_is_found_by_another_head(bench: Bench) {
    let bench = bench.filled(10).await;
    let noted = bench.store.audit_head().await.unwrap();
    bench
        .tamper(&format!(
            "DELETE FROM audit; UPDATE ledger SET audit = 0, audit_hash = {}",
            bench.bytes(&"00".repeat(32))
        ))
        .await;
    let bench = bench.reopened().await;
    std::fs::remove_file(bench.head_file()).unwrap();
    let bench = bench.filled(12).await;
    bench.verify().await.unwrap();
    let expected = ExpectedChain {
        heads: vec![noted.into()],
        hash: None,
    };
    let fault = ChainFault::Rewritten { seq: 10 };
    assert_eq!(bench.verify_against(expected).await, Err(fault));
}

async fn a_row_that_cannot_be_read_is_named(bench: Bench) {
    let bench = bench.filled(10).await;
    let short = bench.bytes("0102");
    bench
        .tamper(&format!("UPDATE audit SET hash = {short} WHERE seq = 5"))
        .await;
    let fault = bench.verify().await.unwrap_err();
    assert!(
        matches!(fault, ChainFault::Unreadable { seq: 5, .. }),
        "{fault}"
    );
    // An earlier defect is found first.
    bench
        .tamper("UPDATE audit SET action = 'x' WHERE seq = 3")
        .await;
    assert_eq!(bench.verify().await, Err(ChainFault::Edited { seq: 3 }));
}

async fn a_chain_longer_than_a_page_is_read_to_its_end(bench: Bench) {
    let count = 2 * audit::defaults::PAGE as i64 + 1;
    let entry = |i: i64| NewAudit {
        at_ms: i,
        phase: "event".to_owned(),
        times: 1,
        ..NewAudit::default()
    };
    bench
        .store
        .append_audit((0..count).map(entry).collect())
        .await
        .unwrap();
    assert_eq!(bench.verify().await.unwrap().last, count);
    bench
        .tamper(&format!("UPDATE audit SET times = 2 WHERE seq = {count}"))
        .await;
    assert_eq!(bench.verify().await, Err(ChainFault::Edited { seq: count }));
}

impl Bench {
    /// Bytes as an SQL literal of the engine.
    fn bytes(&self, hex: &str) -> String {
        match self.config.url.starts_with("sqlite:") {
            true => format!("x'{hex}'"),
            false => format!("decode('{hex}', 'hex')"),
        }
    }
}

/// SQL that inserts a copy of an entry with another number.
fn copied(which: &str, seq: &str) -> String {
    let columns = "version, at_ms, phase, intent, actor_type, actor_id, actor_name, address, \
                   service, action, object_type, object_id, object_name, route, decision, \
                   permission, status, times, details, prev, hash";
    format!("INSERT INTO audit (seq, {columns}) SELECT {seq}, {columns} FROM audit WHERE {which}")
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
