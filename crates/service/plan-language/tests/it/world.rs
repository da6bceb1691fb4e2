//! The fixture of all tests: code, a store, nodes, a job engine and a plan engine that can be
//! restarted.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use convergence::{ComparedImports, ImportedData, RerunLimiter, RerunLimits};
use environments::{BlobStore, EnvironmentDir};
use evaluator::defaults::SHARED_BYTES_MAX;
use evaluator::{ParseCache, SharedBytes};
use jobs::Jobs;
use pki::seal::SealKey;
use plan_language::{NodesError, PlanOwner, PuppetPlans};
use plans::{JobPlanEffects, PlanLaunch, PlanPreviewMode, Plans, PlansConfig};
use serde_json::{Value, json};
use store::{Clock, Store, StoreConfig, SystemClock};

use crate::applications::Applications;
use crate::compiler::TestCompiler;
use crate::nodes::{Nodes, engine};

/// Far longer than any test needs, for busy machines.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub(crate) nodes: Nodes,
    pub(crate) store: Store,
    directory: tempfile::TempDir,
    jobs: Jobs,
    code: Arc<EnvironmentDir>,
    blobs: BlobStore,
    seal: Arc<SealKey>,
    names: Arc<[String]>,
    shared_bytes: Arc<SharedBytes>,
    pub(crate) imports: Imports,
    clock: Arc<AdvancedClock>,
    /// The reruns of all plans, also after a restart.
    pub(crate) reruns: Arc<RerunLimiter>,
    pub(crate) applications: Applications,
    /// True to start plans as unattended: prompts take their defaults.
    pub(crate) is_unattended: bool,
    plans: Option<Plans>,
}

/// The tasks of module `m`, to which nodes respond by name.
const TASKS: &[&str] = &["echo", "fails", "moody", "hold", "half", "secret", "takes"];

/// Nodes whose imported data have changed: at each question those of the next list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports(Arc<Mutex<VecDeque<Vec<String>>>>);

impl Imports {
    pub(crate) fn change(&self, nodes: &[&str]) {
        let nodes = nodes.iter().map(|&node| node.to_owned()).collect();
        self.0.lock().unwrap().push_back(nodes);
    }
}

#[async_trait]
impl ImportedData for Imports {
    async fn compare(&self, _: &[String]) -> ComparedImports {
        ComparedImports {
            changed: self.0.lock().unwrap().pop_front().unwrap_or_default(),
            ..ComparedImports::default()
        }
    }
}

/// The machine's clock, some milliseconds ahead.
#[derive(Debug, Default)]
struct AdvancedClock(AtomicI64);

impl Clock for AdvancedClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms() + self.0.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        SystemClock.steady_ms() + self.0.load(Ordering::SeqCst)
    }
}

