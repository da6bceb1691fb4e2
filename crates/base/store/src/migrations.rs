//! Migrations of the schema: numbered SQL files, each applied once, forward only.
//!
//! [`SchemaMigration`]s are compiled in, one list for each engine with the same names. Invariant: a
//! file that was ever released is never edited (its checksum is kept beside it), and a schema that
//! is newer than this program is refused.

use sha2::{Digest, Sha256};

/// One migration of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaMigration {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// Reason for which the schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// A newer program migrated the database.
    #[error(
        "the database has schema version {found} and this program knows {known}: it was written \
         by a newer version; install that one, or restore the backup made before the upgrade"
    )]
    Newer {
        /// Version of the database's schema.
        found: i64,
        /// Newest version that this program has.
        known: i64,
    },
    /// An applied migration differs from the one of this program.
    #[error(
        "migration {number} ({name}) was applied with another text than this program has; the \
         database comes from another build, restore a backup or use that build"
    )]
    Changed {
        /// Number of the migration.
        number: i64,
        /// Name of the migration.
        name: String,
    },
}

/// Creates the table of applied migrations; the same text on both engines.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations \
     (number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
pub(crate) const APPLIED: &str = "SELECT number, checksum FROM schema_migrations ORDER BY number";
pub(crate) const REMEMBER: &str =
    "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)";

macro_rules! migrations {
    ($engine:literal: $($number:literal $name:literal),* $(,)?) => {
        &[$(SchemaMigration {
            number: $number,
            name: $name,
            sql: include_str!(concat!("../migrations/", $engine, "/", $name, ".sql")),
        }),*]
    };
}

pub(crate) const SQLITE: &[SchemaMigration] = migrations!("sqlite":
    1 "0001_first",
    2 "0002_access",
    3 "0003_audit",
    4 "0004_classifier",
    5 "0005_inventory",
    6 "0006_plan_jobs",
    7 "0007_schedules",
    8 "0008_connections",
    9 "0009_webhooks",
    10 "0010_plan_steps",
    11 "0011_user_origins",
    12 "0012_list_order",
    13 "0013_agents",
    14 "0014_plan_owners",
    15 "0015_run_changes",
    16 "0016_classifier_environments",
    17 "0017_plan_journal",
    18 "0018_plan_questions",
    19 "0019_run_secrets",
    20 "0020_code_deploys",
    21 "0021_code_followers",
    22 "0022_connected_nodes",
    23 "0023_group_origins",
    24 "0024_ledger_identity",
    25 "0025_password_reset_makers",
    26 "0026_durations",
    27 "0027_rollouts",
    28 "0028_webhook_templates",
    29 "0029_webhook_plan_events",
    30 "0030_scheduled_plans",
    31 "0031_exported_resources",
    32 "0032_run_reports",
    33 "0033_agent_catalogs",
    34 "0034_puppet_run_events",
    35 "0035_produced_capabilities",
    36 "0036_capability_times",
);

pub(crate) const POSTGRES: &[SchemaMigration] = migrations!("postgres":
    1 "0001_first",
    2 "0002_access",
    3 "0003_audit",
    4 "0004_classifier",
    5 "0005_inventory",
    6 "0006_plan_jobs",
    7 "0007_schedules",
    8 "0008_connections",
    9 "0009_webhooks",
    10 "0010_plan_steps",
    11 "0011_user_origins",
    12 "0012_list_order",
    13 "0013_agents",
    14 "0014_plan_owners",
    15 "0015_run_changes",
    16 "0016_classifier_environments",
    17 "0017_plan_journal",
    18 "0018_plan_questions",
    19 "0019_run_secrets",
    20 "0020_code_deploys",
    21 "0021_code_followers",
    22 "0022_connected_nodes",
    23 "0023_group_origins",
    24 "0024_ledger_identity",
    25 "0025_password_reset_makers",
    26 "0026_durations",
    27 "0027_rollouts",
    28 "0028_webhook_templates",
    29 "0029_webhook_plan_events",
    30 "0030_scheduled_plans",
    31 "0031_exported_resources",
    32 "0032_run_reports",
    33 "0033_agent_catalogs",
    34 "0034_puppet_run_events",
    35 "0035_produced_capabilities",
    36 "0036_capability_times",
);

/// The migrations that remain to be applied after these.
pub(crate) fn pending_migrations(
    known: &'static [SchemaMigration],
    applied: &[(i64, String)],
) -> Result<&'static [SchemaMigration], MigrateError> {
    for ((number, checksum), migration) in applied.iter().zip(known) {
        if *number != migration.number || *checksum != migration.checksum() {
            return Err(MigrateError::Changed {
                number: *number,
                name: migration.name.to_owned(),
            });
        }
    }
    let version = |number: Option<i64>| number.unwrap_or(0);
    known
        .get(applied.len()..)
        .ok_or_else(|| MigrateError::Newer {
            found: version(applied.last().map(|(number, _)| *number)),
            known: version(known.last().map(|migration| migration.number)),
        })
}

impl SchemaMigration {
    pub(crate) fn checksum(&self) -> String {
        Sha256::digest(self.sql.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[SchemaMigration] = &[
        SchemaMigration {
            number: 1,
            name: "one",
            sql: "a",
        },
        SchemaMigration {
            number: 2,
            name: "two",
            sql: "b",
        },
    ];

    fn applied(count: usize) -> Vec<(i64, String)> {
        KNOWN[..count]
            .iter()
            .map(|known| (known.number, known.checksum()))
            .collect()
    }

    #[test]
    fn what_is_missing_is_applied_in_order() {
        let numbers = |count| {
            let pending = pending_migrations(KNOWN, &applied(count)).unwrap();
            pending
                .iter()
                .map(|migration| migration.number)
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(0), [1, 2]);
        assert_eq!(numbers(1), [2]);
        assert_eq!(numbers(2), [0; 0]);
    }

    #[test]
    fn a_newer_schema_and_an_edited_history_are_refused() {
        let mut newer = applied(2);
        newer.push((3, "c".to_owned()));
        let error = pending_migrations(KNOWN, &newer).unwrap_err();
        assert_eq!(error, MigrateError::Newer { found: 3, known: 2 });
        let mut edited = applied(2);
        edited[0].1 = "x".to_owned();
        let error = pending_migrations(KNOWN, &edited).unwrap_err();
        assert_eq!(
            error,
            MigrateError::Changed {
                number: 1,
                name: "one".to_owned()
            }
        );
    }
}
