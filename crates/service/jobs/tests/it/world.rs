//! What every test owns: a directory, a store, code, agents and an engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use environments::{BlobStore, CodeReader, EnvironmentDir};
use fabric::Fabric;
use jobs::{JobSpec, JobWork, Jobs, JobsConfig, LiveEvent, NodeScope, TaskWork};
use pcp::{Certname, PcpUri};
use pki::seal::SealKey;
use serde_json::{Map, Value, json};
use store::{EventRow, JobNumber, ListPage, RunFilter, RunRow, Store, StoreConfig};
use tempfile::TempDir;

use crate::sim::{Manner, Sim};

/// Nothing here takes a second by itself; a busy machine makes it long.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) sim: Sim,
    pub(crate) store: Store,
    pub(crate) config: JobsConfig,
    pub(crate) fabric: Fabric,
    store_config: StoreConfig,
    engine: Option<Incarnation>,
}

/// An engine in a runtime of its own, so that it can be killed at any await.
struct Incarnation {
    jobs: Jobs,
    runtime: tokio::runtime::Runtime,
}

/// Intervals for tests: everything that waits, waits for milliseconds.
pub(crate) fn quick() -> JobsConfig {
    JobsConfig {
        poll_interval: Duration::from_millis(40),
        poll_limit: 10,
        cancel_grace: Duration::from_millis(300),
        reconnect_grace: Duration::from_millis(300),
        away_grace: Duration::from_millis(300),
        presence_interval: Duration::from_millis(5),
        tick: Duration::from_millis(10),
        ping_timeout: Duration::from_millis(300),
        prune_after: None,
        ..JobsConfig::default()
    }
}

/// Intervals that never end within a test: nothing but messages moves anything.
pub(crate) fn patient() -> JobsConfig {
    let hour = Duration::from_secs(3_600);
    JobsConfig {
        poll_interval: hour,
        reconnect_grace: hour,
        away_grace: hour,
        ..quick()
    }
}

pub(crate) fn names(count: usize) -> Vec<Certname> {
    (0..count)
        .map(|n| format!("node{n:05}.example.com").parse().unwrap())
        .collect()
}

pub(crate) fn request(nodes: &[Certname]) -> JobSpec {
    let task = TaskWork::new("production".parse().unwrap(), "test".parse().unwrap());
    JobSpec {
        owner: "admin".to_owned(),
        ..JobSpec::new(JobWork::Task(task), NodeScope::Nodes(nodes.to_vec()))
    }
}

/// The job with its task changed.
pub(crate) fn with_task(mut spec: JobSpec, change: impl FnOnce(&mut TaskWork)) -> JobSpec {
    change(spec.work.task_mut().unwrap());
    spec
}

/// The task on these nodes, on so many at once.
pub(crate) fn at_once(concurrency: usize, nodes: &[Certname]) -> JobSpec {
    let mut spec = request(nodes);
    spec.limits.concurrency = Some(concurrency);
    spec
}

