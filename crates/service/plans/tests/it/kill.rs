//! The server process is killed while plans run.
//!
//! A child (this test's own program) runs plans of every kind; it is killed at random moments and
//! started again. Afterwards every plan has its result, and the ledger of the nodes has every job
//! once.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pki::seal::SealKey;
use plans::Plans;
use serde_json::json;
use store::{ListPage, PlanJobFilter, Store, StoreConfig, SystemClock};
use tokio::sync::watch;

use crate::effects::{Fake, Ledger, Mishaps};
use crate::programs::{Library, steady};
use crate::world::{launch, quick};

const CHILD: &str = "TUTTI_PLANS_KILL_TEST";
const PLANS_OF_EACH: usize = 4;

/// The number of kills; `TUTTI_PLANS_KILLS=500` sets another one for a soak.
const KILLS: usize = 25;

async fn open(directory: &Path) -> (Store, Plans) {
    let store = StoreConfig::sqlite(directory.join("tutti.db"));
    let store = Store::open(&store).await.unwrap();
    let effects = Arc::new(Fake {
        store: store.clone(),
        ledger: Ledger::File(directory.join("ledger")),
        open: watch::Sender::new(true),
        mishaps: Mishaps::default(),
    });
    let seal = SealKey::open_or_create(&directory.join("seal")).unwrap();
    let programs = Arc::new(Library);
    let clock = Arc::new(SystemClock);
    let plans = Plans::start(
        quick(),
        store.clone(),
        effects,
        programs,
        Arc::new(seal),
        clock,
    );
    (store, plans.await.unwrap())
}

#[tokio::test]
async fn child() {
    // Without the variable this is not the child.
    let Ok(directory) = std::env::var(CHILD) else {
        return;
    };
    let (store, plans) = open(Path::new(&directory)).await;
    let filter = PlanJobFilter::default();
    let (rows, total) = store.plan_jobs(&filter, ListPage::default()).await.unwrap();
    let mut wanted = steady().len() * PLANS_OF_EACH;
    wanted -= usize::try_from(total).unwrap();
    let mut all: Vec<(i64, String)> = rows.into_iter().map(|row| (row.number, row.plan)).collect();
    let names: Vec<&str> = steady().iter().map(|(name, _)| *name).collect();
    while wanted > 0 {
        let name = names[wanted % names.len()];
        let number = plans.run(&launch(name)).await.unwrap();
        all.push((number, name.to_owned()));
        wanted -= 1;
    }
    loop {
        let mut over = 0;
        for (number, name) in &all {
            let row = store.plan_job(*number).await.unwrap().unwrap();
            over += usize::from(row.finished_ms.is_some());
            if name == "asking" && row.finished_ms.is_none() {
                let step = "2".parse().unwrap();
                // The plan may not ask yet.
                let _ = plans
                    .answer(*number, step, "ann", &json!("yes"), false)
                    .await;
            }
        }
        if over == all.len() {
            std::fs::write(Path::new(&directory).join("over"), "").unwrap();
            plans.shutdown().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn plans_survive_kills() {
    let kills = std::env::var("TUTTI_PLANS_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut done = 0;
    let mut round = 0;
    // When all plans have ended, new ones start in a new directory.
    while done < kills {
        let directory = tempfile::tempdir().unwrap();
        while done < kills && !directory.path().join("over").exists() {
            round += 1;
            killed_after(
                directory.path(),
                Duration::from_millis(20 + (round * 37) % 160),
            );
            done += 1;
        }
        finish(directory.path());
        check(directory.path()).await;
    }
}

fn start(directory: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--test-threads=1"])
        .env(CHILD, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn killed_after(directory: &Path, time: Duration) {
    let mut child = start(directory);
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs the child to its end.
fn finish(directory: &Path) {
    let status = start(directory).wait().unwrap();
    assert!(status.success() && directory.join("over").exists());
}

async fn check(directory: &Path) {
    let (store, plans) = open(directory).await;
    let filter = PlanJobFilter {
        results: true,
        ..PlanJobFilter::default()
    };
    let (rows, total) = store.plan_jobs(&filter, ListPage::default()).await.unwrap();
    assert_eq!(total as usize, steady().len() * PLANS_OF_EACH);
    let expected = steady();
    let mut jobs = Vec::new();
    for row in rows {
        let (_, result) = expected.iter().find(|(name, _)| *name == row.plan).unwrap();
        assert_eq!(row.state, "success", "{row:?}");
        assert_eq!(row.result, Some(result.to_string()), "{}", row.plan);
        let steps = plans.journal(row.number).await.unwrap();
        jobs.extend(steps.iter().filter_map(|row| row.job));
    }
    jobs.sort_unstable();
    let ledger = Ledger::File(directory.join("ledger"));
    assert_eq!(ledger.ran(), jobs, "each job of each step ran, once");
    plans.shutdown().await;
}
