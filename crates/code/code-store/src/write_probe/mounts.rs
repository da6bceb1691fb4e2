//! The mounts that this process sees. Main type: [`MountTable`].
//!
//! Invariant: a mount that is read-only only for this process is told apart from a read-only file
//! system. A service manager makes such mounts, and only there a change of the unit helps.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The table `/proc/self/mountinfo`.
#[derive(Debug)]
pub(super) struct MountTable(Vec<MountEntry>);

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MountEntry {
    pub(super) point: PathBuf,
    /// True if this mount alone is read-only.
    pub(super) is_read_only: bool,
    /// True if the file system is read-only wherever it is mounted.
    pub(super) is_file_system_read_only: bool,
}

// === impl MountTable ===

impl MountTable {
    /// Reads the table of this process; empty if it cannot be read.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(MountEntry::parse).collect())
    }

    /// Returns the mount of a path: the last one in the table of those with the deepest mount
    /// point, since it hides the others.
    pub(super) fn mount_of(&self, path: &Path) -> Option<&MountEntry> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    }
}

// === impl MountEntry ===

impl MountEntry {
    fn parse(line: &str) -> Option<Self> {
        // 36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue
        let (mount, file_system) = line.split_once(" - ")?;
        let fields: Vec<&str> = mount.split(' ').collect();
        let is_read_only = |options: &str| options.split(',').any(|option| option == "ro");
        Some(Self {
            point: PathBuf::from(unescape(fields.get(4)?)),
            is_read_only: is_read_only(fields.get(5)?),
            is_file_system_read_only: is_read_only(file_system.split(' ').nth(2)?),
        })
    }
}

/// Decodes a path, in which the kernel writes blanks and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    escapes
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Returns true if another file system, or another part of one, is mounted there.
pub(super) fn is_mount_point(path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let is_other = path.parent().and_then(device) != device(path);
    let is_named = MountTable::read().0.iter().any(|mount| mount.point == path);
    is_other || is_named
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / ro,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
30 22 254:0 /etc/puppetlabs/code /etc/puppetlabs/code rw,relatime - ext4 /dev/vda1 rw
31 22 7:1 / /media/a\\040b ro - iso9660 /dev/loop1 ro
32 22 254:0 /srv /srv ro - ext4 /dev/vda1 rw
33 22 0:50 / /srv rw - tmpfs tmpfs rw
";

    #[test]
    fn the_last_of_the_deepest_mounts_counts() {
        let mounts = MountTable::parse(TABLE);
        let of = |path: &str| {
            let mount = mounts.mount_of(Path::new(path)).unwrap();
            let (own, whole) = (mount.is_read_only, mount.is_file_system_read_only);
            (mount.point.to_str().unwrap(), own, whole)
        };
        assert_eq!(of("/opt/x-none"), ("/", true, false));
        assert_eq!(
            of("/etc/puppetlabs/code/none"),
            ("/etc/puppetlabs/code", false, false)
        );
        assert_eq!(of("/media/a b/none"), ("/media/a b", true, true));
        assert_eq!(of("/srv/none"), ("/srv", false, false));
    }

    #[test]
    fn the_table_of_this_process_is_read() {
        let mounts = MountTable::read();
        assert!(mounts.mount_of(Path::new("/")).is_some());
        assert!(is_mount_point(Path::new("/proc")));
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_mount_point(directory.path()));
    }
}
