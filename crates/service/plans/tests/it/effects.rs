//! Jobs on simulated nodes: [`Fake`] writes real rows, and its node runs each job once, like an
//! agent with a spool.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jobs::JobSpec;
use plans::{JobOutcomeError, JobStartError, PlanActor, PlanEffects, StepOutcome};
use serde_json::{Map, Value, json};
use store::{
    JobChange, JobNumber, JobRunChange, NewJob, NewRun, PlanJournalWrite, RunChange, Store,
    StoreError,
};
use tokio::sync::watch;

/// The record of what nodes ran: in memory, or in a file that survives the process.
#[derive(Clone)]
pub(crate) enum Ledger {
    Memory(Arc<Mutex<HashMap<JobNumber, usize>>>),
    File(PathBuf),
}

pub(crate) struct Fake {
    pub(crate) store: Store,
    pub(crate) ledger: Ledger,
    /// Jobs do not end before this is true.
    pub(crate) open: watch::Sender<bool>,
    /// Failures of the next creations of jobs.
    pub(crate) mishaps: Mishaps,
}

/// Failures, used one after the other.
pub(crate) type Mishaps = Arc<Mutex<Vec<Mishap>>>;

/// A loss of the store while a job is created.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mishap {
    /// The job was not created.
    Before,
    /// The job was created, but the caller got no answer.
    After,
}

impl Ledger {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    /// Runs the job on the node, unless it has run.
    fn run(&self, job: JobNumber) {
        match self {
            Self::Memory(ran) => {
                ran.lock().unwrap().entry(job).or_insert(1);
            }
            Self::File(path) => {
                use std::io::Write as _;
                let line = format!("{job}\n");
                let before = std::fs::read_to_string(path).unwrap_or_default();
                if !before.lines().any(|ran| ran == line.trim()) {
                    let mut file = std::fs::OpenOptions::new();
                    let mut file = file.append(true).create(true).open(path).unwrap();
                    file.write_all(line.as_bytes()).unwrap();
                }
            }
        }
    }

    pub(crate) fn ran(&self) -> Vec<JobNumber> {
        let mut ran: Vec<JobNumber> = match self {
            Self::Memory(ran) => ran.lock().unwrap().keys().copied().collect(),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                let number = |line: &str| line.parse::<i64>().unwrap().try_into().unwrap();
                text.lines().map(number).collect()
            }
        };
        ran.sort_unstable();
        ran
    }
}

#[async_trait]
impl PlanEffects for Fake {
    async fn start(
        &self,
        actor: &PlanActor,
        spec: JobSpec,
        mark: PlanJournalWrite,
    ) -> Result<JobNumber, JobStartError> {
        let task = spec.work.task().expect("only tasks here");
        if task.name.as_str() == "unknown" {
            let error = json!({"kind": "bolt/unknown-task", "msg": "no such task", "details": {}});
            return Err(JobStartError::Refused(error));
        }
        let row = row(actor, task.name.as_str(), &task.params, mark);
        let mishap = self.mishaps.lock().unwrap().pop();
        if let Some(mishap) = mishap {
            if matches!(mishap, Mishap::After) {
                self.store.insert_job(row).await.unwrap();
            }
            return Err(JobStartError::Unavailable("the store is lost".to_owned()));
        }
        match self.store.insert_job(row).await {
            Ok(job) => Ok(job),
            Err(error @ StoreError::Refused(_)) => {
                Err(JobStartError::Refused(Value::from(error.to_string())))
            }
            Err(error) => Err(JobStartError::Unavailable(error.to_string())),
        }
    }

    async fn outcome(&self, job: JobNumber) -> Result<StepOutcome, JobOutcomeError> {
        let not_known = |error: StoreError| JobOutcomeError(error.to_string());
        let mut open = self.open.subscribe();
        // The sender is owned by this value, so it is not dropped.
        let _ = open.wait_for(|open| *open).await;
        self.ledger.run(job);
        let row = self.store.job(job).await.map_err(not_known)?.unwrap();
        let asked: Value = serde_json::from_str(&row.options).unwrap();
        let ok = row.task.as_deref() != Some("fails") || self.ledger.repaired();
        if row.finished_ms.is_none() {
            let state = if ok { "finished" } else { "failed" };
            let changes = vec![
                JobRunChange::Run(RunChange {
                    job,
                    certname: "node".to_owned(),
                    to_state: state.to_owned(),
                    at_ms: 5,
                    duration_ms: None,
                    result: None,
                    details: None,
                    sealed: None,
                    event: None,
                }),
                JobRunChange::Job(JobChange {
                    job,
                    to_state: state.to_owned(),
                    at_ms: 5,
                    duration_ms: None,
                    event: None,
                }),
            ];
            self.store.commit(changes).await.map_err(not_known)?;
        }
        let ok = self.store.job(job).await.map_err(not_known)?.unwrap().state == "finished";
        Ok(match ok {
            true => StepOutcome::ok(asked),
            false => StepOutcome::failed(json!({"failed": asked})),
        })
    }

    async fn stop(&self, job: JobNumber) {
        let stopped = |to_state: &str| {
            JobRunChange::Job(JobChange {
                job,
                to_state: to_state.to_owned(),
                at_ms: 6,
                duration_ms: None,
                event: None,
            })
        };
        let changes = vec![stopped("stopping"), stopped("stopped")];
        self.store.commit(changes).await.unwrap();
    }
}

impl Ledger {
    /// Returns true if the cause of failure of the task `fails` is repaired.
    fn repaired(&self) -> bool {
        match self {
            Self::Memory(ran) => ran.lock().unwrap().contains_key(&mark()),
            Self::File(_) => false,
        }
    }

    pub(crate) fn repair(&self) {
        if let Self::Memory(ran) = self {
            ran.lock().unwrap().insert(mark(), 0);
        }
    }
}

/// A number that no job has.
fn mark() -> JobNumber {
    i64::from(u32::MAX).try_into().unwrap()
}

fn row(
    actor: &PlanActor,
    task: &str,
    params: &Map<String, Value>,
    mark: PlanJournalWrite,
) -> NewJob {
    let run = NewRun {
        certname: "node".to_owned(),
        transaction_id: uuid(),
        state: "running".to_owned(),
        details: None,
        result: None,
        batch: None,
        event: None,
    };
    NewJob {
        command: "task".to_owned(),
        kind: "plan_task".to_owned(),
        task: Some(task.to_owned()),
        environment: actor.environment.clone(),
        options: Value::Object(params.clone()).to_string(),
        sealed: None,
        owner: actor.owner.clone(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 1,
        states: vec!["ready".to_owned(), "running".to_owned()],
        batches: None,
        runs: vec![run],
        events: Vec::new(),
        slot: None,
        plan_job: Some(actor.plan_job),
        mark: Some(mark),
    }
}

fn uuid() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{next}", std::process::id(), now.as_nanos())
}
