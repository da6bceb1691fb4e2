//! Check of the database of a server. Main function: [`check`]; [`judge`] decides.

use doctor::DiagnosisFinding;
use doctor::clock::RemoteClock;
use jiff::Timestamp;
use store::{ConnectionEncryption, DatabaseSurvey, IntegrityCheck, SchemaState};

use super::installation::DiagnosedInstallation;
use crate::config::Config;

/// Name of the check.
pub(super) const CHECK: &str = "database";

/// The database without user and password.
pub(super) fn display_url(config: &Config) -> String {
    let url = config.store_url();
    match url.strip_prefix("sqlite:") {
        Some(path) => path.to_owned(),
        None => "PostgreSQL".to_owned(),
    }
}

/// Checks the database, even while the server uses it.
pub(super) async fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let config = &installation.config;
    let place = display_url(config);
    let file = std::path::PathBuf::from(&place);
    if config.store_url().starts_with("sqlite:")
        && let Err(error) = std::fs::File::open(&file)
    {
        return vec![match error.kind() {
            std::io::ErrorKind::NotFound => {
                let cause = "it is not there yet: the first start of the server makes it";
                DiagnosisFinding::note(CHECK, place, cause)
            }
            _ => {
                let cause = format!("could not be looked at ({error})");
                DiagnosisFinding::note(CHECK, place, cause)
                    .remedy("run this again as root, with sudo")
            }
        }];
    }
    let asked = Timestamp::now();
    match Box::pin(DatabaseSurvey::survey(&config.store_config())).await {
        Ok(survey) => {
            let own = asked + asked.duration_until(Timestamp::now()) / 2;
            let told = survey
                .clock_ms
                .and_then(|ms| Timestamp::from_millisecond(ms).ok());
            if let Some(told) = told {
                installation.note_clock(RemoteClock {
                    machine: survey.database.clone(),
                    remote_time: told,
                    local_time: own,
                });
            }
            judge(&survey)
        }
        Err(error) => {
            let error = format!("{:#}", anyhow::Error::new(error));
            let command = match place.starts_with('/') {
                true => format!("sqlite3 {place} 'PRAGMA integrity_check'"),
                false => {
                    "psql \"$URL\" -c 'select 1'  # with store.url of the configuration".to_owned()
                }
            };
            vec![DiagnosisFinding::problem(CHECK, place, error).remedy(command)]
        }
    }
}

/// One finding for each fault, or one for a database without faults.
fn judge(survey: &DatabaseSurvey) -> Vec<DiagnosisFinding> {
    let place = &survey.database;
    let mut findings: Vec<DiagnosisFinding> = Vec::new();
    match &survey.schema {
        SchemaState::Current(_) | SchemaState::Empty => {}
        SchemaState::Older(found, known) => {
            let cause = format!(
                "its tables are of version {found}; the next start of the server brings them to {known}, and an older \
                 program cannot use them then"
            );
            findings.push(
                DiagnosisFinding::note(CHECK, place, cause)
                    .remedy("back it up, then: systemctl restart tutti"),
            );
        }
        SchemaState::Unusable(error) => {
            findings.push(
                DiagnosisFinding::problem(CHECK, place, error.to_string()).remedy("tutti version"),
            );
        }
    }
    if survey.encryption == Some(ConnectionEncryption::Clear) {
        let cause = "the connection to it is not encrypted: password and results go over the network in clear";
        let command = "set sslmode=verify-full in store.url";
        findings.push(DiagnosisFinding::problem(CHECK, place, cause).remedy(command));
    }
    match &survey.integrity {
        Some(IntegrityCheck::Damaged(what)) => {
            let cause = format!("it is damaged: {what}");
            let command =
                "systemctl stop tutti, restore the backup, then: tutti accept-older-history --yes";
            findings.push(DiagnosisFinding::problem(CHECK, place, cause).remedy(command));
        }
        Some(IntegrityCheck::Unfinished(seconds)) => {
            let cause = format!("it is too large to be checked for damage within {seconds} s");
            let command = format!("sqlite3 {place} 'PRAGMA quick_check'");
            findings.push(DiagnosisFinding::note(CHECK, place, cause).remedy(command));
        }
        Some(IntegrityCheck::Intact) | None => {}
    }
    if findings.is_empty() {
        findings.push(DiagnosisFinding::ok(CHECK, place, state(survey)));
    }
    findings
}

/// Engine, tables, protection and holder in one line.
fn state(survey: &DatabaseSurvey) -> String {
    let mut parts = vec![survey.engine.clone()];
    parts.push(match &survey.schema {
        SchemaState::Current(number) => format!("schema {number}"),
        _ => "no schema yet".to_owned(),
    });
    if let Some(ConnectionEncryption::Encrypted(version)) = &survey.encryption {
        parts.push(format!("encrypted with {version}"));
    }
    if survey.integrity == Some(IntegrityCheck::Intact) {
        parts.push("whole".to_owned());
    }
    parts.push(match &survey.holder {
        Some(holder) => format!("held by {holder}"),
        None => "held by no server".to_owned(),
    });
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity;

    use super::*;

    fn survey() -> DatabaseSurvey {
        DatabaseSurvey {
            database: "/var/lib/tutti/tutti.db".to_owned(),
            engine: "SQLite 3.50.2".to_owned(),
            schema: SchemaState::Current(26),
            encryption: None,
            holder: Some("process 812".to_owned()),
            integrity: Some(IntegrityCheck::Intact),
            clock_ms: None,
        }
    }

    #[test]
    fn each_fault_of_a_database_is_one_line() {
        let newer = store::MigrateError::Newer {
            found: 27,
            known: 26,
        };
        for (change, severity, part) in [
            (
                survey(),
                FindingSeverity::Ok,
                "schema 26, whole, held by process 812",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Empty,
                    holder: None,
                    ..survey()
                },
                FindingSeverity::Ok,
                "no schema yet",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Older(20, 26),
                    ..survey()
                },
                FindingSeverity::Note,
                "to 26",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Unusable(newer),
                    ..survey()
                },
                FindingSeverity::Problem,
                "newer version",
            ),
            (
                DatabaseSurvey {
                    encryption: Some(ConnectionEncryption::Clear),
                    integrity: None,
                    ..survey()
                },
                FindingSeverity::Problem,
                "in clear",
            ),
            (
                DatabaseSurvey {
                    encryption: Some(ConnectionEncryption::Encrypted("TLSv1.3".to_owned())),
                    integrity: None,
                    ..survey()
                },
                FindingSeverity::Ok,
                "encrypted with TLSv1.3",
            ),
            (
                DatabaseSurvey {
                    integrity: Some(IntegrityCheck::Damaged("page 3".to_owned())),
                    ..survey()
                },
                FindingSeverity::Problem,
                "damaged: page 3",
            ),
            (
                DatabaseSurvey {
                    integrity: Some(IntegrityCheck::Unfinished(4)),
                    ..survey()
                },
                FindingSeverity::Note,
                "4 s",
            ),
        ] {
            let findings = judge(&change);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].severity, severity, "{findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
            assert_eq!(
                findings[0].remedy.is_none(),
                severity == FindingSeverity::Ok
            );
        }
    }
}
