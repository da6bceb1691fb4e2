//! Owners, groups and modes of paths: [`PathFacts`], gathered by [`examine_path`].

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::acl::{self, PosixAcl};
use crate::accounts::ServiceAccount;

/// Maximum size in bytes of an access control list: about 500 entries.
const ACL_BYTES: usize = 4096;

/// Permission bits of one class, as in a mode.
pub(super) const READ: u8 = 0o4;
pub(super) const WRITE: u8 = 0o2;
pub(super) const SEARCH: u8 = 0o1;

/// Owner, group and mode of an existing file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Path with symbolic links resolved.
    pub path: PathBuf,
    /// True for a directory, false for any other type of file.
    pub is_directory: bool,
    /// Numeric id of the owner.
    pub uid: u32,
    /// Numeric id of the group.
    pub gid: u32,
    /// Permission bits of the mode.
    pub mode: u32,
    /// Access control list; `None` if there is none.
    pub acl: Option<PosixAcl>,
}

/// Result of examining a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSighting {
    /// The path exists.
    Exists(FileFacts),
    /// The path does not exist.
    Missing,
    /// The path is not accessible to this user, with the reason.
    Inaccessible(String),
}

/// A path and the directories above it, starting at the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The path as requested, with links unresolved.
    pub path: PathBuf,
    /// Result of examining the path itself.
    pub path_state: PathSighting,
    /// Directories above the path, which must be searchable.
    pub above: Vec<FileFacts>,
}

/// Examines a path and all directories above it.
pub fn examine_path(path: &Path) -> PathFacts {
    // The target of a link has other directories above it.
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let found = match std::fs::metadata(path) {
        Ok(metadata) => PathSighting::Exists(facts(&real, &metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => PathSighting::Missing,
        Err(error) => PathSighting::Inaccessible(error.to_string()),
    };
    let mut above: Vec<FileFacts> = real
        .ancestors()
        .skip(1)
        .filter_map(|directory| Some(facts(directory, &std::fs::metadata(directory).ok()?)))
        .collect();
    above.reverse();
    PathFacts {
        path: path.to_owned(),
        path_state: found,
        above,
    }
}

fn facts(path: &Path, metadata: &Metadata) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        is_directory: metadata.is_dir(),
        uid: metadata.uid(),
        gid: metadata.gid(),
        mode: metadata.mode() & 0o7777,
        acl: acl_of(path),
    }
}

fn acl_of(path: &Path) -> Option<PosixAcl> {
    let mut bytes = vec![0; ACL_BYTES];
    // Most files have none, and some file systems do not support it.
    let length = rustix::fs::getxattr(path, acl::ATTRIBUTE, &mut bytes[..]).ok()?;
    PosixAcl::parse(bytes.get(..length)?)
}

// === impl FileFacts ===

impl FileFacts {
    /// True if a process of the account has all of these permissions.
    pub(super) fn allows(&self, account: &ServiceAccount, want: u8) -> bool {
        let class = |shift: u32| ((self.mode >> shift) & 0o7) as u8;
        let has = |bits: u8| bits & want == want;
        if account.uid == 0 {
            return true;
        }
        if account.uid == self.uid {
            return has(class(6));
        }
        let listed = self.acl.as_ref();
        let listed = listed.map(|acl| acl.allows(account.uid, &account.groups, self.gid, want));
        match listed {
            Some(Some(decided)) => decided,
            Some(None) => has(class(0)),
            None if account.groups.contains(&self.gid) => has(class(3)),
            None => has(class(0)),
        }
    }

    /// True if every account of the machine has one of these permissions.
    pub(super) fn is_open_to_all(&self, any_of: u8) -> bool {
        (self.mode & 0o7) as u8 & any_of != 0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(uid: u32, gid: u32, mode: u32) -> FileFacts {
        FileFacts {
            path: "/x".into(),
            is_directory: false,
            uid,
            gid,
            mode,
            acl: None,
        }
    }

    fn account(uid: u32, groups: &[u32]) -> ServiceAccount {
        ServiceAccount {
            name: "tutti".to_owned(),
            uid,
            gid: groups[0],
            groups: groups.to_vec(),
        }
    }

    #[test]
    fn the_first_class_that_fits_decides() {
        let tutti = account(998, &[997, 52]);
        for (facts, want, allowed) in [
            (file(998, 0, 0o400), READ, true),
            (file(998, 0, 0o400), WRITE, false),
            (file(998, 997, 0o077), READ, false),
            (file(0, 52, 0o640), READ, true),
            (file(0, 52, 0o604), READ, false),
            (file(0, 0, 0o640), READ, false),
            (file(0, 0, 0o644), READ, true),
            (file(0, 0, 0o755), WRITE | SEARCH, false),
        ] {
            assert_eq!(facts.allows(&tutti, want), allowed, "{facts:?}");
        }
        assert!(file(998, 0, 0).allows(&account(0, &[0]), READ), "root");
    }

    #[test]
    fn a_look_has_the_directories_above_the_place_that_a_link_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        let file = root.join("real/key");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, root.join("link")).unwrap();
        let looked = examine_path(&root.join("link"));
        assert_eq!(looked.above.last().unwrap().path, root.join("real"));
        let PathSighting::Exists(facts) = looked.path_state else {
            panic!("{looked:?}")
        };
        assert_eq!((facts.mode, facts.is_directory), (0o640, false));
        assert_eq!(
            examine_path(&root.join("none")).path_state,
            PathSighting::Missing
        );
        let hidden = examine_path(&file.join("below")).path_state;
        assert!(
            matches!(hidden, PathSighting::Inaccessible(_)),
            "{hidden:?}"
        );
    }
}
