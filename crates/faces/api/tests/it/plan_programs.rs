//! The programs of the test plans, such as `test::rollout`. Their parameters are in the files of
//! the plans.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::plans::{
    BranchResult, JobPlanEffects, PlanBranch, PlanEventMessage, PlanFault, PlanLaunch, PlanProgram,
    PlanProgramSource, Plans, PlansConfig, StepRequest, StepWork,
};
use api_types::multi_pass::MULTI_PASS_PLAN;
use async_trait::async_trait;
use convergence::passes::BuiltInPasses;
use convergence::{
    BuiltInConvergence, ComparedImports, ImportedData, RerunLimiter, RerunLimits, RerunRate,
};
use jobs::{JobSpec, JobWork, Jobs, NodeScope, TaskWork};
use pki::seal::SealKey;
use serde_json::{Map, Value, json};
use store::{ListPage, Store, SystemClock};

use crate::world::World;

/// Timeout of every wait; no step takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Library {
    /// The reruns that all plan jobs share.
    reruns: Arc<RerunLimiter>,
}

/// No node imports data of others.
#[derive(Debug)]
struct NoImports;

#[async_trait]
impl ImportedData for NoImports {
    async fn compare(&self, _: &[String]) -> ComparedImports {
        ComparedImports::default()
    }
}

impl PlanProgramSource for Library {
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        let params = launch.params.clone();
        if let (MULTI_PASS_PLAN, Some(stored)) = (&*launch.plan, &launch.built_in) {
            let program = BuiltInPasses::new(stored);
            return Ok(Arc::new(program.expect("the API stores what can be read")));
        }
        if let Some(stored) = &launch.built_in {
            let reruns = Arc::clone(&self.reruns);
            let program = BuiltInConvergence::new(stored, Arc::new(NoImports), reruns);
            return Ok(Arc::new(program.expect("the API stores what can be read")));
        }
        let program: Arc<dyn PlanProgram> = match launch.plan.as_str() {
            "test::rollout" => {
                Arc::new(move |branch: &mut PlanBranch<'_>| rollout(branch, &params))
            }
            "test::asks" => Arc::new(asks),
            "test::works" => Arc::new(move |branch: &mut PlanBranch<'_>| works(branch, &params)),
            "test::fails" => Arc::new(works_not),
            other => return Err(PlanFault::new("bolt/unknown-plan", other)),
        };
        Ok(program)
    }
}

/// Reruns of a node for two jobs that have one each.
pub(crate) const RERUN_LIMITS: RerunLimits = RerunLimits {
    node: RerunRate {
        burst: 2,
        per_hour: 1,
    },
    ..convergence::defaults::RERUN_LIMITS
};

pub(crate) async fn start(store: &Store, jobs: &Jobs, dir: &Path) -> Plans {
    let reruns = Arc::new(RerunLimiter::new(RERUN_LIMITS, Arc::new(SystemClock)));
    let config = PlansConfig {
        workers: 1,
        tick: Duration::from_millis(10),
        ..PlansConfig::default()
    };
    let seal = SealKey::open_or_create(&dir.join("seal")).expect("a key");
    let plans = Plans::start(
        config,
        store.clone(),
        Arc::new(JobPlanEffects::new(jobs.clone(), store.clone())),
        Arc::new(Library { reruns }),
        Arc::new(seal),
        Arc::new(SystemClock),
    );
    plans.await.expect("the plan engine starts")
}

/// Waits until `look` returns a value, and polls it every 2 ms.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

/// Waits until the plan has ended or waits for an answer.
pub(crate) async fn settled(world: &World, plan: i64) {
    let store = &world.store;
    until("the plan gets somewhere", async || {
        let row = store.plan_job(plan).await.expect("read").expect("there");
        let waiting = store.plan_step_list(plan, Some("waiting"), ListPage::default());
        let waits = waiting.await.expect("read").1 > 0;
        (row.finished_ms.is_some() || waits).then_some(())
    })
    .await;
}

/// Runs a plan until it has ended or waits for an answer; returns the number of its plan job.
pub(crate) async fn run(world: &World, plan: &str) -> i64 {
    let launch = PlanLaunch {
        plan: plan.to_owned(),
        environment: "production".to_owned(),
        ..PlanLaunch::default()
    };
    let number = world.state.plans.run(&launch).await.expect("it runs");
    settled(world, number).await;
    number
}

fn tell(branch: &PlanBranch<'_>, text: &str) -> Result<(), PlanFault> {
    branch.step(StepRequest {
        kind: "out::message".into(),
        site: "test::rollout (rollout.pp:9)".to_owned(),
        arguments: json!({"message": text}),
        work: StepWork::RecordEvent(PlanEventMessage {
            kind: "out_message".to_owned(),
            details: Map::from_iter([("message".to_owned(), json!(text))]),
            message: text.to_owned(),
        }),
    })?;
    Ok(())
}

/// A plan that returns its parameters, without its secret.
fn rollout(branch: &PlanBranch<'_>, params: &Map<String, Value>) -> BranchResult {
    tell(branch, "rolling out")?;
    let mut result = params.clone();
    let password = result.remove("password").unwrap_or_default();
    let length = password.as_str().map(str::len);
    result.insert("password_bytes".to_owned(), json!(length));
    Ok(Value::Object(result))
}

fn asks(branch: &mut PlanBranch<'_>) -> BranchResult {
    let ask = |text: &str, sensitive: bool| {
        let details = json!({"sensitive": sensitive, "default": "no"});
        let outcome = branch.step(StepRequest {
            kind: "prompt".into(),
            site: "test::asks (asks.pp:2)".to_owned(),
            arguments: json!({"prompt": text}),
            work: StepWork::Ask(PlanEventMessage {
                kind: "prompt".to_owned(),
                details: details.as_object().cloned().unwrap_or_default(),
                message: text.to_owned(),
            }),
        })?;
        Ok::<_, PlanFault>((*outcome.value).clone())
    };
    let first = ask("Go on?", false)?;
    let second = ask("Password?", true)?;
    Ok(json!([first, second.as_str().map(str::len)]))
}

fn works(branch: &PlanBranch<'_>, params: &Map<String, Value>) -> BranchResult {
    let nodes = params["nodes"].as_array().into_iter().flatten();
    let names = nodes.map(|node| node.as_str().unwrap_or_default().parse());
    let task = TaskWork::new("production".parse().unwrap(), "test".parse().unwrap());
    let nodes = NodeScope::Nodes(names.collect::<Result<_, _>>().expect("certnames"));
    let outcome = branch.step(StepRequest {
        kind: "task".into(),
        site: "test::works (works.pp:1)".to_owned(),
        arguments: json!({"task": "test"}),
        work: StepWork::Run(Box::new(JobSpec::new(JobWork::Task(task), nodes))),
    })?;
    Ok((*outcome.value).clone())
}

fn works_not(branch: &mut PlanBranch<'_>) -> BranchResult {
    let outcome = branch.note("check", "test::fails (fails.pp:1)", json!({}), || {
        ::plans::StepOutcome::error("test/no", "it does not work")
    })?;
    Err(PlanFault::Failed((*outcome.value).clone()))
}
