//! Engines under test: [`Bench`] is an empty store of one kind, and [`both!`] runs a test on each.

use std::sync::Arc;

use store::{
    JobChange, JobNumber, JobRunChange, NewEvent, NewJob, NewRun, RunChange, Store, StoreConfig,
};
use testkit::postgres::Postgres;

/// An open store and the resources that it needs.
pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) config: StoreConfig,
    _directory: Option<tempfile::TempDir>,
    _server: Option<Arc<Postgres>>,
}

impl Bench {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        Self {
            store,
            config,
            _directory: Some(directory),
            _server: None,
        }
    }

    pub(crate) async fn postgres() -> Self {
        let (server, config) = tokio::task::spawn_blocking(|| {
            let server = Postgres::shared().unwrap();
            let config = StoreConfig::new(server.create_database().unwrap());
            (server, config)
        })
        .await
        .unwrap();
        let store = Store::open(&config).await.unwrap();
        Self {
            store,
            config,
            _directory: None,
            _server: Some(server),
        }
    }

    /// Closes the store and opens it again, like a restart of the server process.
    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.store = Store::open(&self.config).await.unwrap();
    }
}

/// `both!(a, b)`: the async functions `a` and `b` of this module as tests on both engines.
macro_rules! both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::engine::Bench::sqlite().await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::engine::Bench::postgres().await).await;
            })+
        }
    };
}
pub(crate) use both;

/// A job on these nodes whose runs are waiting.
pub(crate) fn job(nodes: &[&str]) -> NewJob {
    let run = |node: &&str| NewRun {
        certname: (*node).to_owned(),
        transaction_id: transaction_id(),
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
        options: r#"{"task":"package"}"#.to_owned(),
        sealed: Some(vec![1, 2, 3]),
        owner: "admin".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 1_000,
        states: vec!["ready".to_owned()],
        batches: None,
        runs: nodes.iter().map(run).collect(),
        events: Vec::new(),
        slot: None,
        plan_job: None,
        mark: None,
    }
}

/// A transaction id that is unique in this process.
fn transaction_id() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

pub(crate) fn event(kind: &str, at_ms: i64) -> NewEvent {
    NewEvent {
        kind: kind.to_owned(),
        at_ms,
        certname: None,
        details: "{}".to_owned(),
        message: format!("{kind} at {at_ms}"),
    }
}

pub(crate) fn run_to(job: JobNumber, certname: &str, state: &str, at_ms: i64) -> JobRunChange {
    JobRunChange::Run(RunChange {
        job,
        certname: certname.to_owned(),
        to_state: state.to_owned(),
        at_ms,
        duration_ms: None,
        result: Some(format!(r#"{{"_output":"{state}"}}"#)),
        details: None,
        sealed: None,
        event: Some(event(&format!("node_{state}"), at_ms)),
    })
}

pub(crate) fn job_to(job: JobNumber, state: &str, at_ms: i64) -> JobRunChange {
    let event = Some(event(&format!("job_{state}"), at_ms));
    JobRunChange::Job(JobChange {
        job,
        to_state: state.to_owned(),
        at_ms,
        duration_ms: None,
        event,
    })
}

/// Commits one change and returns if it was applied.
pub(crate) async fn applied(store: &Store, change: JobRunChange) -> bool {
    store.commit(vec![change]).await.unwrap()[0].changed
}
