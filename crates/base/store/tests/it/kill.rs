//! The server process is killed while it writes.
//!
//! A child (this test's own program) writes numbered records and prints each acknowledged one;
//! it is killed at random moments. Afterwards every acknowledged record must be there.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use store::{JobListFilter, JobOrder, ListPage, Store, StoreConfig};

use crate::engine::{job, run_to};

const CHILD: &str = "TUTTI_STORE_KILL_TEST";
const KILLS: usize = 25;

#[tokio::test]
async fn child() {
    // Not a test of its own: the process that is killed.
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let store = Store::open(&StoreConfig::sqlite(path)).await.unwrap();
    loop {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            calls.spawn(async move {
                let number = store.insert_job(job(&["a"])).await.unwrap();
                let change = run_to(number, "a", "finished", number.get());
                let applied = store.commit(vec![change]).await.unwrap();
                (number, applied[0].event_id.unwrap())
            });
        }
        while let Some(done) = calls.join_next().await {
            let (number, event_id) = done.unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "acknowledged {number} {event_id}").unwrap();
            out.flush().unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kills() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let mut acknowledged: Vec<(i64, i64)> = Vec::new();
    for round in 0..KILLS {
        acknowledged.extend(killed_after(&path, 1 + (round * 37) % 90));
    }
    assert!(acknowledged.len() >= KILLS);
    let integrity: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
    let store = Store::open(&StoreConfig::sqlite(&path)).await.unwrap();
    for (number, event_id) in acknowledged {
        let number = number.try_into().unwrap();
        let run = store.run(number, "a").await.unwrap().unwrap();
        assert_eq!(
            (run.state.as_str(), run.latest_event_id),
            ("finished", event_id)
        );
        let events = store.events(number, event_id, 1).await.unwrap();
        assert_eq!(events[0].id, event_id);
    }
    let filter = JobListFilter {
        order_by: JobOrder::Number,
        ..JobListFilter::default()
    };
    let (jobs, total) = store.jobs(&filter, ListPage::default()).await.unwrap();
    let numbers: Vec<i64> = jobs.iter().map(|row| row.number.get()).collect();
    assert_eq!(
        numbers,
        (1..=i64::try_from(total).unwrap()).collect::<Vec<_>>(),
        "contiguous"
    );
    store.close().await;
}

/// Starts the child, kills it after `count` acknowledgements and returns all that it printed.
fn killed_after(path: &std::path::Path, count: usize) -> Vec<(i64, i64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        // The test harness prints lines of its own, one of them without a line end.
        let Some((_, numbers)) = line.split_once("acknowledged ") else {
            continue;
        };
        let (number, event_id) = numbers.split_once(' ').unwrap();
        acknowledged.push((number.parse().unwrap(), event_id.parse().unwrap()));
        if acknowledged.len() == count {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}
