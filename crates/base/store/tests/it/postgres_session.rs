//! The session of the store is killed in PostgreSQL while it commits.

use std::sync::Arc;
use std::time::Duration;

use store::{JobNumber, Store, StoreConfig};
use testkit::postgres::Postgres;
use tokio::sync::watch;

use crate::engine::{applied, job, run_to};

const KILLS: usize = 5;

/// Every acknowledged job and result exists, none twice, and none is applied again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kills_of_the_session_at_its_commit() {
    let server = Arc::new(Postgres::start().unwrap());
    let url = server.create_database().unwrap();
    let database = url.rsplit('/').next().unwrap().to_owned();
    // A commit takes 50 ms, so that the kill happens during one.
    for setting in ["commit_siblings = 0", "commit_delay = 50000"] {
        let sql = format!("ALTER DATABASE {database} SET {setting}");
        server.psql("postgres", &sql).unwrap();
    }
    let config = StoreConfig {
        // Recovery makes every file of the cluster durable, which takes long on slow disks.
        patience: Duration::from_secs(300),
        ..StoreConfig::new(url)
    };
    let store = Store::open(&config).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let (acknowledged, mut seen) = watch::channel(Vec::new());
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            while !*stopped.borrow() {
                let number = written(&store).await;
                acknowledged.send_modify(|numbers| numbers.push(number));
            }
        }
    });
    for _ in 0..KILLS {
        // Another write was acknowledged since the last kill.
        seen.changed().await.unwrap();
        let (server, database) = (Arc::clone(&server), database.clone());
        let writing = writer.abort_handle();
        // PostgreSQL accepts no connections during recovery.
        let kill = move || {
            while !writing.is_finished() && !server.kill_committing(&database).unwrap_or(false) {}
        };
        tokio::task::spawn_blocking(kill).await.unwrap();
        seen.mark_unchanged();
    }
    stop.send(true).unwrap();
    writer.await.unwrap();
    let numbers = seen.borrow().clone();
    assert!(numbers.len() >= KILLS, "{numbers:?}");
    for (index, number) in numbers.iter().enumerate() {
        assert_eq!(number.get(), index as i64 + 1, "none lost, none twice");
        let run = store.run(*number, "a").await.unwrap().unwrap();
        assert_eq!(run.state, "finished");
        let events = store.events(*number, 0, 10).await.unwrap();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].id, run.latest_event_id);
        assert!(!applied(&store, run_to(*number, "a", "failed", 9)).await);
    }
    store.close().await;
}

/// Writes a job and its result, both acknowledged.
async fn written(store: &Store) -> JobNumber {
    let number = store.insert_job(job(&["a"])).await.unwrap();
    let first = applied(store, run_to(number, "a", "finished", 5)).await;
    assert!(first, "the first result counts");
    number
}
