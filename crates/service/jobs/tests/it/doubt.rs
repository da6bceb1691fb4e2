//! The database is lost at the very commit that makes a job.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jobs::{JobSubmitError, JobsConfig, RunJobError};
use pcp::Certname;
use store::{JobListFilter, JobRow, ListPage, StoreConfig};
use testkit::door::{Door, Moment};
use testkit::postgres::Postgres;

use crate::sim::Manner;
use crate::world::{World, quick, request};

/// A world whose PostgreSQL stands behind a door.
struct Behind {
    world: World,
    door: Door,
    nodes: Vec<Certname>,
    withdrawn: PathBuf,
    _server: Arc<Postgres>,
}

// === impl Behind ===

impl Behind {
    /// `remembers`: what must not start is remembered over a restart.
    async fn new(remembers: bool) -> Self {
        let server = tokio::task::spawn_blocking(|| Postgres::shared().unwrap())
            .await
            .unwrap();
        let door = Door::to(&server).unwrap();
        let store = StoreConfig {
            patience: Duration::from_millis(200),
            ..StoreConfig::new(door.url(&server.create_database().unwrap()))
        };
        let dir = tempfile::tempdir().unwrap();
        let withdrawn = dir.path().join("withdrawn");
        let config = JobsConfig {
            withdrawals: remembers.then(|| withdrawn.clone()),
            // One slot, so that one run is marked at once and the others wait.
            task_concurrency: 1,
            ..quick()
        };
        let world = World::on(dir, store, config, 1).await;
        let nodes = world.agents(3, &Manner::default());
        // No commit but the job's comes to the door.
        world.logged(nodes.len()).await;
        Self {
            world,
            door,
            nodes,
            withdrawn,
            _server: server,
        }
    }

    /// Runs a task at whose commit the door shuts; gives what the caller is told.
    async fn run_into(&self, moment: Moment) -> RunJobError {
        self.door.shut_at(moment);
        let told = self.world.jobs().run(request(&self.nodes)).await;
        self.door.shut().await;
        told.unwrap_err()
    }

    async fn jobs(&self) -> Vec<JobRow> {
        let filter = JobListFilter::default();
        let listed = self.world.store.jobs(&filter, ListPage::default()).await;
        listed.unwrap().0
    }

    /// The only job is stopped, nothing of it was sent, and nothing is left to be remembered.
    async fn ended_without_a_start(&self) {
        let [job] = &self.jobs().await[..] else {
            panic!("one job was kept");
        };
        let events = self.world.over(job.number).await;
        assert_eq!(events.last().unwrap().kind, "job_finished");
        assert_eq!(self.world.state(job.number).await, "stopped");
        for run in self.world.runs(job.number).await {
            assert_eq!(run.state, "skipped");
            let result = run.result.unwrap();
            assert!(result.contains("nothing was sent"), "{result}");
        }
        assert!(self.world.sim.requests().is_empty());
        let withdrawn = &self.withdrawn;
        self.world
            .until("nothing is remembered", |_| names(withdrawn).is_empty())
            .await;
    }

    /// The engine works as before, and has its slots.
    async fn next_job_runs(&self) {
        let job = self.world.run(request(&self.nodes)).await;
        self.world.over(job).await;
        assert_eq!(self.world.state(job).await, "finished");
        assert_eq!(self.world.sim.executions().len(), self.nodes.len());
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn never_starts(told: &RunJobError) -> bool {
    match told {
        RunJobError::Submit(JobSubmitError::InDoubt { never_starts, .. }) => *never_starts,
        other => panic!("not the truth: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_was_kept_and_answered_with_an_error_never_starts() {
    let behind = Behind::new(true).await;
    let told = behind.run_into(Moment::AfterCommit).await;
    assert!(never_starts(&told));
    assert!(told.to_string().contains("list of jobs"), "{told}");
    assert_eq!(names(&behind.withdrawn).len(), 1);
    behind.door.open();
    behind
        .world
        .until("it is resolved", |_| names(&behind.withdrawn).is_empty())
        .await;
    behind.ended_without_a_start().await;
    behind.next_job_runs().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_it_start_when_the_server_dies_before_the_database_is_back() {
    let mut behind = Behind::new(true).await;
    let told = behind.run_into(Moment::AfterCommit).await;
    assert!(never_starts(&told));
    behind.world.die().await;
    behind.door.open();
    behind.world.reopen_store().await;
    behind.world.start().await;
    behind.ended_without_a_start().await;
    behind.next_job_runs().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_was_not_kept_leaves_nothing_behind() {
    let behind = Behind::new(true).await;
    let told = behind.run_into(Moment::BeforeCommit).await;
    assert!(never_starts(&told));
    behind.door.open();
    behind
        .world
        .until("it is resolved", |_| names(&behind.withdrawn).is_empty())
        .await;
    assert!(behind.jobs().await.is_empty());
    behind.next_job_runs().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_remember_says_that_a_restart_may_start_it() {
    let behind = Behind::new(false).await;
    let told = behind.run_into(Moment::AfterCommit).await;
    assert!(!never_starts(&told));
    assert!(
        told.to_string().contains("look at the list of jobs"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_jobs_in_doubt_are_all_ended() {
    let behind = Behind::new(true).await;
    behind.door.shut_at(Moment::AfterCommit);
    let told = (0..40).map(|_| behind.world.jobs().run(request(&behind.nodes)));
    let told = futures_util::future::join_all(told).await;
    behind.door.open();
    let kept = told.iter().filter(|told| told.is_ok()).count();
    assert_eq!(
        kept, 0,
        "the first commit is not answered, and the door stays shut"
    );
    behind
        .world
        .until("all are resolved", |_| names(&behind.withdrawn).is_empty())
        .await;
    for job in behind.jobs().await {
        behind.world.over(job.number).await;
        assert_eq!(behind.world.state(job.number).await, "stopped");
    }
    assert!(behind.world.sim.requests().is_empty());
    behind.next_job_runs().await;
}