impl World {
    /// Creates a world with these files in `environments/production/modules`, on the nodes `a`,
    /// `b`, `c` and `old`.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with_nodes(files, &["a", "b", "c", "old"]).await
    }

    /// Limits the bytes of all plans together.
    pub(crate) async fn with_shared_bytes(files: &[(&str, &str)], bytes: u64) -> Self {
        let mut world = Self::new(files).await;
        world.stop().await;
        world.shared_bytes = Arc::new(SharedBytes::new(bytes));
        world.start().await;
        world
    }

    /// Limits the reruns of all plans together.
    pub(crate) async fn with_reruns(files: &[(&str, &str)], limits: RerunLimits) -> Self {
        let mut world = Self::new(files).await;
        world.stop().await;
        world.reruns = Arc::new(RerunLimiter::new(limits, world.clock.clone()));
        world.start().await;
        world
    }

    /// Lets time pass for plans that are started later.
    pub(crate) fn advance(&self, time: Duration) {
        let ms = i64::try_from(time.as_millis()).unwrap();
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Creates a world on these nodes.
    pub(crate) async fn with_nodes(files: &[(&str, &str)], names: &[&str]) -> Self {
        Box::pin(Self::made(files, names)).await
    }

    /// Creates a world on nodes that really run commands and the tasks among these files.
    pub(crate) async fn with_shell(files: &[(&str, &str)], names: &[&str]) -> Self {
        let world = Box::pin(Self::made(files, names)).await;
        world.nodes.run_in_shell(&world.module_file(""));
        world
    }

    async fn made(files: &[(&str, &str)], names: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let modules = directory
            .path()
            .join("code/environments/production/modules");
        for task in TASKS {
            write(&modules.join(format!("m/tasks/{task}.sh")), "#!/bin/sh\n");
        }
        for (path, content) in files {
            write(&modules.join(path), content);
        }
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../modules");
        let code = EnvironmentDir::new(directory.path().join("code")).with_modules(shipped);
        let code = Arc::new(code);
        let blobs = BlobStore::open(directory.path().join("blobs")).unwrap();
        let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        let applications = Applications::default();
        let (path, reader) = (directory.path(), code.clone());
        let engine = engine(path, &store, reader, blobs.clone(), names, &applications);
        let (jobs, nodes) = engine.await;
        let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
        let clock = Arc::new(AdvancedClock::default());
        let limits = convergence::defaults::RERUN_LIMITS;
        let mut world = Self {
            reruns: Arc::new(RerunLimiter::new(limits, clock.clone())),
            clock,
            nodes,
            store,
            directory,
            jobs,
            code,
            blobs,
            seal: Arc::new(seal),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            shared_bytes: Arc::new(SharedBytes::new(SHARED_BYTES_MAX)),
            imports: Imports::default(),
            applications,
            is_unattended: false,
            plans: None,
        };
        world.start().await;
        world
    }

    pub(crate) async fn start(&mut self) {
        let programs = PuppetPlans::new(plan_language::PlanServices {
            apply_compiler: Arc::new(TestCompiler {
                code: self.code.clone(),
            }),
            code: self.code.clone(),
            blobs: self.blobs.clone(),
            nodes: Arc::new(Known(Arc::clone(&self.names))),
            imported_data: Arc::new(self.imports.clone()),
            reruns: Arc::clone(&self.reruns),
            pass_planner: Arc::new(self.jobs.clone()),
            parsed: ParseCache::new(),
            shared_bytes: Arc::clone(&self.shared_bytes),
            data: Arc::default(),
            hiera_config: Some(self.directory.path().join("global/hiera.yaml")),
        });
        let config = PlansConfig {
            workers: 2,
            long_sleep: Duration::from_millis(10),
            tick: Duration::from_millis(10),
            ..PlansConfig::default()
        };
        let effects = JobPlanEffects::new(self.jobs.clone(), self.store.clone());
        let plans = Plans::start(
            config,
            self.store.clone(),
            Arc::new(effects),
            Arc::new(programs),
            Arc::clone(&self.seal),
            self.clock.clone(),
        );
        self.plans = Some(plans.await.unwrap());
    }

    pub(crate) async fn stop(&mut self) {
        self.plans.take().unwrap().shutdown().await;
    }

    /// Returns the bytes in use of the budget that all plans share.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.shared_bytes.bytes_taken()
    }

    pub(crate) fn plans(&self) -> &Plans {
        self.plans.as_ref().unwrap()
    }

    /// Returns the path of a file beside the code.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Returns the path of a file of a module.
    pub(crate) fn module_file(&self, path: &str) -> PathBuf {
        let modules = "code/environments/production/modules";
        self.directory.path().join(modules).join(path)
    }

    /// Returns the directory of files downloaded from nodes.
    pub(crate) fn downloads(&self) -> PathBuf {
        self.directory.path().join("downloads")
    }

    /// Returns the files of the server that contain this text.
    pub(crate) fn files_with(&self, text: &str) -> Vec<PathBuf> {
        files_with(self.directory.path(), text)
    }

    pub(crate) async fn launch(&self, plan: &str, params: Value) -> i64 {
        self.begin(plan, params, None).await
    }

    /// Starts a preview of a plan.
    pub(crate) async fn look(&self, plan: &str, params: Value, preview: PlanPreviewMode) -> i64 {
        self.begin(plan, params, Some(preview)).await
    }

    /// Starts a plan with secret parameters.
    pub(crate) async fn launch_sealed(&self, plan: &str, params: Value, sensitive: &[&str]) -> i64 {
        let launch = PlanLaunch {
            plan: plan.to_owned(),
            environment: "production".to_owned(),
            params: params.as_object().unwrap().clone(),
            sensitive: sensitive.iter().map(|&name| name.to_owned()).collect(),
            owner: "admin".to_owned(),
            owner_id: "id-of-admin".to_owned(),
            ..PlanLaunch::default()
        };
        self.plans().run(&launch).await.unwrap()
    }

    /// Returns the options that the jobs of all plans show.
    pub(crate) async fn job_options(&self) -> Vec<Value> {
        let filter = store::JobListFilter::default();
        let (jobs, _) = self
            .store
            .jobs(&filter, store::ListPage::default())
            .await
            .unwrap();
        let options = jobs
            .iter()
            .map(|job| serde_json::from_str(&job.options).unwrap());
        options.collect()
    }

    /// Stops a job; its run that is under way goes on.
    pub(crate) async fn stop_job(&self, number: i64) {
        let number = store::JobNumber::new(number).unwrap();
        self.jobs.stop(number, false).await.unwrap();
    }

    /// Returns the states of all runs of all jobs.
    pub(crate) async fn states_of_runs(&self) -> Vec<String> {
        let (filter, page) = (store::JobListFilter::default(), store::ListPage::default());
        let (jobs, _) = self.store.jobs(&filter, page).await.unwrap();
        let mut states = Vec::new();
        for job in jobs {
            let runs = self.store.runs_after(job.number, "", 1_000).await.unwrap();
            states.extend(runs.into_iter().map(|run| run.state));
        }
        states
    }

    async fn begin(&self, plan: &str, params: Value, preview: Option<PlanPreviewMode>) -> i64 {
        self.begin_as(ADMIN_ID, plan, params, preview).await
    }

    /// Starts a plan of the user with this id.
    pub(crate) async fn begin_as(
        &self,
        owner_id: &str,
        plan: &str,
        params: Value,
        preview: Option<PlanPreviewMode>,
    ) -> i64 {
        let launch = PlanLaunch {
            preview,
            node_groups: ["some".to_owned()].into(),
            is_unattended: self.is_unattended,
            plan: plan.to_owned(),
            environment: "production".to_owned(),
            params: params.as_object().unwrap().clone(),
            owner: "admin".to_owned(),
            owner_id: owner_id.to_owned(),
            ..PlanLaunch::default()
        };
        self.plans().run(&launch).await.unwrap()
    }

    /// Returns the plan's state and result after its end.
    pub(crate) async fn over(&self, plan: i64) -> (String, Value) {
        let row = self
            .until("the plan is over", async || {
                let row = self.store.plan_job(plan).await.unwrap().unwrap();
                row.finished_ms.is_some().then_some(row)
            })
            .await;
        let result = row.result.unwrap_or_else(|| "null".to_owned());
        (row.state, serde_json::from_str(&result).unwrap())
    }

    pub(crate) async fn run(&self, plan: &str, params: Value) -> (String, Value) {
        self.over(self.launch(plan, params).await).await
    }

    /// Returns the messages of the plan's events of one kind.
    pub(crate) async fn told(&self, plan: i64, kind: &str) -> Vec<String> {
        let events = self.store.plan_events(plan, 0, 1_000).await.unwrap();
        let events = events.into_iter().filter(|event| event.kind == kind);
        events.map(|event| event.message).collect()
    }

    /// Returns the details of the plan's events of one kind.
    pub(crate) async fn details(&self, plan: i64, kind: &str) -> Vec<Value> {
        let events = self.store.plan_events(plan, 0, 1_000).await.unwrap();
        let events = events.into_iter().filter(|event| event.kind == kind);
        let details = events.map(|event| serde_json::from_str(&event.details).unwrap());
        details.collect()
    }

    /// Waits until `ready` returns a value, and yields to other tasks between the checks.
    pub(crate) async fn until<T>(&self, what: &str, ready: impl AsyncFn() -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = ready().await {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, wait).await;
        found.unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }
}

fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => files_with(&path, text),
        false => {
            let bytes = std::fs::read(&path).unwrap();
            let has = bytes.windows(text.len()).any(|it| it == text.as_bytes());
            has.then_some(path).into_iter().collect()
        }
    });
    found.collect()
}

/// Runs one plan, `m::p` with this body; returns its state and result.
pub(crate) async fn body(text: &str) -> (String, Value) {
    let plan = format!("plan m::p() {{\n{text}\n}}");
    let world = World::new(&[("m/plans/p.pp", &plan)]).await;
    world.run("m::p", json!({})).await
}

/// Returns the value of a plan that succeeded.
#[track_caller]
pub(crate) fn value(ended: (String, Value)) -> Value {
    assert_eq!(ended.0, "success", "{:#}", ended.1);
    ended.1
}

/// Returns the error kind and message of a plan that failed.
#[track_caller]
pub(crate) fn failure(ended: (String, Value)) -> (String, String) {
    assert_eq!(ended.0, "failure", "{:#}", ended.1);
    let text = |key: &str| ended.1[key].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("msg"))
}

pub(crate) fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The id of the user who may see all nodes.
const ADMIN_ID: &str = "id-of-admin";

/// Refuses owners without permission, as the server does.
fn check(owner: &PlanOwner) -> Result<(), NodesError> {
    match owner.id == ADMIN_ID {
        true => Ok(()),
        false => Err(NodesError(format!("{} lacks a permission", owner.login))),
    }
}

/// The nodes except `old`, which no query finds; `b` and `c` are in a group.
#[derive(Debug)]
struct Known(Arc<[String]>);

#[async_trait]
impl plan_language::NodeQueries for Known {
    async fn query(&self, owner: &PlanOwner, query: &Value) -> Result<Vec<Value>, NodesError> {
        check(owner)?;
        let text = query.to_string();
        if text.contains("wrong") {
            return Err(NodesError(
                "PuppetDB says that the query is wrong".to_owned(),
            ));
        }
        if text.contains("inventory") {
            return Ok(vec![json!({"certname": "a", "facts": {"os": "Debian"}})]);
        }
        let certname = |name: &String| json!({"certname": name});
        let names = self.0.iter().filter(|name| *name != "old");
        Ok(names.map(certname).collect())
    }

    async fn group(&self, owner: &PlanOwner, group: &str) -> Result<Vec<String>, NodesError> {
        check(owner)?;
        match group {
            "some" => Ok(vec!["b".to_owned(), "c".to_owned()]),
            other => Err(NodesError(format!("there is no node group {other}"))),
        }
    }

    async fn available(&self, certnames: &[String]) -> Vec<bool> {
        certnames.iter().map(|name| name != "gone").collect()
    }
}
