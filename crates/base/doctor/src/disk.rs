//! Free space and inodes of the file systems of directories: [`judge`], gathered by [`examine`].

use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::defaults::{DISK_NOTE_BYTES, DISK_NOTE_INODES, DISK_PROBLEM_BYTES, DISK_PROBLEM_INODES};
use crate::finding::DiagnosisFinding;

/// Name of the check in findings.
pub const CHECK: &str = "disk";

/// The file system of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFacts {
    /// The directory, or its nearest existing ancestor.
    pub directory: PathBuf,
    /// Id of the file system (`f_fsid`).
    pub file_system: u64,
    /// Bytes that a user other than root can still write.
    pub free_bytes: u64,
    /// Inodes that such a user can still create; `None` if the file system has no fixed number.
    pub free_inodes: Option<u64>,
    /// True if the file system is mounted read-only.
    pub is_read_only: bool,
}

/// Examines the file system of a directory; an error contains the cause.
pub fn examine(directory: &Path) -> Result<DiskFacts, String> {
    let there = directory.ancestors().find(|it| it.exists());
    let there = there.unwrap_or(Path::new("/"));
    let found = rustix::fs::statvfs(there).map_err(|error| error.to_string())?;
    Ok(DiskFacts {
        directory: there.to_owned(),
        file_system: found.f_fsid,
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        free_inodes: (found.f_files > 0).then_some(found.f_favail),
        is_read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Returns one finding for each file system, under the names of the directories on it.
pub fn judge(looked: &[(PathBuf, Result<DiskFacts, String>)]) -> Vec<DiagnosisFinding> {
    let mut findings = Vec::new();
    let mut file_systems: Vec<(&DiskFacts, Vec<String>)> = Vec::new();
    for (directory, facts) in looked {
        let name = directory.display().to_string();
        match facts {
            Err(error) => {
                let cause = format!("its file system cannot be looked at: {error}");
                findings.push(DiagnosisFinding::note(CHECK, name, cause));
            }
            Ok(facts) => {
                let is_same = |known: &DiskFacts| {
                    known.file_system == facts.file_system
                        && known.is_read_only == facts.is_read_only
                };
                match file_systems.iter_mut().find(|(known, _)| is_same(known)) {
                    Some((_, names)) if names.contains(&name) => {}
                    Some((_, names)) => names.push(name),
                    None => file_systems.push((facts, vec![name])),
                }
            }
        }
    }
    findings.extend(
        file_systems
            .iter()
            .map(|(facts, names)| judge_file_system(facts, names)),
    );
    findings
}

fn judge_file_system(facts: &DiskFacts, names: &[String]) -> DiagnosisFinding {
    let place = names.join(", ");
    let directory = facts.directory.display();
    if facts.is_read_only {
        let cause = "it is mounted read-only, so nothing can be written";
        let command = format!("mount -o remount,rw \"$(findmnt -n -o TARGET -T {directory})\"");
        return DiagnosisFinding::problem(CHECK, place, cause).remedy(command);
    }
    let mebibytes = facts.free_bytes >> 20;
    let inodes = facts.free_inodes.unwrap_or(u64::MAX);
    let shown = match facts.free_inodes {
        Some(inodes) => format!("{mebibytes} MiB and {inodes} inodes are free"),
        None => format!("{mebibytes} MiB are free"),
    };
    let biggest = format!("du -xh --max-depth=2 {directory} | sort -h | tail");
    if facts.free_bytes < DISK_PROBLEM_BYTES || inodes < DISK_PROBLEM_INODES {
        let cause = format!("{shown}: writing fails soon, if it does not already");
        return DiagnosisFinding::problem(CHECK, place, cause).remedy(biggest);
    }
    if facts.free_bytes < DISK_NOTE_BYTES || inodes < DISK_NOTE_INODES {
        return DiagnosisFinding::note(CHECK, place, format!("only {shown}")).remedy(biggest);
    }
    DiagnosisFinding::ok(CHECK, place, shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingSeverity;

    fn disk(free_bytes: u64, free_inodes: Option<u64>) -> DiskFacts {
        DiskFacts {
            directory: "/srv".into(),
            file_system: 1,
            free_bytes,
            free_inodes,
            is_read_only: false,
        }
    }

    #[test]
    fn little_space_and_few_inodes_are_told_before_writing_fails() {
        let read_only = DiskFacts {
            is_read_only: true,
            ..disk(u64::MAX, None)
        };
        let table = [
            (
                disk(5 << 30, Some(1 << 20)),
                FindingSeverity::Ok,
                "5120 MiB",
            ),
            (
                disk(5 << 30, None),
                FindingSeverity::Ok,
                "5120 MiB are free",
            ),
            (disk(500 << 20, None), FindingSeverity::Note, "only 500 MiB"),
            (
                disk(5 << 20, None),
                FindingSeverity::Problem,
                "writing fails soon",
            ),
            (
                disk(5 << 30, Some(5_000)),
                FindingSeverity::Note,
                "5000 inodes",
            ),
            (disk(5 << 30, Some(5)), FindingSeverity::Problem, "5 inodes"),
            (read_only, FindingSeverity::Problem, "read-only"),
        ];
        for (facts, severity, part) in table {
            let findings = judge(&[("/srv".into(), Ok(facts.clone()))]);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].severity, severity, "{facts:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
            let needs_remedy = severity != FindingSeverity::Ok;
            assert_eq!(findings[0].remedy.is_some(), needs_remedy, "{findings:?}");
        }
    }

    #[test]
    fn directories_of_one_file_system_are_one_line() {
        let other = DiskFacts {
            file_system: 2,
            ..disk(5 << 30, None)
        };
        let findings = judge(&[
            ("/a".into(), Ok(disk(5 << 30, None))),
            ("/b".into(), Ok(disk(5 << 30, None))),
            ("/c".into(), Ok(other)),
            ("/d".into(), Err("permission denied".to_owned())),
        ]);
        let places: Vec<&str> = findings.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, ["/d", "/a, /b", "/c"]);
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_on_the_disk_of_the_one_above() {
        let directory = tempfile::tempdir().unwrap();
        let facts = examine(&directory.path().join("not/yet")).unwrap();
        assert_eq!(facts.directory, directory.path());
        assert!(facts.free_bytes > 0);
    }
}
