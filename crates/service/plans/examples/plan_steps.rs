//! Measures the cost of a step of a plan:
//! `cargo run --release -p plans --example plan_steps [DIRECTORY] [--smallest]`.
//!
//! Plans run a task without effect on a node in memory, with the real job engine and SQLite: a
//! single plan, a thousand at once, and ten thousand sleeping plans beside a thousand running ones.
//! Prints JSON.

#![expect(
    clippy::unwrap_used,
    reason = "a program that measures stops where something is wrong"
)]

#[path = "../tests/it/nodes.rs"]
mod nodes;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobs::{JobSpec, JobWork, NodeScope, TaskWork};
use pki::seal::SealKey;
use plans::{
    BranchResult, JobPlanEffects, PlanBranch, PlanLaunch, PlanProgram, Plans, PlansConfig,
    StepRequest, StepWork,
};
use serde_json::{Value, json};
use store::{Store, StoreConfig, SystemClock};

/// The sizes of the measurement.
#[derive(Clone, Copy)]
struct Size {
    /// Steps of the single plan.
    alone: i64,
    /// Number of concurrent plans, and the steps of each.
    many: (usize, i64),
    /// Number of sleeping plans.
    sleeping: usize,
}

const FULL: Size = Size {
    alone: 300,
    many: (1_000, 20),
    sleeping: 10_000,
};

const SMALLEST: Size = Size {
    alone: 3,
    many: (4, 3),
    sleeping: 10,
};

/// Number of plans that are started at once.
const STARTING: usize = 256;

type Took = Arc<Mutex<Vec<Duration>>>;

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let size = if is_smallest { SMALLEST } else { FULL };
    let directory = tempfile::tempdir_in(parent).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let measured = runtime.block_on(Box::pin(measure(directory.path(), size)));
    println!("{measured}");
}

async fn measure(directory: &Path, size: Size) -> Value {
    let config = StoreConfig::sqlite(directory.join("tutti.db"));
    let store = Store::open(&config).await.unwrap();
    let (jobs, nodes) = nodes::engine(directory, &store, true, &["a"]).await;
    nodes.let_go();
    let seal = Arc::new(SealKey::open_or_create(&directory.join("seal")).unwrap());
    let took = Took::default();
    let noted = Arc::clone(&took);
    let programs = move |launch: &PlanLaunch| {
        let program: Arc<dyn PlanProgram> = program(&launch.plan, size, &noted);
        Ok(program)
    };
    let effects = Arc::new(JobPlanEffects::new(jobs.clone(), store.clone()));
    let (programs, clock) = (Arc::new(programs), Arc::new(SystemClock));
    let config = PlansConfig::default();
    let plans = Plans::start(config, store, effects, programs, seal, clock);
    let plans = plans.await.unwrap();
    start(&plans, "alone", 1).await;
    idle(&plans, 0).await;
    let mut alone = std::mem::take(&mut *took.lock().unwrap());
    alone.sort_unstable();
    let before = rss_mb();
    let free = many(&plans, size.many).await;
    let running = rss_mb();
    start(&plans, "sleeper", size.sleeping).await;
    idle(&plans, size.sleeping).await;
    let sleeping = rss_mb();
    let beside = many(&plans, size.many).await;
    let both = rss_mb();
    plans.shutdown().await;
    jobs.shutdown().await;
    json!({
        "runs": nodes.ran().len(),
        "step_alone_ms": {"p50": ms(&alone, 50), "p99": ms(&alone, 99)},
        "plans_at_once": size.many.0,
        "steps_per_second": free,
        "steps_per_second_beside_sleeping": beside,
        "sleeping": size.sleeping,
        "rss_mb": {"idle": before, "ran": running, "sleeping": sleeping, "ran_beside": both},
    })
}

fn program(name: &str, size: Size, took: &Took) -> Arc<dyn PlanProgram> {
    let took = Arc::clone(took);
    match name {
        "alone" => Arc::new(move |branch: &mut PlanBranch<'_>| steps(branch, size.alone, &took)),
        "many" => Arc::new(move |branch: &mut PlanBranch<'_>| steps(branch, size.many.1, &took)),
        _ => Arc::new(|branch: &mut PlanBranch<'_>| sleeps(branch)),
    }
}

fn steps(branch: &PlanBranch<'_>, count: i64, took: &Took) -> BranchResult {
    for n in 0..count {
        let began = Instant::now();
        let task = TaskWork::new("production".parse().unwrap(), "test".parse().unwrap());
        let nodes = NodeScope::Nodes(vec!["a".parse().unwrap()]);
        let outcome = branch.step(StepRequest {
            kind: "task".into(),
            site: String::new(),
            arguments: json!(n),
            work: StepWork::Run(Box::new(JobSpec::new(JobWork::Task(task), nodes))),
        })?;
        assert!(outcome.ok);
        took.lock().unwrap().push(began.elapsed());
    }
    Ok(Value::Null)
}

fn sleeps(branch: &PlanBranch<'_>) -> BranchResult {
    branch.step(StepRequest {
        kind: "sleep".into(),
        site: String::new(),
        arguments: json!(86_400),
        work: StepWork::Sleep(Duration::from_secs(86_400)),
    })?;
    Ok(Value::Null)
}

async fn start(plans: &Plans, plan: &str, count: usize) {
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..count {
        let launch = PlanLaunch {
            plan: plan.to_owned(),
            environment: "production".to_owned(),
            owner: "admin".to_owned(),
            owner_id: "id-of-admin".to_owned(),
            ..PlanLaunch::default()
        };
        let plans = plans.clone();
        starting.spawn(async move { plans.run(&launch).await.unwrap() });
        if starting.len() >= STARTING {
            starting.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(started) = starting.join_next().await {
        started.unwrap();
    }
}

/// Waits until all remaining plans are asleep.
async fn idle(plans: &Plans, asleep: usize) {
    loop {
        let counts = plans.counts().await.unwrap();
        if counts.running == 0 && counts.queued == 0 && counts.asleep == asleep {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the steps per second of many concurrent plans.
async fn many(plans: &Plans, (count, each): (usize, i64)) -> f64 {
    let asleep = plans.counts().await.unwrap().asleep;
    let began = Instant::now();
    start(plans, "many", count).await;
    idle(plans, asleep).await;
    let steps = count as f64 * each as f64;
    (steps / began.elapsed().as_secs_f64()).round()
}

fn ms(sorted: &[Duration], percent: usize) -> f64 {
    let took = sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)];
    (took.as_secs_f64() * 100_000.0).round() / 100.0
}

fn rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1_024
}
