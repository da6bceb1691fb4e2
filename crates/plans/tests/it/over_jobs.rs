//! Plans over the real job engine, with nodes in memory.

use std::sync::Arc;

use jobs::{Scope, SystemClock, TaskRequest};
use pki::seal::SealKey;
use plans::{Branch, Ended, Launch, Order, OverJobs, Plans, Program, StepRequest, Work};
use serde_json::{Value, json};
use store::{Store, StoreConfig};

use crate::nodes::engine;
use crate::world::{launch, quick};

/// Runs a task on both nodes, one that is not there, and the first again.
fn program(branch: &mut Branch<'_>) -> Ended {
    let run = |task: &str| {
        let nodes = ["a", "b"].map(|name| name.parse().unwrap()).to_vec();
        let request = TaskRequest {
            task: task.to_owned(),
            scope: Scope::Nodes(nodes),
            ..TaskRequest::default()
        };
        branch.step(StepRequest {
            kind: "task".into(),
            site: String::new(),
            arguments: json!(task),
            work: Work::Run(Box::new(Order::Task(request))),
        })
    };
    let first = run("test")?;
    let unknown = run("nowhere::nothing")?;
    let last = run("test")?;
    assert!(first.ok && !unknown.ok && last.ok);
    Ok(json!([
        first.value["results"],
        unknown.value["kind"],
        last.value["state"]
    ]))
}

async fn plans(store: &Store, seal: &Arc<SealKey>, effects: &OverJobs) -> Plans {
    let programs = |_: &Launch| {
        let program: Arc<dyn Program> = Arc::new(program);
        Ok(program)
    };
    let (effects, programs) = (Arc::new(effects.clone()), Arc::new(programs));
    let clock = Arc::new(SystemClock);
    let plans = Plans::start(
        quick(),
        store.clone(),
        effects,
        programs,
        Arc::clone(seal),
        clock,
    );
    plans.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_awaits_the_job_that_it_made_before_it_died() {
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
    let store = Store::open(&config).await.unwrap();
    let (jobs, nodes) = engine(directory.path(), &store, true, &["a", "b"]).await;
    let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
    let (seal, effects) = (Arc::new(seal), OverJobs::new(jobs.clone(), store.clone()));
    let first = plans(&store, &seal, &effects).await;
    let number = first.run(&launch("any")).await.unwrap();
    while nodes.ran().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    first.shutdown().await;
    let second = plans(&store, &seal, &effects).await;
    nodes.let_go();
    let row = loop {
        let row = store.plan_job(number).await.unwrap().unwrap();
        if row.finished_ms.is_some() {
            break row;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    let result: Value = serde_json::from_str(&row.result.unwrap()).unwrap();
    let of = |target: &str| {
        json!({
            "target": target, "action": "task", "object": "test", "status": "success",
            "value": {"done": true},
        })
    };
    let expected = json!([[of("a"), of("b")], "bolt/unknown-task", "finished"]);
    assert_eq!((row.state.as_str(), &result), ("success", &expected));
    assert_eq!(nodes.ran(), [1; 4], "two tasks on two nodes, once each");
    let steps = second.journal(number).await.unwrap();
    let states: Vec<_> = steps.iter().map(|row| row.step.state.as_str()).collect();
    assert_eq!(states, ["done", "failed", "done"]);
    second.shutdown().await;
    jobs.shutdown().await;
}
