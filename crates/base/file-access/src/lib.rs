//! The cause if this process may not read or write a file. Main type: [`Denial`].
//!
//! Invariant: a denial names the owner, group and mode of the file or directory that denies the
//! access, and the user of this process.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

/// Bytes of a table of accounts that are read: 100 bytes for each of 10,000 accounts.
const TABLE_BYTES: u64 = 1_000_000;

/// The kind of access that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// Read the file.
    Read,
    /// Create and remove entries of the directory.
    WriteDirectory,
}

/// The file or directory whose mode denies the access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} belongs to {owner} and group {group} with mode {mode:04o}, and this process runs as {user}", path.display())]
pub struct Denial {
    /// The file itself, or a directory above it.
    pub path: PathBuf,
    /// Name of its owner, or the user id if it has no name.
    pub owner: String,
    /// Name of its group, or the group id if it has no name.
    pub group: String,
    /// Permission bits of its mode.
    pub mode: u32,
    /// Name of the user that this process runs as, or the user id if it has no name.
    pub user: String,
}

// === impl Denial ===

impl Denial {
    /// Finds the first directory of `path`, or the file itself, that denies the access; `None` if
    /// no mode denies it.
    pub fn find(path: &Path, wanted: FileUse) -> Option<Self> {
        let above: Vec<&Path> = path.ancestors().collect();
        above.into_iter().rev().find_map(|at| {
            let access = match (at == path, wanted) {
                (true, FileUse::Read) => Access::READ_OK,
                (true, FileUse::WriteDirectory) => Access::WRITE_OK | Access::EXEC_OK,
                (false, _) => Access::EXEC_OK,
            };
            let is_denied = accessat(CWD, at, access, AtFlags::EACCESS).is_err();
            is_denied.then(|| Some(Self::of(at, &fs::metadata(at).ok()?)))?
        })
    }

    fn of(path: &Path, metadata: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            owner: user_name(metadata.uid()),
            group: name_in("/etc/group", metadata.gid()),
            mode: metadata.mode() & 0o7777,
            user: own_user(),
        }
    }
}

/// Name of the user that this process runs as, or the user id if it has no name.
pub fn own_user() -> String {
    user_name(rustix::process::geteuid().as_raw())
}

fn user_name(uid: u32) -> String {
    name_in("/etc/passwd", uid)
}

/// Looks up the name of an id in a table of accounts; returns the id itself if the table does not
/// have it.
fn name_in(table: &str, id: u32) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(table) {
        // A table that cannot be read has no names.
        let _ = file.take(TABLE_BYTES).read_to_string(&mut text);
    }
    let number = id.to_string();
    let found = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    found.unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_system_and_else_numbers() {
        assert_eq!(user_name(0), "root");
        assert_eq!(name_in("/etc/group", 4_000_000_000), "4000000000");
        assert_eq!(name_in("/nowhere", 7), "7");
    }

    #[test]
    fn what_is_allowed_is_no_denial() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(Denial::find(&file, FileUse::Read), None);
        assert_eq!(
            Denial::find(directory.path(), FileUse::WriteDirectory),
            None
        );
    }

    #[test]
    fn a_denial_names_owner_group_mode_and_user() {
        let denial = Denial::of(Path::new("/"), &fs::metadata("/").unwrap());
        let told = denial.to_string();
        for part in ["/ belongs to root and group root with mode 0", "runs as "] {
            assert!(told.contains(part), "{told}");
        }
    }
}
