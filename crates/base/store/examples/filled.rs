//! Fills a store with finished jobs: `cargo run --release -p store --example filled -- DATABASE
//! JOBS NODES [JOBS NODES]…`, for example `sqlite:/tmp/tutti.db 50 20000`.
//!
//! The benchmarks of long lists read these jobs. Results have about 300 bytes; every tenth node
//! failed, and no two durations are the same.

use std::time::{SystemTime, UNIX_EPOCH};

use store::{JobChange, JobNumber, JobRunChange, NewJob, NewRun, RunChange, Store, StoreConfig};
use tokio::task::JoinSet;

/// Number of jobs that are written concurrently.
const WRITERS: usize = 16;
/// Number of results in one call.
const TOGETHER: u64 = 512;
/// Time between two jobs: 20,000 of them cover two weeks, so that a server does not prune the first
/// ones.
const APART_MS: i64 = 60_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments.next().ok_or("which database?")?;
    let store = Store::open(&StoreConfig::new(database)).await?;
    while let Some(jobs) = arguments.next() {
        let jobs: u64 = jobs.parse()?;
        let nodes: u64 = arguments.next().ok_or("how many nodes?")?.parse()?;
        fill(&store, jobs, nodes).await?;
    }
    store.close().await;
    Ok(())
}

async fn fill(store: &Store, jobs: u64, nodes: u64) -> Outcome<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let begin_ms = i64::try_from(now)? - i64::try_from(jobs)? * APART_MS;
    let mut writers: JoinSet<Outcome<()>> = JoinSet::new();
    for index in 0..jobs {
        if writers.len() >= WRITERS
            && let Some(done) = writers.join_next().await
        {
            done??;
        }
        let store = store.clone();
        writers.spawn(async move {
            one(&store, begin_ms + i64::try_from(index)? * APART_MS, nodes).await
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    Ok(())
}

/// Writes one job, from its start to its end.
async fn one(store: &Store, created_ms: i64, nodes: u64) -> Outcome<()> {
    let job = store.insert_job(new(created_ms, nodes)).await?;
    for first in (0..nodes).step_by(usize::try_from(TOGETHER)?) {
        let some = first..nodes.min(first + TOGETHER);
        let ends = some.map(|node| ended(job, created_ms, node));
        store.commit(ends.collect()).await?;
    }
    let over = JobChange {
        job,
        to_state: "finished".to_owned(),
        at_ms: created_ms + APART_MS,
        duration_ms: None,
        event: None,
    };
    store.commit(vec![JobRunChange::Job(over)]).await?;
    Ok(())
}

fn new(created_ms: i64, nodes: u64) -> NewJob {
    let run = |node| NewRun {
        certname: certname(node),
        transaction_id: format!("{created_ms:016x}-{nodes:08x}-{node:08x}"),
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
        options: r#"{"task":"exec","environment":"production"}"#.to_owned(),
        sealed: None,
        owner: "admin".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms,
        states: vec!["ready".to_owned(), "running".to_owned()],
        batches: None,
        runs: (0..nodes).map(run).collect(),
        events: Vec::new(),
        slot: None,
        plan_job: None,
        mark: None,
    }
}

fn ended(job: JobNumber, created_ms: i64, node: u64) -> JobRunChange {
    let to_state = match node % 10 {
        0 => "failed",
        _ => "finished",
    };
    // Spread, so that the order by duration differs from the order by name.
    let took = i64::try_from(node.wrapping_mul(7_919) % 50_021).unwrap_or_default();
    JobRunChange::Run(RunChange {
        job,
        certname: certname(node),
        to_state: to_state.to_owned(),
        at_ms: created_ms + took,
        duration_ms: None,
        result: Some(format!(r#"{{"_output":"{}"}}"#, "x".repeat(280))),
        details: Some(r#"{"exit_code":0}"#.to_owned()),
        sealed: None,
        event: None,
    })
}

fn certname(node: u64) -> String {
    format!("node{node:06}.example.com")
}
