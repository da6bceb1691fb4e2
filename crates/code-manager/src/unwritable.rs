//! Explains for an administrator why a directory cannot be written to: [`unwritable`].
//!
//! The rule that must hold: it only looks, and names the path, its owner and mode, and a remedy.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

/// Reason for which this process cannot write to a directory, or make it; `None` if it can.
pub fn unwritable(directory: &Path) -> Option<String> {
    let mut above = directory.ancestors();
    let (path, found) = above.find_map(|path| match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        found => Some((path, found)),
    })?;
    let shown = path.display();
    let metadata = match found {
        Ok(metadata) => metadata,
        // A file among the directories above, or one of them that must not be searched.
        Err(error) => return Some(format!("{shown} cannot be looked at: {error}")),
    };
    if !metadata.is_dir() {
        return Some(format!(
            "{shown} is a file and must be a directory; move it away"
        ));
    }
    let access = Access::WRITE_OK | Access::EXEC_OK;
    match rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(Errno::ROFS) => Some(format!(
            "{shown} is on a read-only file system; mount it writable"
        )),
        Err(_) => Some(denied(path, &metadata, rustix::process::geteuid().as_raw())),
    }
}

fn denied(path: &Path, metadata: &Metadata, own: u32) -> String {
    let (uid, gid, mode) = (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777);
    let shown = path.display();
    format!(
        "{shown} belongs to uid {uid} and gid {gid} with mode {mode:04o}, and this server runs as uid {own}; \
         make it writable, for example with `chown {own} {shown}`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_path_owner_mode_and_remedy() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(directory.path()), None);
        assert_eq!(unwritable(&directory.path().join("not/yet")), None);
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let told = unwritable(&file).unwrap();
        assert_eq!(
            told,
            format!(
                "{} is a file and must be a directory; move it away",
                file.display()
            )
        );
        assert!(unwritable(&file.join("below")).unwrap().contains("file"));
        let metadata = fs::metadata(directory.path()).unwrap();
        let told = denied(Path::new("/srv/code"), &metadata, 998);
        let mode = format!("mode {:04o}", metadata.mode() & 0o7777);
        let owner = format!("uid {} and gid {}", metadata.uid(), metadata.gid());
        for part in ["/srv/code belongs", &owner, &mode, "chown 998 /srv/code"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
