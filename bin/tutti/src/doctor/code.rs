//! Checks of the directories of code: readable environments, and directories that deployments
//! write. Main function: [`check`].

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use doctor::DiagnosisFinding;
use doctor::defaults::DIRECTORY_ENTRIES;
use doctor::files::{self, CheckedService, CheckedTree, PathSighting};

use super::directories;
use super::installation::DiagnosedInstallation;

/// Name of the check.
pub(super) const CHECK: &str = "code";

/// State of `environments`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EnvironmentListing {
    /// Names of the existing environments, and broken links.
    Listed {
        names: Vec<String>,
        dangling: Vec<String>,
    },
    Missing,
    /// The directory cannot be listed, for this reason.
    Unreadable(String),
}

/// Facts on the directories of code.
#[derive(Clone, Debug)]
struct CodeFacts {
    /// Directory that holds the environments.
    environments: PathBuf,
    listing: EnvironmentListing,
    /// True if this server deploys code itself.
    is_deployed_here: bool,
    /// Devices of `environments` and of `code.directory`, if both exist.
    devices: Option<(u64, u64)>,
    /// The directory with code versions.
    directory: PathBuf,
    /// True if agents can fetch task files from this server.
    serves_files: bool,
}

/// Checks the environments and the directories of deployments.
pub(super) fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let config = &installation.config;
    let environments = config.code.codedir.join("environments");
    let device = |path: &Path| std::fs::metadata(path).ok().map(|it| it.dev());
    let written = directories::code_directories(config);
    let facts = CodeFacts {
        listing: list_environments(&environments),
        is_deployed_here: !written.is_empty(),
        devices: device(&environments).zip(device(&config.code.directory)),
        directory: config.code.directory.clone(),
        serves_files: config.puppet_api.enabled,
        environments,
    };
    let mut findings = judge(&facts);
    findings.extend(find_unwritable(installation, &written));
    findings
}

fn list_environments(directory: &Path) -> EnvironmentListing {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return EnvironmentListing::Missing,
        Err(error) => return EnvironmentListing::Unreadable(error.to_string()),
    };
    let (mut names, mut dangling) = (Vec::new(), Vec::new());
    for entry in entries.flatten().take(DIRECTORY_ENTRIES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        match std::fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_dir() => names.push(name),
            Ok(_) => {}
            Err(_) => dangling.push(name),
        }
    }
    names.sort();
    dangling.sort();
    EnvironmentListing::Listed { names, dangling }
}

/// Findings about the collected facts.
fn judge(facts: &CodeFacts) -> Vec<DiagnosisFinding> {
    let place = facts.environments.display().to_string();
    let mut findings = Vec::new();
    match &facts.listing {
        EnvironmentListing::Unreadable(why) => {
            let cause = format!("could not be looked at ({why})");
            findings.push(
                DiagnosisFinding::note(CHECK, &place, cause)
                    .remedy("run this again as root, with sudo"),
            );
        }
        EnvironmentListing::Missing => {
            let cause = "it is missing, so there is no environment, and only the tasks that ship with Tutti run; the \
                         server looks there because of code.codedir";
            let command = format!(
                "install -d -o tutti -g tutti {place}, or set code.codedir to Puppet's directory of code"
            );
            findings.push(DiagnosisFinding::problem(CHECK, &place, cause).remedy(command));
        }
        EnvironmentListing::Listed { names, dangling } => {
            if !dangling.is_empty() {
                let cause = format!("these environments lead nowhere: {}", dangling.join(", "));
                let command = match facts.is_deployed_here {
                    true => format!("tutti code deploy {}", dangling.join(" ")),
                    false => format!("ls -l {place}"),
                };
                findings.push(DiagnosisFinding::problem(CHECK, &place, cause).remedy(command));
            }
            match (names.is_empty(), dangling.is_empty()) {
                (false, _) => {
                    let cause = format!("environments: {}", shorten_names(names));
                    findings.push(DiagnosisFinding::ok(CHECK, &place, cause));
                }
                (true, true) => {
                    let cause = "there is no environment yet";
                    findings.push(DiagnosisFinding::note(CHECK, &place, cause).remedy(
                        match facts.is_deployed_here {
                            true => "tutti code deploy --all".to_owned(),
                            false => format!("install -d {place}/production"),
                        },
                    ));
                }
                (true, false) => {}
            }
        }
    }
    if !facts.serves_files {
        let cause = "it is false, so agents ask another server for the files of tasks, and that lacks those that \
                     ship with Tutti";
        let command = "set puppet_api.enabled = true, with a free port in puppet_api.listen, such as 0.0.0.0:8141";
        findings
            .push(DiagnosisFinding::problem(CHECK, "puppet_api.enabled", cause).remedy(command));
    }
    if let (true, Some((live, kept))) = (facts.is_deployed_here, facts.devices)
        && live != kept
    {
        let cause = format!(
            "it is on another file system than {}: files of versions cannot be shared between the two",
            facts.environments.display()
        );
        let directory = facts.directory.display().to_string();
        let command = "set code.directory to a place on the file system of code.codedir";
        findings.push(DiagnosisFinding::note(CHECK, directory, cause).remedy(command));
    }
    findings
}

