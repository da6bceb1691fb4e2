//! Survey of a database that a server is using.

use store::{DatabaseSurvey, IntegrityCheck, SchemaState, StoreConfig};

use crate::engine::{Bench, both};

both!(a_look_names_schema_and_holder_and_changes_nothing);

async fn a_look_names_schema_and_holder_and_changes_nothing(bench: Bench) {
    let held = DatabaseSurvey::survey(&bench.config).await.unwrap();
    let SchemaState::Current(number) = held.schema else {
        panic!("{held:?}")
    };
    assert!(number >= 26, "{held:?}");
    assert!(held.holder.is_some(), "{held:?}");
    assert!(
        !matches!(held.integrity, Some(IntegrityCheck::Damaged(_))),
        "{held:?}"
    );
    bench.store.close().await;
    let free = DatabaseSurvey::survey(&bench.config).await.unwrap();
    assert_eq!(free.holder, None);
    assert_eq!(free.schema, SchemaState::Current(number));
    assert_eq!(
        free.clock_ms.is_some(),
        !bench.config.url.starts_with("sqlite:")
    );
}

#[tokio::test]
async fn a_damaged_file_and_one_of_another_program_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let config = StoreConfig::sqlite(&path);
    DatabaseSurvey::survey(&config).await.unwrap_err();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(other);
    let empty = DatabaseSurvey::survey(&config).await.unwrap();
    assert_eq!(empty.schema, SchemaState::Empty);
    assert_eq!(empty.integrity, Some(IntegrityCheck::Intact));
    let newer = rusqlite::Connection::open(&path).unwrap();
    let text = "CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, name TEXT, checksum TEXT); \
                INSERT INTO schema_migrations VALUES (1, 'x', 'y')";
    newer.execute_batch(text).unwrap();
    drop(newer);
    let foreign = DatabaseSurvey::survey(&config).await.unwrap();
    assert!(
        matches!(foreign.schema, SchemaState::Unusable(_)),
        "{foreign:?}"
    );
    std::fs::write(
        &path,
        "no database at all, and longer than a header of SQLite has to be, by some letters more",
    )
    .unwrap();
    assert!(DatabaseSurvey::survey(&config).await.is_err());
}
