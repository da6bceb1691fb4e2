//! Detection of an older copy of the database: a standby that lagged behind, or a restored backup.

use std::path::Path;

use store::{
    AcceptedHistory, JobNumber, NewPlanJob, NewSchedule, OpenStoreError, ScheduleEdit,
    ScheduleProgress, Store, StoreConfig, StoreError,
};
use testkit::postgres::Postgres;

use crate::engine::{applied, job, run_to};

/// A configuration that keeps the file beside the database.
fn with_history(url: String, directory: &Path) -> StoreConfig {
    StoreConfig {
        history: Some(directory.join("history")),
        ..StoreConfig::new(url)
    }
}

async fn opened_by_force(config: &StoreConfig) -> (Store, AcceptedHistory) {
    let config = StoreConfig {
        older_history: true,
        ..config.clone()
    };
    let store = Store::open(&config).await.unwrap();
    let accepted = store.accept_older_history(5_000).await.unwrap().unwrap();
    (store, accepted)
}

fn back_up(path: &Path, to: &Path) {
    rusqlite::Connection::open(path)
        .unwrap()
        .execute("VACUUM INTO $1", [to.to_str().unwrap()])
        .unwrap();
}

/// A job that the older copy contains, and another one that it lacks.
async fn two_jobs(store: &Store, copy: impl AsyncFnOnce()) -> (JobNumber, JobNumber) {
    let first = store.insert_job(job(&["waits", "runs"])).await.unwrap();
    assert!(applied(store, run_to(first, "runs", "running", 2_000)).await);
    copy().await;
    assert!(applied(store, run_to(first, "waits", "running", 3_000)).await);
    assert!(applied(store, run_to(first, "waits", "finished", 3_001)).await);
    (first, store.insert_job(job(&["a"])).await.unwrap())
}

/// Checks the state after the older history was accepted.
async fn nothing_is_begun_again(store: &Store, first: JobNumber, lost: JobNumber) {
    for node in ["waits", "runs"] {
        let run = store.run(first, node).await.unwrap().unwrap();
        assert_eq!(run.state, "running", "{node} is asked about, not sent");
    }
    let unfinished = store.unfinished_jobs().await.unwrap();
    assert_eq!(unfinished[0].job.state, "running");
    assert!(store.job(lost).await.unwrap().is_none());
    let next = store.insert_job(job(&["a"])).await.unwrap();
    assert!(next > lost, "a number that was told is not used again");
    let ended = run_to(first, "waits", "finished", 6_000);
    assert!(applied(store, ended).await, "what the agent kept is taken");
}

/// P4: the primary is lost while the server runs, and the standby lacks the last commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_over_to_a_lagging_standby_is_noticed_at_the_first_commit() {
    let primary = Postgres::start_on_tcp().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = primary.create_database().unwrap();
    let config = with_history(url, directory.path());
    let store = Store::open(&config).await.unwrap();
    let mut standby = None;
    let copy = async || standby = Some(primary.copy().unwrap());
    let (first, lost) = two_jobs(&store, copy).await;
    primary.kill().unwrap();
    let standby = standby.unwrap().at_place_of(&primary);
    standby.resume().unwrap();
    for _ in 0..2 {
        let error = store.insert_job(job(&["a"])).await.unwrap_err();
        let went_back = matches!(error, StoreError::HistoryWentBack { .. });
        assert!(went_back && error.is_final(), "{error:?}");
    }
    assert!(store.ended().await.is_final(), "its process ends with it");
    store.close().await;
    let error = Store::open(&config).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("tutti accept-older-history"), "{text}");
    let OpenStoreError::HistoryWentBack(older) = error else {
        panic!("{text}")
    };
    assert_eq!(older.last_known.job, lost.get());
    assert_eq!(older.in_database.job, first.get());
    let (store, accepted) = opened_by_force(&config).await;
    assert_eq!(accepted.runs, 1, "the one that waited");
    nothing_is_begun_again(&store, first, lost).await;
    store.close().await;
    let store = Store::open(&config).await.unwrap();
    assert!(store.older_history().is_none(), "it is the history now");
    store.close().await;
}

/// P4: the standby was promoted while the server was down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_over_while_the_server_is_down_is_noticed_at_its_start() {
    let primary = Postgres::start_on_tcp().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = primary.create_database().unwrap();
    let config = with_history(url, directory.path());
    let store = Store::open(&config).await.unwrap();
    let standby = primary.copy().unwrap();
    store.insert_job(job(&["a"])).await.unwrap();
    store.close().await;
    primary.stop().unwrap();
    let standby = standby.at_place_of(&primary);
    standby.resume().unwrap();
    let error = Store::open(&config).await.unwrap_err();
    let went_back = matches!(error, OpenStoreError::HistoryWentBack(_));
    assert!(went_back, "{error:?}");
    standby.stop().unwrap();
    // The newer primary is started again instead.
    primary.resume().unwrap();
    Store::open(&config).await.unwrap().close().await;
}

