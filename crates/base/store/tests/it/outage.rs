//! Outages of PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use store::{JobListFilter, ListPage, Store, StoreConfig, StoreError};
use testkit::door::{Door, Moment};
use testkit::postgres::Postgres;

use crate::engine::job;

/// Every acknowledged job exists after stops and crashes of the server, and none exists twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_survive_restarts_and_crashes_of_the_server() {
    let server = Arc::new(Postgres::start().unwrap());
    let config = StoreConfig::new(server.create_database().unwrap());
    let store = Store::open(&config).await.unwrap();
    let writer = {
        let store = store.clone();
        let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let mut numbers = Vec::new();
            while stopped.try_recv().is_err() {
                numbers.push(store.insert_job(job(&["a"])).await.unwrap().get());
            }
            numbers
        });
        (stop, task)
    };
    for round in 0..6 {
        let before = store.last_job().await;
        while store.last_job().await < before + 20 {
            tokio::task::yield_now().await;
        }
        let server = Arc::clone(&server);
        tokio::task::spawn_blocking(move || {
            if round % 2 == 0 {
                server.kill()
            } else {
                server.stop()
            }
            .unwrap();
            server.resume().unwrap();
        })
        .await
        .unwrap();
    }
    let (stop, task) = writer;
    stop.send(()).unwrap();
    let numbers = task.await.unwrap();
    let expected: Vec<i64> = (1..=i64::try_from(numbers.len()).unwrap()).collect();
    assert_eq!(numbers, expected, "none lost, none twice, no gap");
    assert_eq!(store.last_job().await, *expected.last().unwrap());
    store.close().await;
}

/// The server is down at the commit of a job, for longer than writes wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_became_of_a_job_whose_commit_was_not_answered_is_told_later() {
    let server = Postgres::shared().unwrap();
    let door = Door::to(&server).unwrap();
    let config = StoreConfig {
        patience: Duration::from_millis(300),
        ..StoreConfig::new(door.url(&server.create_database().unwrap()))
    };
    let store = Store::open(&config).await.unwrap();
    let mut kept = 0;
    for moment in [Moment::BeforeCommit, Moment::AfterCommit] {
        let new = job(&["a", "b"]);
        let transaction_id = new.runs[1].transaction_id.clone();
        door.shut_at(moment);
        let error = store.insert_job(new).await.unwrap_err();
        assert!(matches!(error, StoreError::OutcomeUnknown(_)), "{error:?}");
        let error = store.inserted_job(&transaction_id).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        door.open();
        kept += i64::from(moment == Moment::AfterCommit);
        let number = store.inserted_job(&transaction_id).await.unwrap();
        let expected = (moment == Moment::AfterCommit).then_some(kept);
        assert_eq!(number.map(|number| number.get()), expected, "{moment:?}");
    }
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), kept + 1);
    store.close().await;
}

/// As after a fail-over to the wrong machine: connections are accepted and all writes refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lets_nobody_write_is_not_waited_for_longer_than_told() {
    let server = Postgres::shared().unwrap();
    let url = server.create_database().unwrap();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let config = StoreConfig {
        patience: Duration::from_millis(300),
        ..StoreConfig::new(url)
    };
    let store = Store::open(&config).await.unwrap();
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), 1);
    let read_only = |setting: &str| {
        let alter = format!("ALTER DATABASE {database} {setting}");
        server.psql("postgres", &alter).unwrap();
        let cut = format!(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
             WHERE datname = '{database}'"
        );
        server.psql("postgres", &cut).unwrap();
    };
    read_only("SET default_transaction_read_only = on");
    let error = store.insert_job(job(&["a"])).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    read_only("RESET default_transaction_read_only");
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), 2);
    store.close().await;
}

trait LastJob {
    async fn last_job(&self) -> i64;
}

impl LastJob for Store {
    async fn last_job(&self) -> i64 {
        let filter = JobListFilter {
            descending: true,
            ..JobListFilter::default()
        };
        let page = ListPage {
            limit: Some(1),
            offset: 0,
        };
        self.jobs(&filter, page)
            .await
            .unwrap()
            .0
            .first()
            .map_or(0, |row| row.number.get())
    }
}
