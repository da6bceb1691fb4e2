//! The files of a revision: [`store_export`].
//!
//! Invariant: a link that Subversion wrote is never followed here; one that leads out of the tree
//! is refused.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{SvnAddress, SvnError, SvnProgram};
use code_store::content::{
    ContentError, ContentStore, IntakeError, TreeId, TreeManifest, TreePath, content_error,
};
use code_store::defaults::{FILE_BYTES, TREE_BYTES, TREE_FILES};
use code_store::disk_work::on_disk;

/// The kind of an exported file.
enum ExportedFileKind {
    Directory,
    Link,
    File { size_bytes: u64, executable: bool },
}

/// Exports all files of a revision and stores them.
pub(crate) async fn store_export(
    svn: &SvnProgram,
    address: &SvnAddress,
    revision: u64,
    content: &ContentStore,
) -> Result<(TreeId, TreeManifest), SvnError> {
    let incoming = content.incoming_directory();
    let staged = on_disk(|| {
        tempfile::Builder::new()
            .prefix("svn-")
            .tempdir_in(&incoming)
    });
    let staged = staged.map_err(content_error("write to", &incoming))?;
    let root = staged.path().join("tree");
    if let Err(error) = svn.export(address, revision, &root).await {
        on_disk(|| drop(staged));
        return Err(error);
    }
    let (content, url) = (content.clone(), address.to_public_url());
    let taken = tokio::task::spawn_blocking(move || {
        let taken = read(&root, revision, &url, &content);
        // Everything was stored; files that cannot be removed now are removed at the next start.
        drop(staged);
        taken
    });
    taken.await.unwrap_or(Err(SvnError::Internal))
}

fn read(
    root: &Path,
    revision: u64,
    url: &str,
    content: &ContentStore,
) -> Result<(TreeId, TreeManifest), SvnError> {
    let wrong = |error: IntakeError| SvnError::Intake {
        revision,
        url: url.to_owned(),
        error,
    };
    let mut intake = content.begin_intake()?;
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
            ExportedFileKind::Directory => {
                seen.extend(entries(&place)?);
                Ok(())
            }
            ExportedFileKind::Link => {
                let target = fs::read_link(&place).map_err(content_error("read", &place))?;
                intake.add_link(path, target.as_os_str().as_bytes())
            }
            ExportedFileKind::File { size_bytes, .. } if size_bytes > FILE_BYTES => {
                Err(IntakeError::TooLarge(path))
            }
            ExportedFileKind::File { executable, .. } => {
                let bytes = fs::read(&place).map_err(content_error("read", &place))?;
                intake.add_file(path, &bytes, executable)
            }
        };
        taken.map_err(wrong)?;
    }
    intake.finish().map_err(wrong)
}

/// The entries of a directory.
fn entries(directory: &Path) -> Result<Vec<(PathBuf, ExportedFileKind)>, ContentError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(content_error("read", directory))? {
        let path = entry.map_err(content_error("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(content_error("read", &path))?;
        let kind = if metadata.is_dir() {
            ExportedFileKind::Directory
        } else if metadata.is_symlink() {
            ExportedFileKind::Link
        } else {
            ExportedFileKind::File {
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
                ExportedFileKind::Directory => directories.push(path),
                ExportedFileKind::Link => {}
                ExportedFileKind::File { size_bytes, .. } => bytes += size_bytes,
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
