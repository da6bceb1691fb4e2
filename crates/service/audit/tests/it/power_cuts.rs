//! A server database on a disk whose power is cut, on SQLite and on PostgreSQL: afterwards every
//! acknowledged commit exists, and the chain of the audit is intact.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use audit::{Audit, AuditConfig, AuditOutcome, ExpectedChain};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store::{JobListFilter, JobOrder, ListPage, NewJob, NewRun, Store, StoreConfig};
use testkit::postgres::Postgres;
use testkit::power_cut::medium::Survivors;
use testkit::power_cut::{PowerCutDisk, Workload, cuts, print_figures, seed};

use crate::bench::act;

/// Environment variable of the child: the URL of a SQLite file, or the directory of a PostgreSQL
/// cluster.
const CHILD: &str = "TUTTI_AUDIT_POWER_CUT";

const DATABASE: &str = "test_0";

/// Number of different outcomes of one cut that are checked.
const OUTCOMES: u64 = 3;

/// Latest moment of a cut, in writes and flushes after the start of the program: after some dozens
/// of commits.
const LATEST_EVENT: u64 = 400;

/// Timeout for a broken test, much longer than a workload takes to reach its cut.
const PATIENCE: Duration = Duration::from_secs(120);

/// A closed database on the disk.
enum At {
    File(PathBuf),
    Cluster(PathBuf),
}

/// An open database.
struct Opened {
    store: Store,
    server: Option<Postgres>,
}

// === impl At ===

impl At {
    fn parse(text: &str) -> Self {
        match text.strip_prefix("sqlite:") {
            Some(path) => Self::File(path.into()),
            None => Self::Cluster(text.into()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::File(path) => format!("sqlite:{}", path.display()),
            Self::Cluster(directory) => directory.display().to_string(),
        }
    }

    /// Opens the database as a server does, after PostgreSQL's own recovery.
    async fn open(&self) -> Opened {
        let (server, config) = match self {
            Self::File(path) => (None, StoreConfig::sqlite(path)),
            Self::Cluster(directory) => {
                let directory = directory.clone();
                let start = move || Postgres::start_on(&directory).unwrap();
                let server = tokio::task::spawn_blocking(start).await.unwrap();
                let url = server.url(DATABASE);
                (Some(server), StoreConfig::new(url))
            }
        };
        let store = Store::open(&config).await.unwrap();
        Opened { store, server }
    }
}

impl Opened {
    async fn close(self) {
        self.store.close().await;
        if let Some(server) = self.server {
            server.stop().unwrap();
        }
    }
}

/// Not a test by itself: the server whose power is cut.
#[tokio::test]
#[ignore = "the process whose power is cut"]
async fn child() {
    let Ok(text) = std::env::var(CHILD) else {
        return;
    };
    let opened = At::parse(&text).open().await;
    let audit = Audit::open(opened.store.clone(), AuditConfig::default()).await;
    loop {
        let (intent, number) =
            tokio::join!(audit.intent(act("cut")), opened.store.insert_job(job()));
        let (intent, number) = (intent.unwrap(), number.unwrap());
        {
            let mut out = std::io::stdout().lock();
            writeln!(out, "acknowledged {} {number}", intent.seq()).unwrap();
            out.flush().unwrap();
        }
        intent.finish(AuditOutcome::default()).await;
    }
}

fn job() -> NewJob {
    let transaction_id = format!("{:x}", rand::random::<u128>());
    NewJob {
        command: "task".to_owned(),
        kind: "task".to_owned(),
        task: Some("package".to_owned()),
        environment: "production".to_owned(),
        options: "{}".to_owned(),
        sealed: None,
        owner: "admin".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 1_000,
        states: vec!["ready".to_owned()],
        batches: None,
        runs: vec![NewRun {
            certname: "a".to_owned(),
            transaction_id,
            state: "ready".to_owned(),
            details: None,
            result: None,
            batch: None,
            event: None,
        }],
        events: Vec::new(),
        slot: None,
        plan_job: None,
        mark: None,
    }
}

/// The output of the workload: sequence numbers of intents, and numbers of jobs.
fn acknowledged(workload: &Workload) -> Vec<(i64, i64)> {
    let lines = workload.lines();
    // The test harness prints lines of its own, one of them without a line end.
    let told = lines
        .iter()
        .filter_map(|line| line.split_once("acknowledged "));
    told.filter_map(|(_, numbers)| {
        let (seq, number) = numbers.split_once(' ')?;
        Some((seq.parse().ok()?, number.parse().ok()?))
    })
    .collect()
}

async fn check(at: &At, acknowledged: &[(i64, i64)], told: &str) {
    if let At::File(path) = at {
        let connection = rusqlite::Connection::open(path).unwrap();
        let integrity = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        assert_eq!(integrity, Ok("ok".to_owned()), "{told}");
    }
    let opened = at.open().await;
    let store = &opened.store;
    for (seq, number) in acknowledged {
        let rows = store.audit_entries(*seq, 1).await.unwrap();
        assert!(
            rows.iter().any(|row| row.seq == *seq),
            "{told}: entry {seq} is lost"
        );
        let run = store.run((*number).try_into().unwrap(), "a").await.unwrap();
        assert!(run.is_some(), "{told}: job {number} is lost");
    }
    let report = audit::verify_store(store, ExpectedChain::default())
        .await
        .unwrap();
    assert!(report.is_ok(), "{told}: {report:?}");
    let filter = JobListFilter {
        order_by: JobOrder::Number,
        ..JobListFilter::default()
    };
    let (jobs, total) = store.jobs(&filter, ListPage::default()).await.unwrap();
    let numbers: Vec<i64> = jobs.iter().map(|row| row.number.get()).collect();
    let contiguous: Vec<i64> = (1..=i64::try_from(total).unwrap())
        .take(jobs.len())
        .collect();
    assert_eq!(numbers, contiguous, "{told}");
    opened.close().await;
}

fn start(at: &At) -> Workload {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "power_cuts::child", "--ignored", "--nocapture"]);
    command.env(CHILD, at.text());
    Workload::start(&command).unwrap()
}

