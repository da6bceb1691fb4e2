//! The time that the audit adds to a command: `cargo run --release -p audit --example intent_cost
//! -- [DIRECTORY] [--smallest]`.
//!
//! A job of one node is inserted alone, and between an intent and its result as the API does it.
//! Both variants run in turn on the same disk. Prints JSON with times in microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use audit::{ActorKind, Audit, AuditActor, AuditConfig, AuditObject, AuditOutcome, AuditedAction};
use serde_json::{Value, json};
use store::{NewJob, NewRun, Store, StoreConfig};
use tokio::task::JoinSet;

const ROUNDS: u64 = 2_000;
/// Number of rounds with `--smallest`, which only tries the program: two for each caller.
const ROUNDS_SMALLEST: u64 = 2 * CALLERS;
const WARM_UP: u64 = 100;
/// Number of concurrent callers.
const CALLERS: u64 = 64;

type Failable<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Counter for unique ids.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the program is for")]
async fn main() -> Failable<()> {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let rounds = if is_smallest { ROUNDS_SMALLEST } else { ROUNDS };
    let directory = tempfile::tempdir_in(parent)?;
    let store = Store::open(&StoreConfig::sqlite(directory.path().join("tutti.db"))).await?;
    let config = AuditConfig {
        head_file: Some(directory.path().join("audit-head")),
        keep: None,
    };
    let audit = Audit::open(store.clone(), config).await;
    let (mut bare, mut audited) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + rounds {
        let alone = insert(&store).await?;
        let both = command(&store, &audit).await?;
        if round >= WARM_UP {
            bare.push(alone);
            audited.push(both);
        }
    }
    println!("{}", json!({"one_caller": told(bare, audited)}));
    let bare = many(&store, None, rounds).await?;
    let audited = many(&store, Some(&audit), rounds).await?;
    println!(
        "{}",
        json!({"callers": CALLERS, "each": told(bare, audited)})
    );
    audit.shutdown().await;
    store.close().await;
    Ok(())
}

/// Inserts a job; returns the duration in microseconds.
async fn insert(store: &Store) -> Failable<f64> {
    let started = Instant::now();
    store.insert_job(job()).await?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

/// Does the same between an intent and its result.
async fn command(store: &Store, audit: &Audit) -> Failable<f64> {
    let started = Instant::now();
    let intent = audit.intent(act()).await?;
    store.insert_job(job()).await?;
    intent.finish(AuditOutcome::default()).await;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

async fn many(store: &Store, audit: Option<&Audit>, rounds: u64) -> Failable<Vec<f64>> {
    let mut callers: JoinSet<Failable<Vec<f64>>> = JoinSet::new();
    let audit = audit.cloned().map(Arc::new);
    for _ in 0..CALLERS {
        let (store, audit) = (store.clone(), audit.clone());
        callers.spawn(async move {
            let mut took = Vec::new();
            for _ in 0..rounds / CALLERS {
                took.push(match &audit {
                    Some(audit) => command(&store, audit).await?,
                    None => insert(&store).await?,
                });
            }
            Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(caller) = callers.join_next().await {
        all.extend(caller??);
    }
    Ok(all)
}

fn told(mut bare: Vec<f64>, mut audited: Vec<f64>) -> Value {
    bare.sort_by(f64::total_cmp);
    audited.sort_by(f64::total_cmp);
    let at = |sorted: &[f64], share: f64| {
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((share * last) as usize).map(|us| us.round())
    };
    let both = |sorted: &[f64]| json!({"p50": at(sorted, 0.5), "p99": at(sorted, 0.99)});
    json!({"bare_us": both(&bare), "audited_us": both(&audited)})
}

fn act() -> AuditedAction {
    AuditedAction {
        actor: AuditActor {
            kind: ActorKind::User,
            id: "00000000-0000-4000-8000-000000000001".to_owned(),
            name: "ann".to_owned(),
            address: Some(std::net::Ipv4Addr::LOCALHOST.into()),
        },
        service: "orchestrator".to_owned(),
        action: "run".to_owned(),
        object: AuditObject::named("task", "package"),
        route: "POST /orchestrator/v1/command/task".to_owned(),
        permission: Some("tasks:run".to_owned()),
        details: Default::default(),
    }
}

fn job() -> NewJob {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let run = NewRun {
        certname: "node.example.com".to_owned(),
        transaction_id: format!("00000000-0000-4000-8000-{id:012}"),
        state: "ready".to_owned(),
        details: None,
        result: None,
        batch: None,
        event: None,
    };
    NewJob {
        command: "task".to_owned(),
        kind: "task".to_owned(),
        task: Some("package".to_owned()),
        environment: "production".to_owned(),
        options: "{}".to_owned(),
        sealed: None,
        owner: "ann".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 0,
        states: vec!["ready".to_owned()],
        batches: None,
        runs: vec![run],
        events: Vec::new(),
        slot: None,
        plan_job: None,
        mark: None,
    }
}
