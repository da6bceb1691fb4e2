//! Check of the database of a server. Main function: [`check`]; [`judge`] decides.

use doctor::Finding;
use doctor::clock::RemoteClock;
use jiff::Timestamp;
use store::{ConnectionEncryption, DatabaseSurvey, Integrity, SchemaState};

use super::Installation;
use crate::config::Config;

/// Name of the check.
pub(super) const CHECK: &str = "database";

/// The database without user and password.
pub(super) fn place(config: &Config) -> String {
    let url = config.store_url();
    match url.strip_prefix("sqlite:") {
        Some(path) => path.to_owned(),
        None => "PostgreSQL".to_owned(),
    }
}

/// Checks the database, even while the server uses it.
pub(super) async fn check(installation: &Installation) -> Vec<Finding> {
    let config = &installation.config;
    let place = place(config);
    let file = std::path::PathBuf::from(&place);
    if config.store_url().starts_with("sqlite:")
        && let Err(error) = std::fs::File::open(&file)
    {
        return vec![match error.kind() {
            std::io::ErrorKind::NotFound => {
                let cause = "it is not there yet: the first start of the server makes it";
                Finding::note(CHECK, place, cause)
            }
            _ => {
                let cause = format!("could not be looked at ({error})");
                Finding::note(CHECK, place, cause).remedy("run this again as root, with sudo")
            }
        }];
    }
    let asked = Timestamp::now();
    match Box::pin(DatabaseSurvey::of(&config.store_config())).await {
        Ok(survey) => {
            let own = asked + asked.duration_until(Timestamp::now()) / 2;
            let told = survey
                .clock_ms
                .and_then(|ms| Timestamp::from_millisecond(ms).ok());
            if let Some(told) = told {
                installation.note_clock(RemoteClock {
                    place: survey.place.clone(),
                    told,
                    own,
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
            vec![Finding::problem(CHECK, place, error).remedy(command)]
        }
    }
}

/// One finding for each fault, or one for a database without faults.
fn judge(survey: &DatabaseSurvey) -> Vec<Finding> {
    let place = &survey.place;
    let mut findings: Vec<Finding> = Vec::new();
    match &survey.schema {
        SchemaState::Current(_) | SchemaState::Empty => {}
        SchemaState::Older(found, known) => {
            let cause = format!(
                "its tables are of version {found}; the next start of the server brings them to {known}, and an older \
                 program cannot use them then"
            );
            findings.push(
                Finding::note(CHECK, place, cause)
                    .remedy("back it up, then: systemctl restart tutti"),
            );
        }
        SchemaState::Unusable(error) => {
            findings
                .push(Finding::problem(CHECK, place, error.to_string()).remedy("tutti version"));
        }
    }
    if survey.encryption == Some(ConnectionEncryption::Clear) {
        let cause = "the connection to it is not encrypted: password and results go over the network in clear";
        let command = "set sslmode=verify-full in store.url";
        findings.push(Finding::problem(CHECK, place, cause).remedy(command));
    }
    match &survey.integrity {
        Some(Integrity::Damaged(what)) => {
            let cause = format!("it is damaged: {what}");
            let command =
                "systemctl stop tutti, restore the backup, then: tutti accept-older-history --yes";
            findings.push(Finding::problem(CHECK, place, cause).remedy(command));
        }
        Some(Integrity::Unfinished(seconds)) => {
            let cause = format!("it is too large to be checked for damage within {seconds} s");
            let command = format!("sqlite3 {place} 'PRAGMA quick_check'");
            findings.push(Finding::note(CHECK, place, cause).remedy(command));
        }
        Some(Integrity::Whole) | None => {}
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, place, state(survey)));
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
    if survey.integrity == Some(Integrity::Whole) {
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
    use doctor::Severity;

    use super::*;

    fn survey() -> DatabaseSurvey {
        DatabaseSurvey {
            place: "/var/lib/tutti/tutti.db".to_owned(),
            engine: "SQLite 3.50.2".to_owned(),
            schema: SchemaState::Current(26),
            encryption: None,
            holder: Some("process 812".to_owned()),
            integrity: Some(Integrity::Whole),
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
                Severity::Ok,
                "schema 26, whole, held by process 812",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Empty,
                    holder: None,
                    ..survey()
                },
                Severity::Ok,
                "no schema yet",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Older(20, 26),
                    ..survey()
                },
                Severity::Note,
                "to 26",
            ),
            (
                DatabaseSurvey {
                    schema: SchemaState::Unusable(newer),
                    ..survey()
                },
                Severity::Problem,
                "newer version",
            ),
            (
                DatabaseSurvey {
                    encryption: Some(ConnectionEncryption::Clear),
                    integrity: None,
                    ..survey()
                },
                Severity::Problem,
                "in clear",
            ),
            (
                DatabaseSurvey {
                    encryption: Some(ConnectionEncryption::Encrypted("TLSv1.3".to_owned())),
                    integrity: None,
                    ..survey()
                },
                Severity::Ok,
                "encrypted with TLSv1.3",
            ),
            (
                DatabaseSurvey {
                    integrity: Some(Integrity::Damaged("page 3".to_owned())),
                    ..survey()
                },
                Severity::Problem,
                "damaged: page 3",
            ),
            (
                DatabaseSurvey {
                    integrity: Some(Integrity::Unfinished(4)),
                    ..survey()
                },
                Severity::Note,
                "4 s",
            ),
        ] {
            let findings = judge(&change);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].severity, severity, "{findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
            assert_eq!(findings[0].remedy.is_none(), severity == Severity::Ok);
        }
    }
}
