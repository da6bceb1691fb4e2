//! Findings about owners and modes: [`judge`].

use std::path::Path;

use super::CHECK;
use super::expectation::{CheckedTree, FileAccess, PathExpectation};
use super::facts::{FileFacts, PathFacts, PathSighting, READ, SEARCH, WRITE};
use crate::accounts::{LocalAccounts, ServiceAccount};
use crate::defaults::PATHS_SHOWN;
use crate::finding::DiagnosisFinding;

/// The service that uses the files.
#[derive(Clone, Debug)]
pub struct CheckedService {
    /// Account that the service runs as.
    pub account: ServiceAccount,
    /// Unit that must be restarted after its account got another group, such as `tutti.service`.
    pub unit: String,
}

/// A fault of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathFault {
    /// The service cannot use it, because of the facts of a directory above it or of the path
    /// itself.
    Unusable(FileFacts),
    /// Every user of the machine can read it.
    Exposed,
    /// Its mode allows more than the service accepts.
    TooOpen(u32),
    Missing,
    /// The path is not accessible to the diagnosis, with the reason.
    Inaccessible(String),
}

/// Paths of one tree with the same kind of fault.
struct FaultGroup<'p> {
    tree: &'p CheckedTree,
    fault: PathFault,
    paths: Vec<(&'p PathExpectation, &'p Path)>,
}

/// Returns one finding for each tree and kind of fault, and one for the files without a fault.
pub fn judge(
    looked: &[(PathExpectation, PathFacts)],
    service: &CheckedService,
    accounts: &LocalAccounts,
) -> Vec<DiagnosisFinding> {
    let mut groups: Vec<FaultGroup<'_>> = Vec::new();
    let mut fine = 0_usize;
    for (expected, facts) in looked {
        let Some(fault) = fault(expected, facts, &service.account) else {
            fine += usize::from(matches!(facts.path_state, PathSighting::Exists(_)));
            continue;
        };
        let is_same = |group: &FaultGroup<'_>| {
            *group.tree == expected.tree
                && std::mem::discriminant(&group.fault) == std::mem::discriminant(&fault)
        };
        let path = (expected, facts.path.as_path());
        match groups.iter_mut().find(|group| is_same(group)) {
            Some(group) => group.paths.push(path),
            None => groups.push(FaultGroup {
                tree: &expected.tree,
                fault,
                paths: vec![path],
            }),
        }
    }
    let mut findings: Vec<DiagnosisFinding> = groups
        .iter()
        .map(|group| group.to_finding(service, accounts))
        .collect();
    if fine > 0 || findings.is_empty() {
        findings.insert(0, all_fine_finding(fine, looked, service));
    }
    findings
}

