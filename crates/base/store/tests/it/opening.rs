//! Opening and closing: schemas, locks, bad URLs.

use std::os::unix::fs::PermissionsExt;

use store::{OpenStoreError, Store, StoreConfig, StoreError};

use crate::engine::{Bench, both, job};

both!(a_second_server_is_refused, a_closed_store_says_so);

async fn a_second_server_is_refused(bench: Bench) {
    let error = Store::open(&bench.config).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, OpenStoreError::Locked { .. }), "{text}");
    assert!(
        text.contains("is in use by another server process ("),
        "{text}"
    );
    bench.store.close().await;
    Store::open(&bench.config).await.unwrap().close().await;
}

async fn a_closed_store_says_so(bench: Bench) {
    let other = bench.store.clone();
    bench.store.insert_job(job(&["a"])).await.unwrap();
    bench.store.close().await;
    assert!(matches!(
        other.insert_job(job(&["a"])).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(other.users().await, Err(StoreError::Closed)));
    other.close().await;
}

#[tokio::test]
async fn the_holder_of_a_file_is_named_and_the_file_is_private() {
    let bench = Bench::sqlite().await;
    let error = Store::open(&bench.config).await.unwrap_err().to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    let path = bench.config.url.strip_prefix("sqlite:").unwrap();
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let mode = std::fs::metadata(format!("{path}{suffix}"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
}

#[tokio::test]
async fn bad_urls_and_places_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let open = async |url: String| Store::open(&StoreConfig::new(url)).await.unwrap_err();
    assert!(
        open("mysql://x".to_owned())
            .await
            .to_string()
            .contains("`sqlite:`")
    );
    let error = open("postgresql://u:secret@h/d?sslmode=verify".to_owned())
        .await
        .to_string();
    assert!(
        error.contains("expected disable, prefer") && !error.contains("secret"),
        "{error}"
    );
    let missing = directory.path().join("no/tutti.db");
    let error = open(format!("sqlite:{}", missing.display()))
        .await
        .to_string();
    assert!(error.contains("no/tutti.db"), "{error}");
    let text = directory.path().join("text.db");
    std::fs::write(
        &text,
        "this is a text and no database, whatever its name may say".repeat(20),
    )
    .unwrap();
    let error = open(format!("sqlite:{}", text.display())).await;
    assert!(matches!(&error, OpenStoreError::Engine { .. }), "{error}");
}

#[tokio::test]
async fn a_newer_schema_and_an_edited_one_are_refused_on_sqlite() {
    let bench = Bench::sqlite().await;
    bench.store.close().await;
    let change = |sql: &str| {
        let path = bench.config.url.strip_prefix("sqlite:").unwrap();
        rusqlite::Connection::open(path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    };
    change("INSERT INTO schema_migrations VALUES (1000, 'later', 'x')");
    let error = Store::open(&bench.config).await.unwrap_err().to_string();
    assert!(
        error.contains("schema version 1000 and this program knows"),
        "{error}"
    );
    change("DELETE FROM schema_migrations WHERE number = 1000");
    change("UPDATE schema_migrations SET checksum = 'y'");
    let error = Store::open(&bench.config).await.unwrap_err().to_string();
    assert!(
        error.contains("migration 1 (0001_first) was applied with another text"),
        "{error}"
    );
}

#[tokio::test]
async fn two_processes_that_start_at_once_do_not_hurt_each_other() {
    let server = testkit::postgres::Postgres::shared().unwrap();
    let directory = tempfile::tempdir().unwrap();
    for url in [
        format!("sqlite:{}", directory.path().join("x.db").display()),
        server.create_database().unwrap(),
    ] {
        let config = StoreConfig::new(url);
        let (one, two) = tokio::join!(Store::open(&config), Store::open(&config));
        let stores: Vec<Store> = [one, two].into_iter().filter_map(Result::ok).collect();
        assert_eq!(stores.len(), 1);
        assert_eq!(stores[0].insert_job(job(&["a"])).await.unwrap().get(), 1);
        stores[0].close().await;
    }
}