fn shorten_names(names: &[String]) -> String {
    let first = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(5) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Directories of deployments that the account of the service cannot write.
fn find_unwritable(
    installation: &DiagnosedInstallation,
    written: &[PathBuf],
) -> Vec<DiagnosisFinding> {
    let looked: Vec<_> = written
        .iter()
        .map(|directory| {
            let expected = CheckedTree::own(directory).write("");
            let facts = files::examine_path(directory);
            (expected, facts)
        })
        // A missing directory is created by the server, if its parent permits it.
        .filter(|(_, facts)| matches!(facts.path_state, PathSighting::Exists(_)))
        .collect();
    let service = CheckedService {
        account: installation.account(),
        unit: installation
            .role
            .unit_name()
            .unwrap_or("the service")
            .to_owned(),
    };
    let findings = files::judge(&looked, &service, &installation.accounts).into_iter();
    findings
        .filter(|it| it.severity != doctor::FindingSeverity::Ok)
        .map(|it| DiagnosisFinding { check: CHECK, ..it })
        .collect()
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity;

    use super::*;

    fn facts(found: EnvironmentListing) -> CodeFacts {
        CodeFacts {
            environments: "/code/environments".into(),
            listing: found,
            is_deployed_here: true,
            devices: Some((1, 1)),
            directory: "/opt/code".into(),
            serves_files: true,
        }
    }

    fn listed(names: &[&str], dangling: &[&str]) -> EnvironmentListing {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        EnvironmentListing::Listed {
            names: owned(names),
            dangling: owned(dangling),
        }
    }

    #[test]
    fn each_fault_of_the_code_is_one_line() {
        let far = CodeFacts {
            devices: Some((1, 2)),
            ..facts(listed(&["production"], &[]))
        };
        let external_directories = CodeFacts {
            serves_files: false,
            ..facts(listed(&["production"], &[]))
        };
        for (facts, severity, part) in [
            (
                external_directories,
                FindingSeverity::Problem,
                "ship with Tutti",
            ),
            (
                facts(listed(&["production", "staging"], &[])),
                FindingSeverity::Ok,
                "production, staging",
            ),
            (
                facts(EnvironmentListing::Missing),
                FindingSeverity::Problem,
                "code.codedir",
            ),
            (
                facts(EnvironmentListing::Unreadable("denied".to_owned())),
                FindingSeverity::Note,
                "denied",
            ),
            (
                facts(listed(&[], &[])),
                FindingSeverity::Note,
                "no environment yet",
            ),
            (
                facts(listed(&[], &["production"])),
                FindingSeverity::Problem,
                "lead nowhere: production",
            ),
            (far, FindingSeverity::Note, "another file system"),
        ] {
            let findings = judge(&facts);
            let last = findings.last().unwrap();
            assert_eq!(last.severity, severity, "{findings:?}");
            assert!(last.cause.contains(part), "{findings:?}");
            let faults = findings
                .iter()
                .filter(|it| it.severity != FindingSeverity::Ok);
            assert_eq!(faults.count(), usize::from(severity != FindingSeverity::Ok));
        }
    }

    #[test]
    fn environments_are_directories_and_links_to_them() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("production")).unwrap();
        std::fs::write(directory.path().join("README"), "").unwrap();
        std::os::unix::fs::symlink("production", directory.path().join("staging")).unwrap();
        std::os::unix::fs::symlink("/nonexistent", directory.path().join("old")).unwrap();
        assert_eq!(
            list_environments(directory.path()),
            listed(&["production", "staging"], &["old"])
        );
        assert_eq!(
            list_environments(&directory.path().join("none")),
            EnvironmentListing::Missing
        );
    }
}
