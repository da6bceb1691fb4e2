//! The fixture of all tests: a store, a ledger and an engine that can be killed.

use std::sync::Arc;
use std::time::Duration;

use pki::seal::SealKey;
use plans::{PlanLaunch, PlanProgramSource, Plans, PlansConfig};
use serde_json::Value;
use store::{Clock, PlanEventRow, PlanJobRow, Store, StoreConfig, SystemClock};
use testkit::engine::Database;
use tokio::sync::watch;

use crate::effects::{Fake, Ledger, Mishaps};
use crate::programs::Library;

/// Far longer than any test needs, for busy machines.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) ledger: Ledger,
    pub(crate) config: PlansConfig,
    pub(crate) open: watch::Sender<bool>,
    pub(crate) mishaps: Mishaps,
    pub(crate) database: Database,
    pub(crate) programs: Arc<dyn PlanProgramSource>,
    seal: Arc<SealKey>,
    _directory: tempfile::TempDir,
    engine: Option<Incarnation>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// An engine in its own runtime, so that it can be killed at any await.
struct Incarnation {
    plans: Plans,
    runtime: tokio::runtime::Runtime,
}

pub(crate) fn quick() -> PlansConfig {
    PlansConfig {
        workers: 2,
        long_sleep: Duration::from_millis(10),
        idle: Duration::from_secs(3_600),
        tick: Duration::from_millis(10),
        store_retry: Duration::from_millis(50),
        ..PlansConfig::default()
    }
}

pub(crate) fn launch(plan: &str) -> PlanLaunch {
    PlanLaunch {
        plan: plan.to_owned(),
        environment: "production".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "id-of-admin".to_owned(),
        ..PlanLaunch::default()
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(quick()).await
    }

    pub(crate) async fn with(config: PlansConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::empty().await.unwrap();
        let store = Store::open(&StoreConfig::new(database.url()))
            .await
            .unwrap();
        let seal = SealKey::open_or_create(&directory.path().join("seal")).unwrap();
        let mut world = Self {
            store,
            ledger: Ledger::memory(),
            config,
            open: watch::Sender::new(true),
            mishaps: Mishaps::default(),
            database,
            programs: Arc::new(Library),
            seal: Arc::new(seal),
            _directory: directory,
            engine: None,
            clock: Arc::new(SystemClock),
        };
        world.start().await;
        world
    }

    pub(crate) async fn start(&mut self) {
        let effects = Arc::new(Fake {
            store: self.store.clone(),
            ledger: self.ledger.clone(),
            open: self.open.clone(),
            mishaps: Arc::clone(&self.mishaps),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (config, store) = (self.config.clone(), self.store.clone());
        let (programs, seal) = (Arc::clone(&self.programs), Arc::clone(&self.seal));
        let clock = Arc::clone(&self.clock);
        let start =
            async move { Plans::start(config, store, effects, programs, seal, clock).await };
        let plans = runtime.spawn(start).await.unwrap().unwrap();
        self.engine = Some(Incarnation { plans, runtime });
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.engine.as_ref().unwrap().plans
    }

    /// Kills the server: nothing is written or awaited any more.
    pub(crate) async fn kill(&mut self) {
        let Incarnation { plans, runtime } = self.engine.take().unwrap();
        let down = move || runtime.shutdown_timeout(Duration::from_secs(10));
        tokio::task::spawn_blocking(down).await.unwrap();
        drop(plans);
        self.store.close().await;
        let config = StoreConfig::new(self.database.url());
        self.store = Store::open(&config).await.unwrap();
    }

    pub(crate) async fn run(&self, plan: &str) -> i64 {
        self.plans().run(&launch(plan)).await.unwrap()
    }

    pub(crate) async fn row(&self, plan: i64) -> PlanJobRow {
        self.store.plan_job(plan).await.unwrap().unwrap()
    }

    /// Returns the plan's state and result after its end.
    pub(crate) async fn over(&self, plan: i64) -> (String, Value) {
        self.until("the plan is over", async || {
            self.row(plan).await.finished_ms.is_some()
        })
        .await;
        let row = self.row(plan).await;
        (
            row.state,
            serde_json::from_str(&row.result.unwrap()).unwrap(),
        )
    }

    pub(crate) async fn events(&self, plan: i64) -> Vec<PlanEventRow> {
        self.store.plan_events(plan, 0, 1_000).await.unwrap()
    }

    pub(crate) async fn kinds(&self, plan: i64) -> Vec<String> {
        let events = self.events(plan).await;
        events.into_iter().map(|event| event.kind).collect()
    }

    /// Waits until `ready` returns true, and yields to other tasks between the checks.
    pub(crate) async fn until(&self, what: &str, ready: impl AsyncFn() -> bool) {
        let wait = async {
            while !ready().await {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| panic!("waited in vain until {what}"));
    }

    /// Waits until the plan shows a prompt.
    pub(crate) async fn asks(&self, plan: i64) {
        self.until("the plan asks", async || {
            self.kinds(plan).await.iter().any(|kind| kind == "prompt")
        })
        .await;
    }

    /// Checks that every job ran once, and that each belongs to a step.
    pub(crate) async fn check_ledger(&self, plans: &[i64]) {
        let mut made = Vec::new();
        for plan in plans {
            let steps = self.plans().journal(*plan).await.unwrap();
            made.extend(steps.iter().filter_map(|row| row.job));
        }
        made.sort_unstable();
        assert_eq!(self.ledger.ran(), made);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(Incarnation { runtime, .. }) = self.engine.take() {
            runtime.shutdown_background();
        }
    }
}
