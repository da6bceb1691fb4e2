//! Obstacles to deployments, with messages for administrators. Main type: [`WriteObstacle`].
//!
//! Invariant: path, cause and remedy are named, and the remedy is a command if there is one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use file_access::{Denial, FileUse};
use rustix::io::Errno;

use super::mounts::MountTable;

/// The reason that a deployment could not go live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {cause}; {remedy}", path.display())]
pub struct WriteObstacle {
    /// The file or directory that is the obstacle.
    pub path: PathBuf,
    /// Cause, without the path.
    pub cause: String,
    /// Next step for an administrator.
    pub remedy: String,
}

/// The user that this process runs as, and its unit if a service manager started it.
#[derive(Debug)]
struct OwnProcess {
    user: String,
    unit: Option<String>,
}

// === impl WriteObstacle ===

impl WriteObstacle {
    /// Describes a failed write in `at`, which is `wanted` or the nearest existing directory above
    /// it.
    pub(super) fn new(wanted: &Path, at: &Path, error: &io::Error) -> Self {
        Self::explain(wanted, at, error, &OwnProcess::current())
    }

    fn explain(wanted: &Path, at: &Path, error: &io::Error, own: &OwnProcess) -> Self {
        if let Some(file) = file_in_the_way(at) {
            let cause = "is a file and must be a directory".to_owned();
            return Self::of(file, cause, "move it away".to_owned());
        }
        match errno_of(error) {
            Some(Errno::ROFS) => Self::read_only(wanted, at, own),
            Some(errno @ (Errno::NOSPC | Errno::DQUOT)) => Self::no_space(at, errno),
            Some(Errno::ACCESS | Errno::PERM) => Self::permission_denied(wanted, at, own),
            _ => {
                let remedy = "look at the file system and at the kernel's log (`dmesg`)".to_owned();
                Self::of(at, error.to_string(), remedy)
            }
        }
    }

    fn of(path: &Path, cause: String, remedy: String) -> Self {
        Self {
            path: path.to_owned(),
            cause,
            remedy,
        }
    }

    fn read_only(wanted: &Path, at: &Path, own: &OwnProcess) -> Self {
        let mounts = MountTable::read();
        let mount = mounts.mount_of(at);
        let point = mount.map_or_else(|| at.to_owned(), |mount| mount.point.clone());
        let is_for_us_alone =
            mount.is_some_and(|it| it.is_read_only && !it.is_file_system_read_only);
        let (cause, remedy) = match &own.unit {
            Some(unit) if is_for_us_alone => (
                format!("is read-only for {unit}, though the file system is not"),
                format!(
                    "{}type `systemctl edit {unit}`, add the lines `[Service]` and `ReadWritePaths={}`, and \
                     type `systemctl restart {unit}`",
                    missing(wanted, at, own),
                    wanted.display(),
                ),
            ),
            _ => (
                "is on a read-only file system".to_owned(),
                format!(
                    "mount it writable, for example with `mount -o remount,rw {}`",
                    point.display()
                ),
            ),
        };
        Self::of(at, cause, remedy)
    }

    fn permission_denied(wanted: &Path, at: &Path, own: &OwnProcess) -> Self {
        let Some(denial) = Denial::find(at, FileUse::WriteDirectory) else {
            let remedy = format!(
                "look whether it is immutable (`lsattr -d {}`), and whether a security module denies it (`dmesg`)",
                at.display()
            );
            let cause = format!("{} may not write there", own.user);
            return Self::of(at, cause, remedy);
        };
        let Denial {
            path,
            owner,
            group,
            mode,
            user,
        } = &denial;
        let cause = format!(
            "belongs to {owner} and group {group} with mode {mode:04o}, and this server runs as {user}"
        );
        let shown = path.display();
        let remedy = match (path == wanted, path == at) {
            (true, _) => format!("type `chown -R {user}: {shown}`"),
            (false, true) => format!("type `install -d -o {user} {}`", wanted.display()),
            (false, false) => format!("let others reach what is below it: `chmod o+x {shown}`"),
        };
        Self::of(path, cause, remedy)
    }

    fn no_space(at: &Path, errno: Errno) -> Self {
        let left = rustix::fs::statvfs(at).map_or_else(
            |_| String::new(),
            |free| {
                let bytes = free.f_bavail.saturating_mul(free.f_frsize);
                format!(" ({bytes} bytes and {} inodes are left)", free.f_favail)
            },
        );
        let remedy = "make room, for example with `tutti code gc`, or enlarge the file system";
        let error = io::Error::from(errno);
        Self::of(at, format!("{error}{left}"), remedy.to_owned())
    }

    /// Describes a failed hard link from the contents into the versions.
    pub(super) fn for_hard_links(content: &Path, versions: &Path, error: &io::Error) -> Self {
        match errno_of(error) {
            Some(Errno::XDEV) => {
                let cause = format!(
                    "is another file system, or another mount, than {}, and a version is made of hard links",
                    content.display()
                );
                let remedy = "have `code.directory` as a whole on one file system, and named as a whole in \
                              ReadWritePaths";
                Self::of(versions, cause, remedy.to_owned())
            }
            Some(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                let cause = "its file system has no hard links".to_owned();
                let remedy =
                    "have `code.directory` on a file system that has them (ext4, xfs, btrfs)";
                Self::of(versions, cause, remedy.to_owned())
            }
            _ => Self::new(versions, versions, error),
        }
    }

