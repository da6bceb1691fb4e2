//! Checks of the programs that get reports of Puppet runs. Main function: [`check`].

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use doctor::DiagnosisFinding;

use super::installation::DiagnosedInstallation;

/// Name of the check.
pub(super) const CHECK: &str = "report processors";

/// Checks that each program can be executed.
pub(super) fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let processors = installation.config.reports.processors.iter();
    processors.map(|it| judge(&it.program)).collect()
}

fn judge(program: &Path) -> DiagnosisFinding {
    let place = program.display().to_string();
    let no_report = "it gets no report of a Puppet run";
    match std::fs::metadata(program) {
        Err(error) => {
            let cause = format!("{no_report}: {error}");
            DiagnosisFinding::problem(CHECK, &place, cause).remedy(format!("ls -l {place}"))
        }
        Ok(metadata) if !metadata.is_file() => {
            let cause = format!("{no_report}: it is not a file");
            DiagnosisFinding::problem(CHECK, &place, cause).remedy(format!("ls -ld {place}"))
        }
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
            let cause = format!("{no_report}: it is not executable");
            DiagnosisFinding::problem(CHECK, &place, cause).remedy(format!("chmod +x {place}"))
        }
        Ok(_) => DiagnosisFinding::ok(CHECK, place, "it can be executed"),
    }
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity::{Ok, Problem};

    use super::*;

    #[test]
    fn a_program_must_be_an_executable_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        assert_eq!(judge(&path).severity, Problem);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        let found = judge(&path);
        assert_eq!(found.remedy, Some(format!("chmod +x {}", path.display())));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(judge(&path).severity, Ok);
        assert_eq!(judge(dir.path()).severity, Problem);
    }
}