/// The same fault on SQLite: a backup was restored.
#[tokio::test]
async fn an_older_backup_of_the_file_is_noticed_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let backup = directory.path().join("backup.db");
    let config = with_history(format!("sqlite:{}", path.display()), directory.path());
    let store = Store::open(&config).await.unwrap();
    let copy = async || back_up(&path, &backup);
    let (first, lost) = two_jobs(&store, copy).await;
    store.close().await;
    std::fs::copy(&backup, &path).unwrap();
    let error = Store::open(&config).await.unwrap_err();
    let went_back = matches!(error, OpenStoreError::HistoryWentBack(_));
    assert!(went_back, "{error:?}");
    let (store, accepted) = opened_by_force(&config).await;
    assert_eq!(accepted.runs, 1);
    nothing_is_begun_again(&store, first, lost).await;
    store.close().await;
    Store::open(&config).await.unwrap().close().await;
}

/// Another process writes to the same file: the lock beside it was removed.
#[tokio::test]
async fn a_second_process_on_the_file_ends_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let config = StoreConfig::sqlite(&path);
    let store = Store::open(&config).await.unwrap();
    std::fs::remove_file(directory.path().join("tutti.db.lock")).unwrap();
    let second = Store::open(&config).await.unwrap();
    let error = store.insert_job(job(&["a"])).await.unwrap_err();
    assert!(matches!(error, StoreError::Superseded), "{error:?}");
    assert_eq!(second.insert_job(job(&["a"])).await.unwrap().get(), 1);
    second.close().await;
    store.close().await;
}

/// The file is moved away while the server runs: its commits would be lost with it.
#[tokio::test]
async fn a_file_that_is_replaced_takes_no_more_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let store = Store::open(&StoreConfig::sqlite(&path)).await.unwrap();
    store.insert_job(job(&["a"])).await.unwrap();
    std::fs::rename(&path, directory.path().join("moved.db")).unwrap();
    let error = store.insert_job(job(&["a"])).await.unwrap_err();
    assert!(matches!(error, StoreError::Replaced { .. }), "{error:?}");
    store.close().await;
}

fn plan() -> NewPlanJob {
    NewPlanJob {
        request_id: "plan".to_owned(),
        plan: "facts".to_owned(),
        environment: String::new(),
        options: "{}".to_owned(),
        userdata: "{}".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "1".to_owned(),
        created_ms: 1_000,
    }
}

pub(crate) fn schedule(name: &str, next_ms: i64) -> NewSchedule {
    let text = |text: &str| text.to_owned();
    NewSchedule {
        request_id: text(name),
        kind: text("task"),
        owner: text("admin"),
        owner_id: text("1"),
        created_ms: 1_000,
        edit: ScheduleEdit {
            name: text("package"),
            environment: String::new(),
            description: String::new(),
            userdata: text("{}"),
            input: text("{}"),
            sensitive: text("[]"),
            sealed: None,
            timetable: text("{}"),
            advance: ScheduleProgress {
                cursor_ms: Some(1_000),
                next_slot_ms: Some(next_ms),
                next_ms: Some(next_ms),
                queued_ms: None,
            },
        },
    }
}

/// Plans and schedules may have continued in the lost commits.
#[tokio::test]
async fn plans_end_and_due_slots_are_passed_over_with_an_older_history() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.db");
    let config = with_history(format!("sqlite:{}", path.display()), directory.path());
    let store = Store::open(&config).await.unwrap();
    let plan = store
        .insert_plan_run(&plan(), b"sealed".to_vec(), None, None)
        .await
        .unwrap();
    let due = store.insert_schedule(schedule("due", 4_000)).await.unwrap();
    let later = store
        .insert_schedule(schedule("later", 6_000))
        .await
        .unwrap();
    let backup = directory.path().join("backup.db");
    back_up(&path, &backup);
    store.insert_job(job(&["a"])).await.unwrap();
    store.close().await;
    std::fs::copy(&backup, &path).unwrap();
    let (store, accepted) = opened_by_force(&config).await;
    assert_eq!((accepted.plans, accepted.schedules), (1, 1));
    let ended = store.plan_job(plan).await.unwrap().unwrap();
    assert_eq!(ended.state, "failure");
    assert!(ended.result.unwrap().contains("tutti/history-went-back"));
    let cursor = async |id| {
        let row = store.schedule(id).await.unwrap().unwrap();
        row.edit.advance.cursor_ms
    };
    assert_eq!(
        cursor(due).await,
        Some(5_000),
        "slots until then are decided"
    );
    assert_eq!(cursor(later).await, Some(1_000));
    store.close().await;
}