    /// Describes a failed exchange of an existing entry with a link.
    pub(super) fn for_exchange(link: &Path, error: &io::Error) -> Self {
        let cause = format!(
            "is no link, and this file system cannot put one in its place in one step ({error})"
        );
        let shown = link.display();
        let remedy = format!("move it away: `mv {shown} {shown}.before`");
        Self::of(link, cause, remedy)
    }

    pub(super) fn mount_point(link: &Path) -> Self {
        let cause = "is a mount point, and a link must take its place";
        let remedy = format!("move its files and type `umount {}`", link.display());
        Self::of(link, cause.to_owned(), remedy)
    }

    pub(super) fn sticky(directory: &Path, link: &Path) -> Self {
        let own = OwnProcess::current();
        let cause = format!(
            "belongs to another user than {}, and {} has the sticky bit",
            own.user,
            directory.display()
        );
        let remedy = format!("type `chown -h {}: {}`", own.user, link.display());
        Self::of(link, cause, remedy)
    }
}

/// The system's error number. If a library wrapped the error to add a path, it is derived from the
/// error's kind.
fn errno_of(error: &io::Error) -> Option<Errno> {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    number.or(match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => Some(Errno::ROFS),
        io::ErrorKind::StorageFull => Some(Errno::NOSPC),
        io::ErrorKind::QuotaExceeded => Some(Errno::DQUOT),
        io::ErrorKind::PermissionDenied => Some(Errno::ACCESS),
        _ => None,
    })
}

/// Returns the command that creates a missing directory, as the beginning of a remedy.
fn missing(wanted: &Path, at: &Path, own: &OwnProcess) -> String {
    match wanted == at {
        true => String::new(),
        false => format!(
            "make the directory with `install -d -o {} {}`, then ",
            own.user,
            wanted.display()
        ),
    }
}

// === impl OwnProcess ===

impl OwnProcess {
    fn current() -> Self {
        let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            user: file_access::own_user(),
            unit: parse_unit(&cgroup),
        }
    }
}

/// Returns the name of the service that a process belongs to, without `.service`, from its control
/// group.
fn parse_unit(cgroup: &str) -> Option<String> {
    let last = cgroup.lines().last()?.rsplit(['/', ':']).next()?;
    Some(last.strip_suffix(".service")?.to_owned())
}

/// Returns the file that is where a directory of this path must be.
fn file_in_the_way(at: &Path) -> Option<&Path> {
    let mut ancestors = at.ancestors();
    let nearest = ancestors.find_map(|path| Some((path, fs::metadata(path).ok()?)));
    let (path, metadata) = nearest?;
    (!metadata.is_dir()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(unit: Option<&str>) -> OwnProcess {
        OwnProcess {
            user: "tutti".to_owned(),
            unit: unit.map(str::to_owned),
        }
    }

    fn told(error: Errno, wanted: &Path, at: &Path) -> String {
        WriteObstacle::explain(wanted, at, &error.into(), &own(None)).to_string()
    }

    #[test]
    fn each_cause_has_its_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let shown = at.display();
        let wanted = at.join("code");
        assert!(told(Errno::NOSPC, at, at).contains("bytes and"));
        assert!(told(Errno::NOSPC, at, at).contains("`tutti code gc`"));
        assert!(told(Errno::ROFS, at, at).contains("mount -o remount,rw "));
        assert!(told(Errno::IO, &wanted, at).starts_with(&format!("{shown}: Input/output error")));
        let file = at.join("file");
        fs::write(&file, "").unwrap();
        for below in [file.clone(), file.join("content")] {
            assert_eq!(
                told(Errno::NOTDIR, &below, &below),
                format!(
                    "{}: is a file and must be a directory; move it away",
                    file.display()
                )
            );
        }
    }

    #[test]
    fn links_between_file_systems_name_both() {
        let (content, versions) = (Path::new("/code/content"), Path::new("/code/versions"));
        let told = |error: Errno| {
            WriteObstacle::for_hard_links(content, versions, &error.into()).to_string()
        };
        let crossing = told(Errno::XDEV);
        assert!(crossing.starts_with("/code/versions: is another file system"));
        assert!(crossing.contains("/code/content"), "{crossing}");
        assert!(told(Errno::PERM).contains("no hard links"));
    }

    #[test]
    fn the_unit_is_named_by_the_control_group() {
        let unit = |text| parse_unit(text);
        assert_eq!(
            unit("0::/system.slice/tutti.service\n").as_deref(),
            Some("tutti")
        );
        assert_eq!(unit("0::/user.slice/user-0.slice/session-1.scope\n"), None);
        assert_eq!(unit("0::/\n"), None);
        assert_eq!(unit(""), None);
    }
}
