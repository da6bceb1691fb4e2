//! Survey of a SQLite file that a server may be using: [`survey_file`].

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};

use super::connection::{open_error, open_reader};
use super::lock::lock_path;
use crate::OpenStoreError;
use crate::database_survey::{DatabaseSurvey, IntegrityCheck, SchemaState};
use crate::defaults::SURVEY_INTEGRITY;
use crate::migrations;

/// Tests for a table that exists as soon as a server has started.
const HAS_SCHEMA: &str = "SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'";

/// Surveys the file. Its quick check is aborted after [`SURVEY_INTEGRITY`].
pub(crate) async fn survey_file(path: PathBuf) -> Result<DatabaseSurvey, OpenStoreError> {
    let (opened, file) = tokio::task::spawn_blocking(move || {
        let connection = open_reader(&path)?;
        let survey = read_facts(&connection, &path)?;
        Ok::<_, OpenStoreError>(((connection, survey), path))
    })
    .await
    .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
    let (connection, survey) = opened;
    let interrupt = connection.get_interrupt_handle();
    let mut check = tokio::task::spawn_blocking(move || {
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    });
    let integrity = match tokio::time::timeout(SURVEY_INTEGRITY, &mut check).await {
        Ok(Ok(Ok(told))) if told == "ok" => IntegrityCheck::Intact,
        Ok(Ok(Ok(damage))) => IntegrityCheck::Damaged(damage),
        Ok(Ok(Err(error))) => IntegrityCheck::Damaged(open_error(&file, error).to_string()),
        Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
        Err(_) => {
            interrupt.interrupt();
            // The check ends at its next step.
            drop(check.await);
            IntegrityCheck::Unfinished(SURVEY_INTEGRITY.as_secs())
        }
    };
    Ok(DatabaseSurvey {
        integrity: Some(integrity),
        ..survey
    })
}

fn read_facts(connection: &Connection, path: &Path) -> Result<DatabaseSurvey, OpenStoreError> {
    let engine = |source: rusqlite::Error| open_error(path, source);
    let has_schema: Option<i64> = connection
        .query_row(HAS_SCHEMA, [], |row| row.get(0))
        .optional()
        .map_err(engine)?;
    let schema = match has_schema {
        None => SchemaState::Empty,
        Some(_) => SchemaState::of(
            migrations::SQLITE,
            &applied_migrations(connection).map_err(engine)?,
        ),
    };
    Ok(DatabaseSurvey {
        database: path.display().to_string(),
        engine: format!("SQLite {}", rusqlite::version()),
        schema,
        encryption: None,
        holder: lock_holder(path),
        integrity: None,
        clock_ms: None,
    })
}

fn applied_migrations(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare(migrations::APPLIED)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The process that holds the file's lock, as the kernel lists it. Trying the lock instead could
/// prevent a server from starting.
fn lock_holder(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(lock_path(path)).ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = parse_holder(&locks, metadata.ino())?;
    Some(format!("process {pid}"))
}

/// Finds the holder in lines such as `1: FLOCK  ADVISORY  WRITE 1234 08:01:4711 0 EOF`.
fn parse_holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let of_file = fields.get(5)?.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        (*fields.get(1)? == "FLOCK" && of_file).then(|| fields.get(4)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_in_the_list_of_the_kernel() {
        let locks = "1: POSIX  ADVISORY  READ 7 fe:00:4711 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 812 fe:00:4711 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 813 fe:00:4711 0 EOF\nbad\n";
        assert_eq!(parse_holder(locks, 4711), Some(812));
        assert_eq!(parse_holder(locks, 4712), None);
    }
}