pub(crate) fn params(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

// === impl World ===

impl World {
    /// With intervals that never end: for tests in which every message arrives.
    pub(crate) async fn new() -> Self {
        Self::with(patient()).await
    }

    pub(crate) async fn with(config: JobsConfig) -> Self {
        Self::seeded(config, 1).await
    }

    pub(crate) async fn seeded(config: JobsConfig, seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store_config = StoreConfig::sqlite(dir.path().join("tutti.db"));
        Self::on(dir, store_config, config, seed).await
    }

    /// With a store of the test's.
    pub(crate) async fn on(
        dir: TempDir,
        store_config: StoreConfig,
        config: JobsConfig,
        seed: u64,
    ) -> Self {
        let mut world = Self::prepared(dir, store_config, config, seed).await;
        world.start().await;
        world
    }

    /// Without an engine: the test starts its own, with [`World::engine`].
    pub(crate) async fn without_engine() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store_config = StoreConfig::sqlite(dir.path().join("tutti.db"));
        Self::prepared(dir, store_config, JobsConfig::default(), 1).await
    }

    async fn prepared(
        dir: TempDir,
        store_config: StoreConfig,
        config: JobsConfig,
        seed: u64,
    ) -> Self {
        write_code(dir.path());
        let store = Store::open(&store_config).await.unwrap();
        let (fabric, _) = fabric();
        Self {
            dir,
            sim: Sim::new(seed),
            store,
            config,
            fabric,
            store_config,
            engine: None,
        }
    }

    /// Adds agents with the same manner.
    pub(crate) fn agents(&self, count: usize, manner: &Manner) -> Vec<Certname> {
        let names = names(count);
        for name in &names {
            self.sim.add(name, manner.clone());
        }
        names
    }

    /// Starts an engine; the broker connects its agents to it.
    pub(crate) async fn start(&mut self) {
        self.boot().await;
        self.sim.attach(&self.fabric);
    }

    /// Starts an engine that no broker is connected to yet.
    pub(crate) async fn boot(&mut self) {
        let start = self.engine(self.config.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let jobs = runtime.spawn(start).await.unwrap();
        self.engine = Some(Incarnation { jobs, runtime });
    }

    /// The start of an engine on this world's store, code and a new fabric; no broker is connected to it.
    pub(crate) fn engine(
        &mut self,
        config: JobsConfig,
    ) -> impl Future<Output = Jobs> + Send + 'static {
        let (fabric, inbox) = fabric();
        self.fabric = fabric.clone();
        let code: Arc<dyn CodeReader> = Arc::new(EnvironmentDir::new(self.dir.path().join("code")));
        let blobs = BlobStore::open(self.dir.path().join("blobs")).unwrap();
        let seal = SealKey::open_or_create(&self.dir.path().join("seal")).unwrap();
        let store = self.store.clone();
        async move {
            Jobs::start(config, store, fabric, inbox, code, blobs, seal)
                .await
                .unwrap()
        }
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.engine.as_ref().unwrap().jobs
    }

    /// The server dies: nothing is written, sent or waited for any more.
    pub(crate) async fn kill(&mut self) {
        self.die().await;
        self.reopen_store().await;
    }

    /// As [`World::kill`], and its store is not there for the next one yet.
    pub(crate) async fn die(&mut self) {
        let Incarnation { jobs, runtime } = self.engine.take().unwrap();
        let down = move || runtime.shutdown_timeout(Duration::from_secs(10));
        tokio::task::spawn_blocking(down).await.unwrap();
        // Its agents lose the connection when it is dead, not before.
        self.sim.detach();
        drop(jobs);
        // A dead server takes its store with it: what it had handed over is written, and nothing
        // after that.
        self.store.close().await;
    }

    pub(crate) async fn reopen_store(&mut self) {
        self.store = Store::open(&self.store_config).await.unwrap();
    }

    pub(crate) async fn run(&self, spec: JobSpec) -> JobNumber {
        self.jobs().run(spec).await.unwrap()
    }

    /// All events of the job, when it is over.
    pub(crate) async fn over(&self, job: JobNumber) -> Vec<EventRow> {
        let mut live = self.jobs().subscribe_live(job, 0).await;
        let mut events = Vec::new();
        let read = async {
            while let Some(event) = live.next().await.unwrap() {
                if let LiveEvent::Event(event) = event {
                    events.push(event);
                }
            }
        };
        if tokio::time::timeout(PATIENCE, read).await.is_err() {
            let runs = self.runs(job).await;
            panic!(
                "the job does not end: {:?} {runs:?} {events:?}",
                self.jobs().metrics()
            );
        }
        events
    }

    /// The job's events, when one of this type is there.
    pub(crate) async fn event(&self, job: JobNumber, kind: &str) -> Vec<EventRow> {
        let wait = async {
            loop {
                let events = self.store.events(job, 0, 1_000).await.unwrap();
                if events.iter().any(|event| event.kind == kind) {
                    return events;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap()
    }

    /// Waits until the log of connected nodes has so many.
    pub(crate) async fn logged(&self, count: usize) {
        let wait = async {
            while self.store.connected_nodes("", 1_000).await.unwrap().len() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap();
    }

    pub(crate) async fn state(&self, job: JobNumber) -> String {
        self.store.job(job).await.unwrap().unwrap().state
    }

    pub(crate) async fn runs(&self, job: JobNumber) -> Vec<RunRow> {
        let (rows, _) = self
            .store
            .runs(job, &RunFilter::default(), ListPage::default())
            .await
            .unwrap();
        rows
    }

    /// The only run's state and result.
    pub(crate) async fn only_run(&self, job: JobNumber) -> (String, Value) {
        let run = self.runs(job).await.pop().unwrap();
        let result = run
            .result
            .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        (run.state, result)
    }

    /// Waits until so many actions were started on nodes.
    pub(crate) async fn executing(&self, count: usize) {
        let what = format!("{count} actions were started");
        self.until(&what, |world| world.sim.executions().len() == count)
            .await;
    }

    /// Waits until so many runs of the job are in a state.
    pub(crate) async fn until_state(&self, job: JobNumber, count: usize, state: &str) {
        let wait = async {
            while self
                .runs(job)
                .await
                .iter()
                .filter(|run| run.state == state)
                .count()
                != count
            {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap();
    }

    /// Waits until `ready`, looking whenever other tasks have had their turn.
    pub(crate) async fn until(&self, what: &str, mut ready: impl FnMut(&Self) -> bool) {
        let wait = async {
            while !ready(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| {
                panic!("waited in vain until {what}");
            });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(Incarnation { runtime, .. }) = self.engine.take() {
            runtime.shutdown_background();
        }
    }
}

fn fabric() -> (Fabric, fabric::EngineInbox) {
    let server: Certname = "tutti.example.com".parse().unwrap();
    Fabric::new(PcpUri::server(&server))
}

fn write_code(dir: &Path) {
    let tasks = dir.join("code/environments/production/modules/test/tasks");
    std::fs::create_dir_all(&tasks).unwrap();
    let task = |name: &str, metadata: Value| {
        std::fs::write(tasks.join(format!("{name}.sh")), "#!/bin/sh\n").unwrap();
        std::fs::write(tasks.join(format!("{name}.json")), metadata.to_string()).unwrap();
    };
    task("init", json!({"description": "does nothing"}));
    task(
        "command",
        json!({"input_method": "stdin", "parameters": {"command": {"type": "String"}}}),
    );
    task(
        "script",
        json!({"parameters": {"content": {"type": "String"}}}),
    );
    task(
        "typed",
        json!({
            "supports_noop": true,
            "parameters": {
                "name": {"type": "String[1]"},
                "count": {"type": "Integer[1, 9]", "default": 3},
                "mode": {"type": "Optional[Enum[fast, slow]]"},
                "password": {"type": "Optional[String]", "sensitive": true},
            },
        }),
    );
}
