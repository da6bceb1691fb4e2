//! Measures how many durable results per second SQLite accepts: `cargo run --release -p store
//! --example results_rate [DIRECTORY] [--smallest]`.
//!
//! Callers commit results of one node each for several seconds, with as many concurrent calls as
//! agents may report at once. Prints JSON, with the fsync rate of the same directory beside it.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use store::{JobRunChange, NewEvent, NewJob, NewRun, RunChange, Store, StoreConfig};

const SECONDS: u64 = 5;
const CALLERS: usize = 64;
/// Results in one call, as the engine of an orchestrator collects them while the previous commit is
/// in progress.
const BATCHES: [usize; 3] = [1, 16, 128];
const NODES: usize = 200_000;
/// Number of nodes for a short trial of the program.
const NODES_SMALLEST: usize = 500;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Outcome<()> {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let nodes = if is_smallest { NODES_SMALLEST } else { NODES };
    let directory = tempfile::tempdir_in(parent)?;
    let fsyncs = fsyncs_per_second(directory.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut measured = Vec::new();
    for batch in BATCHES {
        let path = directory.path().join(format!("{batch}.db"));
        let (results, seconds) = runtime.block_on(measure(&path, batch, nodes))?;
        measured.push(serde_json::json!({
            "results_per_call": batch,
            "callers": CALLERS,
            "results_per_second": (results as f64 / seconds).round(),
        }));
    }
    println!(
        "{}",
        serde_json::json!({"fsyncs_per_second": fsyncs, "measured": measured})
    );
    Ok(())
}

async fn measure(path: &Path, batch: usize, nodes: usize) -> Outcome<(u64, f64)> {
    let store = Store::open(&StoreConfig::sqlite(path)).await?;
    let job = store.insert_job(job(nodes)).await?;
    let (next, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (store, next, done) = (store.clone(), Arc::clone(&next), Arc::clone(&done));
        callers.spawn(async move {
            while started.elapsed() < Duration::from_secs(SECONDS) {
                let first = next.fetch_add(batch as u64, Ordering::Relaxed);
                let changes = (first..first + batch as u64)
                    .filter(|index| *index < nodes as u64)
                    .map(|index| result(job, index))
                    .collect::<Vec<_>>();
                if changes.is_empty() {
                    break;
                }
                let applied = store.commit(changes).await?;
                let changed = applied.iter().filter(|applied| applied.changed).count();
                done.fetch_add(changed as u64, Ordering::Relaxed);
            }
            Ok::<(), store::StoreError>(())
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    let seconds = started.elapsed().as_secs_f64();
    store.close().await;
    Ok((done.load(Ordering::Relaxed), seconds))
}

fn job(nodes: usize) -> NewJob {
    let run = |index| NewRun {
        certname: certname(index),
        transaction_id: format!("00000000-0000-4000-8000-{index:012}"),
        state: "running".to_owned(),
        details: None,
        result: None,
        batch: None,
        event: None,
    };
    NewJob {
        command: "task".to_owned(),
        kind: "task".to_owned(),
        task: Some("exec".to_owned()),
        environment: "production".to_owned(),
        options: "{}".to_owned(),
        sealed: None,
        owner: "admin".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 0,
        states: vec!["ready".to_owned(), "running".to_owned()],
        batches: None,
        runs: (0..nodes as u64).map(run).collect(),
        events: Vec::new(),
        slot: None,
        plan_job: None,
        mark: None,
    }
}

/// A result of about 300 bytes and an event of the same size.
fn result(job: store::JobNumber, index: u64) -> JobRunChange {
    let certname = certname(index);
    let event = NewEvent {
        kind: "node_finished".to_owned(),
        at_ms: 1,
        certname: Some(certname.clone()),
        details: format!(r#"{{"node":"{certname}","detail":{{}}}}"#),
        message: format!("Finished on {certname}"),
    };
    JobRunChange::Run(RunChange {
        job,
        certname,
        to_state: "finished".to_owned(),
        at_ms: 1,
        duration_ms: None,
        result: Some(format!(r#"{{"_output":"{}"}}"#, "x".repeat(280))),
        details: Some(r#"{"exit_code":0}"#.to_owned()),
        sealed: None,
        event: Some(event),
    })
}

fn certname(index: u64) -> String {
    format!("node{index:06}.example.com")
}

/// Appends one page at a time, each followed by fsync, and returns the rate.
fn fsyncs_per_second(directory: &Path) -> Outcome<f64> {
    let mut file = std::fs::File::create(directory.join("fsync"))?;
    let started = Instant::now();
    let mut count = 0_u32;
    while started.elapsed() < Duration::from_secs(1) {
        file.write_all(&[0; 4_096])?;
        file.sync_all()?;
        count += 1;
    }
    Ok((f64::from(count) / started.elapsed().as_secs_f64()).round())
}
