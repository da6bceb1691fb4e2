//! Opening of connections, with the settings that the invariants require, and the schema.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, ffi};

use crate::OpenStoreError;
use crate::defaults::{
    PREPARED_STATEMENTS, SQLITE_BUSY, SQLITE_CACHE_KIB, SQLITE_CHECKPOINT_PAGES,
    SQLITE_JOURNAL_LIMIT_BYTES,
};
use crate::migrations::{self, MigrateError};

/// Opens the connection that writes, and migrates the schema.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, OpenStoreError> {
    create_private(path)?;
    let engine = |source: rusqlite::Error| open_error(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(engine)?;
    configure(&connection).map_err(engine)?;
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(engine)?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(engine)?;
    connection
        .pragma_update(None, "foreign_keys", true)
        .map_err(engine)?;
    connection
        .pragma_update(None, "wal_autocheckpoint", SQLITE_CHECKPOINT_PAGES)
        .map_err(engine)?;
    connection
        .pragma_update(None, "journal_size_limit", SQLITE_JOURNAL_LIMIT_BYTES)
        .map_err(engine)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, OpenStoreError> {
    let engine = |source: rusqlite::Error| open_error(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(engine)?;
    configure(&connection).map_err(engine)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.busy_timeout(SQLITE_BUSY)?;
    // Without this, a statement with `LIMIT $n` is recompiled whenever the number is bound: a
    // seventh of the processor time of a plan's step, measured. The plans of the statements here do
    // not depend on the values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -SQLITE_CACHE_KIB)
}

/// Creates the file for the owner alone, since the database contains password hashes and results.
/// SQLite gives the files beside it the same mode.
fn create_private(path: &Path) -> Result<(), OpenStoreError> {
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|source| OpenStoreError::Io {
            path: path.to_owned(),
            source,
        })
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenStoreError> {
    let engine = |source: rusqlite::Error| open_error(path, source);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(engine)?;
    transaction
        .execute_batch(migrations::CREATE_TABLE)
        .map_err(engine)?;
    let applied = transaction
        .prepare(migrations::APPLIED)
        .and_then(|mut statement| {
            statement
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
        .map_err(engine)?;
    let applied: Vec<(i64, String)> = applied;
    let pending: Result<_, MigrateError> =
        migrations::pending_migrations(migrations::SQLITE, &applied);
    for migration in pending? {
        transaction.execute_batch(migration.sql).map_err(engine)?;
        let values = (migration.number, migration.name, migration.checksum());
        transaction
            .execute(migrations::REMEMBER, values)
            .map_err(engine)?;
    }
    transaction.commit().map_err(engine)
}

pub(crate) fn open_error(path: &Path, source: rusqlite::Error) -> OpenStoreError {
    // SQLite returns an I/O error if there is no space for the index of the write-ahead log.
    let full = source.sqlite_error().is_some_and(|error| {
        [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE].contains(&error.extended_code)
    });
    if full {
        return OpenStoreError::Io {
            path: path.to_owned(),
            source: std::io::ErrorKind::StorageFull.into(),
        };
    }
    OpenStoreError::Engine {
        place: path.display().to_string(),
        source: Box::new(source),
    }
}