async fn cut_again_and_again(mut disk: PowerCutDisk, at: At) {
    // `initdb` runs without syncs in tests.
    disk.sync().unwrap();
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let began = Instant::now();
    let (mut cut, mut unflushed, mut all) = (0, 0, Vec::new());
    while cut < cuts() {
        let mut workload = start(&at);
        disk.cut_after(random.random_range(0..LATEST_EVENT));
        let is_cut = disk.wait_for_cut(PATIENCE);
        unflushed += disk.cut([&mut workload]).unwrap();
        assert!(is_cut, "the workload does nothing: {}", workload.stderr());
        all.extend(acknowledged(&workload));
        for _ in 0..OUTCOMES {
            let seed: u64 = random.random();
            let survivors = Survivors::of_seed(seed);
            disk.restore(survivors, seed).unwrap();
            cut += 1;
            Box::pin(check(&at, &all, &format!("cut {cut}, {survivors:?}"))).await;
        }
    }
    let commits = all.len() * 2;
    let more = format!("{unflushed} writes were not flushed, {commits} commits were acknowledged");
    print_figures(cut, began, &more);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_lose_no_acknowledged_commit_of_sqlite() {
    let Some(disk) = PowerCutDisk::for_test() else {
        return;
    };
    let at = At::File(disk.path().join("tutti.db"));
    Box::pin(cut_again_and_again(disk, at)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_lose_no_acknowledged_commit_of_postgresql() {
    let Some(disk) = PowerCutDisk::for_test() else {
        return;
    };
    let at = At::Cluster(cluster(&disk.path()).await);
    Box::pin(cut_again_and_again(disk, at)).await;
}

/// Creates a cluster with an empty database, and shuts it down.
async fn cluster(disk: &Path) -> PathBuf {
    let disk = disk.to_owned();
    let make = move || {
        let server = Postgres::start_in(&disk).unwrap();
        let url = server.create_database().unwrap();
        assert!(url.ends_with(DATABASE), "{url}");
        server.keep().unwrap()
    };
    tokio::task::spawn_blocking(make).await.unwrap()
}