fn all_fine_finding(
    fine: usize,
    looked: &[(PathExpectation, PathFacts)],
    service: &CheckedService,
) -> DiagnosisFinding {
    let mut trees: Vec<String> = Vec::new();
    for (expected, _) in looked {
        let tree = expected.tree.path.display().to_string();
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
    let user = &service.account.name;
    let entries = if fine == 1 { "1 entry is" } else { "are" };
    let count = if fine == 1 {
        String::new()
    } else {
        format!("{fine} entries ")
    };
    let cause =
        format!("{count}{entries} as the user {user} needs, and no secret is open to others");
    let more = trees.len().saturating_sub(PATHS_SHOWN);
    trees.truncate(PATHS_SHOWN);
    let place = match more {
        0 => trees.join(", "),
        more => format!("{} and {more} more", trees.join(", ")),
    };
    DiagnosisFinding::ok(CHECK, place, cause)
}

fn fault(
    expected: &PathExpectation,
    facts: &PathFacts,
    account: &ServiceAccount,
) -> Option<PathFault> {
    let in_the_way = facts.above.iter().find(|it| !it.allows(account, SEARCH));
    if let Some(directory) = in_the_way {
        // If the path itself is not accessible, it may not exist at all.
        if matches!(facts.path_state, PathSighting::Exists(_)) {
            return Some(PathFault::Unusable(directory.clone()));
        }
    }
    match &facts.path_state {
        PathSighting::Missing => expected.is_required.then_some(PathFault::Missing),
        PathSighting::Inaccessible(why) => Some(PathFault::Inaccessible(why.clone())),
        PathSighting::Exists(found) => {
            let mut want = READ;
            if expected.access == FileAccess::Write {
                want |= WRITE;
            }
            if found.is_directory {
                want |= SEARCH;
            }
            if !found.allows(account, want) {
                return Some(PathFault::Unusable(found.clone()));
            }
            if expected.is_for_owner_alone && found.mode & 0o077 != 0 {
                return Some(PathFault::TooOpen(found.mode));
            }
            let is_reached = facts.above.iter().all(|it| it.is_open_to_all(SEARCH));
            let is_exposed = expected.is_secret && is_reached && found.is_open_to_all(READ | WRITE);
            is_exposed.then_some(PathFault::Exposed)
        }
    }
}

// === impl FaultGroup ===

impl FaultGroup<'_> {
    fn to_finding(&self, service: &CheckedService, accounts: &LocalAccounts) -> DiagnosisFinding {
        let place = self.display_paths();
        let user = &service.account.name;
        match &self.fault {
            PathFault::Unusable(blocking) => {
                let cause = format!(
                    "the user {user} cannot {}: {} belongs to {}:{} with mode {:04o}",
                    self.access_verb(),
                    blocking.path.display(),
                    accounts.user_name(blocking.uid),
                    accounts.group_name(blocking.gid),
                    blocking.mode
                );
                DiagnosisFinding::problem(CHECK, place, cause)
                    .remedy(self.access_remedy(blocking, service, accounts))
            }
            PathFault::Exposed => {
                let cause = "every user of this machine can read it, and it is secret";
                let command = format!("chmod o-rwx {}", self.all_paths());
                DiagnosisFinding::problem(CHECK, place, cause).remedy(command)
            }
            PathFault::TooOpen(mode) => {
                let cause = format!(
                    "its mode {mode:04o} lets others than its owner read it, and {} refuses it so",
                    service.unit
                );
                let command = format!("chmod 600 {}", self.quoted_paths());
                DiagnosisFinding::problem(CHECK, place, cause).remedy(command)
            }
            PathFault::Missing => {
                let cause = format!(
                    "it is missing, and {} does not work without it",
                    service.unit
                );
                let found = format!("journalctl -u {} -n 50", service.unit);
                DiagnosisFinding::problem(CHECK, place, cause).remedy(found)
            }
            PathFault::Inaccessible(why) => {
                let cause = format!("could not be looked at ({why})");
                DiagnosisFinding::note(CHECK, place, cause)
                    .remedy("run this again as root, with sudo")
            }
        }
    }

    fn access_verb(&self) -> &'static str {
        let is_changed =
            |(expected, _): &(&PathExpectation, &Path)| expected.access == FileAccess::Write;
        match self.paths.iter().any(is_changed) {
            true => "read and change it",
            false => "read it",
        }
    }

    /// The first paths, and the number of the others.
    fn display_paths(&self) -> String {
        let shown = self.paths.iter().take(PATHS_SHOWN);
        let shown: Vec<String> = shown.map(|(_, path)| path.display().to_string()).collect();
        match self.paths.len().saturating_sub(PATHS_SHOWN) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    fn all_paths(&self) -> String {
        let paths = self.paths.iter();
        let paths: Vec<String> = paths.map(|(_, path)| shell_quote(path)).collect();
        match paths.len() > PATHS_SHOWN {
            true => format!("-R {}", shell_quote(&self.tree.path)),
            false => paths.join(" "),
        }
    }

    fn access_remedy(
        &self,
        blocking: &FileFacts,
        service: &CheckedService,
        accounts: &LocalAccounts,
    ) -> String {
        let user = &service.account.name;
        if self.tree.is_own {
            let group = accounts.group_name(service.account.gid);
            return format!(
                "chown -R {user}:{group} {tree} && chmod -R u+rwX {tree}",
                tree = shell_quote(&self.tree.path)
            );
        }
        let verb = self.access_verb();
        let is_secret = self.paths.iter().any(|(expected, _)| expected.is_secret);
        if verb == "read it" && is_secret {
            // Not the group of the file: Puppet's group can read the key of its CA, too.
            let group = accounts.group_name(service.account.gid);
            return format!(
                "install -d -m 0750 -o {user} -g {group} /etc/tutti/ssl && install -m 0400 -o {user} -g {group} {} \
                 /etc/tutti/ssl/  # and name the copy in the configuration",
                self.quoted_paths()
            );
        }
        let bits = if verb == "read it" { "rX" } else { "rwX" };
        let above = match blocking.is_directory && !self.has_path(&blocking.path) {
            true => format!("setfacl -m u:{user}:x {} && ", shell_quote(&blocking.path)),
            false => String::new(),
        };
        format!(
            "{above}setfacl -R -m u:{user}:{bits} {}",
            self.quoted_paths()
        )
    }

    fn has_path(&self, path: &Path) -> bool {
        self.paths.iter().any(|(_, asked)| *asked == path)
    }

    fn quoted_paths(&self) -> String {
        let paths = self.paths.iter().map(|(_, path)| shell_quote(path));
        paths.collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a path for a shell.
fn shell_quote(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingSeverity;

    const TUTTI: (u32, u32) = (998, 997);
    const ROOT: (u32, u32) = (0, 0);
    const PUPPET: (u32, u32) = (52, 52);

    fn accounts() -> LocalAccounts {
        LocalAccounts::parse(
            "root:x:0:0\ntutti:x:998:997\npuppet:x:52:52\n",
            "root:x:0:\ntutti:x:997:\npuppet:x:52:\n",
        )
    }

    fn service() -> CheckedService {
        CheckedService {
            account: accounts().account("tutti").unwrap(),
            unit: "tutti.service".to_owned(),
        }
    }

    fn facts(path: &str, owner: (u32, u32), mode: u32, is_directory: bool) -> FileFacts {
        FileFacts {
            path: path.into(),
            is_directory,
            uid: owner.0,
            gid: owner.1,
            mode,
            acl: None,
        }
    }

    /// A file below one directory.
    fn file(path: &str, owner: (u32, u32), mode: u32, above: FileFacts) -> PathFacts {
        PathFacts {
            path: path.into(),
            path_state: PathSighting::Exists(facts(path, owner, mode, false)),
            above: vec![facts("/", ROOT, 0o755, true), above],
        }
    }

    fn data_dir() -> FileFacts {
        facts("/var/lib/tutti", TUTTI, 0o750, true)
    }

    fn judged(looked: &[(PathExpectation, PathFacts)]) -> Vec<DiagnosisFinding> {
        judge(looked, &service(), &accounts())
    }

    #[test]
    fn a_ca_that_root_has_written_to_is_one_line() {
        let ca = CheckedTree::own("/var/lib/tutti/ca");
        let names = [
            "ca_crl.pem",
            "serial",
            "inventory.txt",
            "signed/web1.pem",
            "signed/web2.pem",
        ];
        let looked: Vec<_> = names
            .iter()
            .map(|name| {
                let path = format!("/var/lib/tutti/ca/{name}");
                (ca.write(name), file(&path, ROOT, 0o640, data_dir()))
            })
            .collect();
        let findings = judged(&looked);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].severity, FindingSeverity::Problem);
        assert_eq!(
            findings[0].place,
            "/var/lib/tutti/ca/ca_crl.pem, /var/lib/tutti/ca/serial, \
             /var/lib/tutti/ca/inventory.txt and 2 more"
        );
        assert_eq!(
            findings[0].cause,
            "the user tutti cannot read and change it: /var/lib/tutti/ca/ca_crl.pem belongs to \
             root:root with mode 0640"
        );
        assert_eq!(
            findings[0].remedy.as_deref(),
            Some("chown -R tutti:tutti /var/lib/tutti/ca && chmod -R u+rwX /var/lib/tutti/ca")
        );
    }

    #[test]
    fn a_key_of_puppet_is_copied_and_other_files_get_an_access_list() {
        let directory = "/etc/puppetlabs/puppet/ssl/private_keys";
        let path = format!("{directory}/a.pem");
        let file = || file(&path, PUPPET, 0o640, facts(directory, PUPPET, 0o750, true));
        let tree = CheckedTree::foreign(directory);
        let key = judged(&[(tree.read("a.pem").secret().required(), file())]);
        assert_eq!((key.len(), key[0].place.as_str()), (1, path.as_str()));
        let remedy = key[0].remedy.as_deref().unwrap();
        let copy = format!("install -m 0400 -o tutti -g tutti {path} /etc/tutti/ssl/");
        assert!(remedy.contains(&copy), "{remedy}");
        let other = judged(&[(tree.read("a.pem").required(), file())]);
        let list = format!("setfacl -m u:tutti:x {directory} && setfacl -R -m u:tutti:rX {path}");
        assert_eq!(other[0].remedy, Some(list));
    }

    #[test]
    fn verdicts_on_single_files() {
        let own = CheckedTree::own("/var/lib/tutti");
        let open = || facts("/var/lib/tutti", TUTTI, 0o755, true);
        let path = "/var/lib/tutti/seal.key";
        let seal = || own.read(path).secret().required();
        let missing = |expected: PathExpectation| {
            let facts = PathFacts {
                path: path.into(),
                path_state: PathSighting::Missing,
                above: Vec::new(),
            };
            (expected, facts)
        };
        let hidden = PathFacts {
            path: path.into(),
            path_state: PathSighting::Inaccessible("permission denied".to_owned()),
            above: vec![data_dir()],
        };
        let table = [
            (
                (seal(), file(path, TUTTI, 0o600, open())),
                FindingSeverity::Ok,
                "1 entry",
            ),
            (
                (seal(), file(path, TUTTI, 0o644, open())),
                FindingSeverity::Problem,
                "every user",
            ),
            // The directory denies access to other users.
            (
                (seal(), file(path, TUTTI, 0o644, data_dir())),
                FindingSeverity::Ok,
                "1 entry",
            ),
            (
                (own.write(path), file(path, TUTTI, 0o400, open())),
                FindingSeverity::Problem,
                "cannot read and change",
            ),
            (
                (
                    seal().with_owner_only(),
                    file(path, TUTTI, 0o640, data_dir()),
                ),
                FindingSeverity::Problem,
                "mode 0640",
            ),
            (missing(seal()), FindingSeverity::Problem, "missing"),
            (missing(own.read(path)), FindingSeverity::Ok, "0 entries"),
            ((seal(), hidden), FindingSeverity::Note, "permission denied"),
        ];
        for (looked, severity, part) in table {
            let findings = judged(&[looked]);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].severity, severity, "{findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
        }
    }

    #[test]
    fn paths_with_odd_letters_are_quoted_for_the_shell() {
        for (path, shown) in [
            ("/a/b-c.pem", "/a/b-c.pem"),
            ("/a b", "'/a b'"),
            ("/a'; rm -rf /", r"'/a'\''; rm -rf /'"),
        ] {
            assert_eq!(shell_quote(Path::new(path)), shown);
        }
    }
}
