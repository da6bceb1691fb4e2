//! Plans on the real job engine, with nodes in memory.

use std::sync::Arc;

use jobs::{JobSpec, JobWork, NodeScope, TaskWork};
use pki::seal::SealKey;
use plans::{
    BranchResult, JobPlanEffects, PlanBranch, PlanEffects as _, PlanEventMessage, PlanLaunch,
    PlanProgram, Plans, StepRequest, StepWork,
};
use serde_json::{Value, json};
use store::{JobNumber, Store, StoreConfig, SystemClock};

use crate::nodes::{CANARY, engine};
use crate::world::{launch, quick};

/// The task on both nodes.
fn on_both(task: &str) -> JobSpec {
    let task = TaskWork::new("production".parse().unwrap(), task.parse().unwrap());
    let nodes = ["a", "b"].map(|name| name.parse().unwrap()).to_vec();
    JobSpec::new(JobWork::Task(task), NodeScope::Nodes(nodes))
}

/// Runs a task on both nodes, a task that does not exist, and the first task again.
fn program(branch: &mut PlanBranch<'_>) -> BranchResult {
    let run = |task: &str| {
        branch.step(StepRequest {
            kind: "task".into(),
            site: String::new(),
            arguments: json!(task),
            work: StepWork::Run(Box::new(on_both(task))),
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

/// Returns for each node whether its sensitive output was right, after a user's answer.
fn secret_program(branch: &mut PlanBranch<'_>) -> BranchResult {
    let told = branch.step(StepRequest {
        kind: "task".into(),
        site: String::new(),
        arguments: json!("secret"),
        work: StepWork::Run(Box::new(on_both("test::secret"))),
    })?;
    branch.step(StepRequest {
        kind: "ask".into(),
        site: String::new(),
        arguments: json!("go on?"),
        work: StepWork::Ask(PlanEventMessage {
            kind: "prompt".to_owned(),
            details: serde_json::Map::new(),
            message: "go on?".to_owned(),
        }),
    })?;
    let secret = |index: usize| &told.value["results"][index]["value"]["_sensitive"];
    Ok(json!([*secret(0) == CANARY, *secret(1) == CANARY, told.ok]))
}

async fn plans(store: &Store, seal: &Arc<SealKey>, effects: &JobPlanEffects) -> Plans {
    let programs = |launch: &PlanLaunch| {
        let program: Arc<dyn PlanProgram> = match launch.plan.as_str() {
            "secret" => Arc::new(secret_program),
            _ => Arc::new(program),
        };
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
    let (seal, effects) = (
        Arc::new(seal),
        JobPlanEffects::new(jobs.clone(), store.clone()),
    );
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

/// Returns true if a file of the server contains the secret in clear text.
fn is_somewhere(directory: &std::path::Path) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => is_somewhere(&path),
            false => {
                let bytes = std::fs::read(&path).unwrap();
                bytes
                    .windows(CANARY.len())
                    .any(|it| it == CANARY.as_bytes())
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nodes_tell_in_secret_is_there_after_a_restart_and_nowhere_in_clear() {
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
    let store = Store::open(&config).await.unwrap();
    let (jobs, _nodes) = engine(directory.path(), &store, false, &["a", "b"]).await;
    let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
    let (seal, effects) = (
        Arc::new(seal),
        JobPlanEffects::new(jobs.clone(), store.clone()),
    );
    let first = plans(&store, &seal, &effects).await;
    let number = first.run(&launch("secret")).await.unwrap();
    let asks = async |plans: &Plans| loop {
        let steps = plans.journal(number).await.unwrap();
        if steps.len() == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    asks(&first).await;
    first.shutdown().await;
    let job = "1".parse::<JobNumber>().unwrap();
    assert_eq!(store.run_secrets(job, "a", "b").await.unwrap().len(), 2);
    assert!(!is_somewhere(directory.path()));

    let second = plans(&store, &seal, &effects).await;
    let yes = json!(true);
    let step = "2".parse().unwrap();
    second
        .answer(number, step, "admin", &yes, false)
        .await
        .unwrap();
    let row = loop {
        let row = store.plan_job(number).await.unwrap().unwrap();
        if row.finished_ms.is_some() {
            break row;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    assert_eq!(row.result.as_deref(), Some("[true,true,true]"));
    assert_eq!(store.run_secrets(job, "a", "b").await.unwrap(), []);
    let journal = format!("{:?}", second.journal(number).await.unwrap());
    assert!(!journal.contains(CANARY) && !is_somewhere(directory.path()));
    second.shutdown().await;
    jobs.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_cannot_be_unsealed_is_a_failure_of_its_node() {
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
    let store = Store::open(&config).await.unwrap();
    let (jobs, _nodes) = engine(directory.path(), &store, false, &["a", "b"]).await;
    let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
    let effects = JobPlanEffects::new(jobs.clone(), store.clone());
    let plans = plans(&store, &Arc::new(seal), &effects).await;
    let number = plans.run(&launch("secret")).await.unwrap();
    while plans.journal(number).await.unwrap().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let path = directory.path().join("tutti.db");
    let database = rusqlite::Connection::open(path).unwrap();
    let altered = database.execute("UPDATE runs SET sealed = x'00' WHERE certname = 'b'", []);
    assert_eq!(altered.unwrap(), 1);
    let outcome = effects.outcome("1".parse().unwrap()).await.unwrap();
    let results = &outcome.value["results"];
    assert_eq!(results[0]["value"]["_sensitive"], CANARY);
    assert_eq!(results[1]["status"], "failure");
    let error = &results[1]["value"]["_error"];
    assert_eq!(error["kind"], "tutti/secret-unreadable");
    plans.shutdown().await;
    jobs.shutdown().await;
}
