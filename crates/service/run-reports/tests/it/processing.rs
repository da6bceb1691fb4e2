//! Report processors: programs that get reports.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inventory::Inventory;
use run_reports::{
    ProcessingMetrics, ReportProcessor, RunReports, RunReportsConfig, RunStatus, StoredRunReport,
};
use store::Store;
use tempfile::TempDir;

use crate::engine::{Place, config, record, sample};
use crate::sample::NODE;

/// Longest time that a test waits for a program.
const LONG: Duration = Duration::from_secs(60);

/// A shell script with this text.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let (path, source) = (dir.join(name), dir.join(format!("{name}.text")));
    std::fs::write(&source, format!("#!/bin/sh\n{text}\n")).unwrap();
    // Another process writes the program: a child that another test forks at this moment would keep
    // it open for writing, and it could not be executed.
    let mut install = std::process::Command::new("install");
    install.args(["-m", "755"]).arg(&source).arg(&path);
    assert!(install.status().unwrap().success());
    path
}

fn processor(program: PathBuf) -> ReportProcessor {
    ReportProcessor {
        program,
        arguments: Vec::new(),
        statuses: vec![RunStatus::Changed, RunStatus::Failed],
        timeout: LONG,
    }
}

fn render(report: StoredRunReport) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&serde_json::json!({"id": report.entry.summary.hash}))
}

async fn start(store: &Store, processors: Vec<ReportProcessor>) -> RunReports {
    let config = RunReportsConfig {
        processors,
        render,
        ..config(false)
    };
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let started = RunReports::start(config, store.clone(), inventory).await;
    started.unwrap()
}

fn ended(metrics: &Arc<ProcessingMetrics>) -> (u64, u64, u64) {
    let counters = [&metrics.succeeded, &metrics.failed, &metrics.dropped];
    let [succeeded, failed, dropped] = counters.map(|counter| counter.get());
    (succeeded, failed, dropped)
}

/// Waits until the queue is empty; returns the numbers of programs that succeeded and failed, and of
/// reports without a program.
async fn processed(store: &Store, reports: &RunReports) -> (u64, u64, u64) {
    let empty = async {
        while store.count_reports_to_process().await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, empty).await.unwrap();
    ended(&reports.processing_metrics().unwrap())
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_program_gets_each_report_once_with_its_node_and_status() {
    let (place, dir) = (Place::new(), TempDir::new().unwrap());
    let store = place.store().await;
    let seen = dir.path().join("seen");
    let text = format!(
        "echo \"$1 $TUTTI_REPORT_ID $TUTTI_REPORT_NODE $TUTTI_REPORT_STATUS \
         $TUTTI_REPORT_ENVIRONMENT $(cat)\" >> {}",
        seen.display()
    );
    let writes = ReportProcessor {
        arguments: vec!["-v".to_owned()],
        ..processor(script(dir.path(), "writes", &text))
    };
    let only_changed = ReportProcessor {
        statuses: vec![RunStatus::Changed],
        ..processor(dir.path().join("missing"))
    };
    let reports = start(&store, vec![writes, only_changed]).await;
    let sent = sample(NODE, 1, 0);
    record(&reports, sent.clone()).await.unwrap();
    // An agent that did not get the answer sends the report again.
    record(&reports, sent.clone()).await.unwrap();
    assert_eq!(processed(&store, &reports).await, (1, 0, 0));
    let id = &sent.summary.hash;
    let line = format!("-v {id} {NODE} failed production {{\"id\":\"{id}\"}}");
    assert_eq!(lines(&seen), [line]);
    reports.shutdown().await;
}

#[tokio::test]
async fn a_failing_slow_or_missing_program_is_counted_and_stops_no_other() {
    let (place, dir) = (Place::new(), TempDir::new().unwrap());
    let store = place.store().await;
    let seen = dir.path().join("seen");
    let counts = script(
        dir.path(),
        "counts",
        &format!("echo x >> {}", seen.display()),
    );
    let slow = ReportProcessor {
        timeout: Duration::from_millis(50),
        ..processor(script(dir.path(), "slow", "sleep 1000"))
    };
    let programs = vec![
        processor(script(dir.path(), "fails", "echo no >&2; exit 3")),
        processor(dir.path().join("missing")),
        slow,
        processor(counts),
    ];
    let reports = start(&store, programs).await;
    for run in [1, 2] {
        let sent = sample(NODE, run, 0);
        let answered = tokio::time::timeout(LONG, record(&reports, sent)).await;
        answered.unwrap().unwrap();
    }
    assert_eq!(processed(&store, &reports).await, (2, 6, 0));
    assert_eq!(lines(&seen), ["x", "x"]);
    reports.shutdown().await;
}

#[tokio::test]
async fn a_report_whose_program_did_not_end_is_processed_after_a_restart() {
    let (place, dir) = (Place::new(), TempDir::new().unwrap());
    let store = place.store().await;
    let (seen, open) = (dir.path().join("seen"), dir.path().join("open"));
    let text = format!(
        "echo $TUTTI_REPORT_ID >> {0}; [ -e {1} ] || exec sleep 1000",
        seen.display(),
        open.display()
    );
    let waits = processor(script(dir.path(), "waits", &text));
    let reports = start(&store, vec![waits.clone()]).await;
    let sent = sample(NODE, 1, 0);
    record(&reports, sent.clone()).await.unwrap();
    let begun = async {
        while lines(&seen).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, begun).await.unwrap();
    reports.shutdown().await;
    assert_eq!(store.count_reports_to_process().await.unwrap(), 1);
    std::fs::write(&open, "").unwrap();
    let reports = start(&store, vec![waits]).await;
    assert_eq!(processed(&store, &reports).await, (1, 0, 0));
    assert_eq!(lines(&seen), [sent.summary.hash.clone(), sent.summary.hash]);
    reports.shutdown().await;
}

#[tokio::test]
async fn reports_of_removed_programs_and_deleted_reports_leave_the_queue() {
    let (place, dir) = (Place::new(), TempDir::new().unwrap());
    let store = place.store().await;
    let blocked = processor(script(dir.path(), "blocked", "exec sleep 1000"));
    let reports = start(&store, vec![blocked.clone()]).await;
    record(&reports, sample(NODE, 1, 0)).await.unwrap();
    reports.shutdown().await;
    let other = processor(script(dir.path(), "other", "exit 0"));
    let reports = start(&store, vec![other]).await;
    assert_eq!(processed(&store, &reports).await, (0, 0, 1));
    reports.shutdown().await;
    let reports = start(&store, vec![blocked.clone()]).await;
    record(&reports, sample(NODE, 2, 0)).await.unwrap();
    reports.shutdown().await;
    store.prune_run_reports(i64::MAX).await.unwrap();
    let reports = start(&store, vec![blocked]).await;
    assert_eq!(processed(&store, &reports).await, (0, 0, 1));
    reports.shutdown().await;
}
