//! A server that is killed between a command and its result.
//!
//! A child process (this test's own program) announces commands, every other one without a result,
//! until it is killed. Afterwards every announced command must be in the chain, and the chain
//! intact.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use audit::{Audit, AuditConfig, AuditOutcome, ExpectedChain};
use store::{Store, StoreConfig};

use crate::bench::act;

const CHILD: &str = "TUTTI_AUDIT_KILL_TEST";
const KILLS: usize = 10;

#[tokio::test]
async fn child() {
    // Not a test by itself: the process that is killed.
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let store = Store::open(&StoreConfig::sqlite(path)).await.unwrap();
    let audit = Audit::open(store, AuditConfig::default()).await;
    let mut under_way = Vec::new();
    loop {
        let ended = audit.intent(act("ended")).await.unwrap();
        ended.finish(AuditOutcome::default()).await;
        let intent = audit.intent(act("killed")).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "announced {}", intent.seq()).unwrap();
        out.flush().unwrap();
        under_way.push(intent);
    }
}

#[tokio::test]
async fn a_kill_between_a_command_and_its_result_leaves_a_whole_chain_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let mut announced = Vec::new();
    for round in 0..KILLS {
        announced.extend(killed_after(&path, 1 + (round * 7) % 20));
    }
    let store = Store::open(&StoreConfig::sqlite(&path)).await.unwrap();
    let report = audit::verify_store(&store, ExpectedChain::default())
        .await
        .unwrap()
        .unwrap();
    assert!(announced.len() >= KILLS);
    assert!(report.without_result >= announced.len() as u64);
    // At most one more of each kind in every round: the child was killed before it printed the
    // number, or before the result was written.
    assert!(report.without_result <= (announced.len() + 2 * KILLS) as u64);
    for seq in announced {
        let row = store.audit_entries(seq, 1).await.unwrap().remove(0);
        assert_eq!((row.seq, row.entry.phase.as_str()), (seq, "intent"));
        assert_eq!(row.entry.action, "killed");
    }
}

/// Starts the child and kills it after `count` announcements; returns all that it printed.
fn killed_after(path: &std::path::Path, count: usize) -> Vec<i64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut announced = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        // The test harness prints lines of its own, one of them without a line end.
        let Some((_, seq)) = line.split_once("announced ") else {
            continue;
        };
        announced.push(seq.parse().unwrap());
        if announced.len() == count {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    announced
}
