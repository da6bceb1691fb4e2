//! The files of a revision: [`take_in`].
//!
//! Invariant: a link that Subversion wrote is never followed here; one that leads out of the tree
//! is refused.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Address, Svn, SvnError};
use code_store::content::{Content, ContentError, IntakeError, Manifest, TreeId, TreePath, failed};
use code_store::defaults::{FILE_BYTES, TREE_BYTES, TREE_FILES};

/// The kind of an exported file.
enum Kind {
    Directory,
    Link,
    File { size_bytes: u64, executable: bool },
}

/// Exports all files of a revision and stores them.
pub(crate) async fn take_in(
    svn: &Svn,
    address: &Address,
    revision: u64,
    content: &Content,
) -> Result<(TreeId, Manifest), SvnError> {
    let incoming = content.incoming();
    let staged = tempfile::Builder::new()
        .prefix("svn-")
        .tempdir_in(&incoming)
        .map_err(failed("write to", &incoming))?;
    let root = staged.path().join("tree");
    svn.export(address, revision, &root).await?;
    let (content, url) = (content.clone(), address.shown());
    let taken = tokio::task::spawn_blocking(move || {
        let taken = read(&root, revision, &url, &content);
        // Everything was stored; files that cannot be removed now are removed at the next start.
        drop(staged);
        taken
    });
    taken.await.unwrap_or(Err(SvnError::Broken))
}

fn read(
    root: &Path,
    revision: u64,
    url: &str,
    content: &Content,
) -> Result<(TreeId, Manifest), SvnError> {
    let wrong = |error: IntakeError| SvnError::Intake {
        revision,
        url: url.to_owned(),
        error,
    };
    let mut intake = content.intake()?;
    let mut seen = entries(root)?;
    while let Some((place, kind)) = seen.pop() {
        let relative = place.strip_prefix(root).unwrap_or(&place);
        let path = TreePath::new(relative.as_os_str().as_bytes());
        let path = path.map_err(|error| SvnError::Path {
            revision,
            url: url.to_owned(),
            error,
        })?;
        let taken = match kind {
            Kind::Directory => {
                seen.extend(entries(&place)?);
                Ok(())
            }
            Kind::Link => {
                let target = fs::read_link(&place).map_err(failed("read", &place))?;
                intake.link(path, target.as_os_str().as_bytes())
            }
            Kind::File { size_bytes, .. } if size_bytes > FILE_BYTES => {
                Err(IntakeError::TooLarge(path))
            }
            Kind::File { executable, .. } => {
                let bytes = fs::read(&place).map_err(failed("read", &place))?;
                intake.file(path, &bytes, executable)
            }
        };
        taken.map_err(wrong)?;
    }
    intake.finish().map_err(wrong)
}

/// The entries of a directory.
fn entries(directory: &Path) -> Result<Vec<(PathBuf, Kind)>, ContentError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed("read", directory))? {
        let path = entry.map_err(failed("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
        let kind = if metadata.is_dir() {
            Kind::Directory
        } else if metadata.is_symlink() {
            Kind::Link
        } else {
            Kind::File {
                size_bytes: metadata.len(),
                executable: metadata.permissions().mode() & 0o100 != 0,
            }
        };
        found.push((path, kind));
    }
    Ok(found)
}

/// True if a directory that is being written exceeds the limits of a tree.
pub(super) fn is_too_large(root: &Path) -> bool {
    is_larger(root, TREE_FILES, TREE_BYTES)
}

fn is_larger(root: &Path, most_files: usize, most_bytes: u64) -> bool {
    let (mut files, mut bytes) = (0, 0);
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        // An entry that is renamed meanwhile is counted the next time.
        for (path, kind) in entries(&directory).unwrap_or_default() {
            match kind {
                Kind::Directory => directories.push(path),
                Kind::Link => {}
                Kind::File { size_bytes, .. } => bytes += size_bytes,
            }
            files += 1;
            if files > most_files || bytes > most_bytes {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_seen_while_it_grows() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/x"), "12345").unwrap();
        std::os::unix::fs::symlink("/", root.join("l")).unwrap();
        assert!(!is_larger(root, 3, 5));
        assert!(is_larger(root, 2, 5));
        assert!(is_larger(root, 3, 4));
        assert!(!is_larger(&root.join("nothing"), 0, 0));
    }
}
