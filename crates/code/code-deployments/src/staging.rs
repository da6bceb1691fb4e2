//! Reading of environments that another tool wrote into a staging directory. Main function:
//! [`read`].
//!
//! Invariants: the files read are those of one moment, or reading fails; only files, directories
//! and links that stay in the tree are accepted. Git's own directories are left out.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::defaults::{STAGING_ATTEMPTS, STAGING_PAUSE};
use code_store::content::{
    ContentError, ContentStore, IntakeError, TreeIntake, TreeManifest, TreePath, TreePathError,
    content_error,
};
use code_store::defaults::FILE_BYTES;

/// Reason that an environment of the staging directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The environment has no directory.
    #[error("there is no directory {}", .0.display())]
    Missing(PathBuf),
    /// Files change while they are read.
    #[error(
        "{} changes while it is read; publish it when it is completely written",
        .0.display()
    )]
    Changing(PathBuf),
    /// The entry is a device, a socket or a pipe.
    #[error("{} is neither a file, a directory nor a link", .0.display())]
    Special(PathBuf),
    /// A file has more than [`FILE_BYTES`] bytes.
    #[error("{} has more than {FILE_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The path of an entry is not valid.
    #[error(transparent)]
    Path(#[from] TreePathError),
    /// An entry of the tree is not accepted.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// An I/O error, or an error of the content store.
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// Metadata of a file that change with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StagedFileStamp {
    inode: (u64, u64),
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

type StagedFileStamps = BTreeMap<PathBuf, StagedFileStamp>;

/// Reads an environment into the content store. Blocks, and retries a few times while files change.
pub(crate) fn read(content: &ContentStore, root: &Path) -> Result<TreeManifest, StagingError> {
    for attempt in 1.. {
        let began = SystemTime::now();
        let before = read_stamps(root)?;
        let taken = match newest_unsettled(&before, began) {
            Some(path) => Err(StagingError::Changing(path)),
            None => store_unchanged(content, root, &before),
        };
        let error = match taken {
            Ok(manifest) => return Ok(manifest),
            Err(error) => error,
        };
        if attempt == STAGING_ATTEMPTS || !error.is_temporary() {
            return Err(error);
        }
        std::thread::sleep(STAGING_PAUSE);
    }
    Err(StagingError::Changing(root.to_owned()))
}

fn store_unchanged(
    content: &ContentStore,
    root: &Path,
    before: &StagedFileStamps,
) -> Result<TreeManifest, StagingError> {
    let mut intake = content.begin_intake()?;
    for (path, stamp) in before {
        let relative = path.strip_prefix(root).unwrap_or(path);
        add(&mut intake, path, relative, stamp)?;
    }
    let after = read_stamps(root)?;
    if let Some(path) = difference(before, &after) {
        return Err(StagingError::Changing(path));
    }
    Ok(intake.finish()?.1)
}

fn add(
    intake: &mut TreeIntake,
    path: &Path,
    relative: &Path,
    stamp: &StagedFileStamp,
) -> Result<(), StagingError> {
    let kind = rustix::fs::FileType::from_raw_mode(stamp.mode);
    if kind.is_dir() {
        return Ok(());
    }
    let name = TreePath::new(relative.as_os_str().as_bytes())?;
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(content_error("read", path))?;
        return Ok(intake.add_link(name, target.as_os_str().as_bytes())?);
    }
    if !kind.is_file() {
        return Err(StagingError::Special(path.to_owned()));
    }
    if stamp.size > FILE_BYTES {
        return Err(StagingError::TooLarge(path.to_owned()));
    }
    // A link or a pipe that has replaced the file is neither followed nor waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = flags | rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, rustix::fs::Mode::empty());
    let opened = opened.map_err(|error| content_error("read", path)(error.into()))?;
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
    let read = File::from(opened)
        .take(stamp.size + 1)
        .read_to_end(&mut bytes);
    read.map_err(content_error("read", path))?;
    Ok(intake.add_file(name, &bytes, stamp.mode & 0o111 != 0)?)
}

/// Stamps of everything below a directory, except git's own directories.
fn read_stamps(root: &Path) -> Result<StagedFileStamps, StagingError> {
    let metadata = fs::metadata(root).map_err(|_| StagingError::Missing(root.to_owned()))?;
    if !metadata.is_dir() {
        return Err(StagingError::Missing(root.to_owned()));
    }
    // The root may be a link, whose target may change meanwhile.
    let root_stamp = StagedFileStamp::from_metadata(&metadata);
    let mut stamps = StagedFileStamps::from([(root.to_owned(), root_stamp)]);
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).map_err(content_error("read", &directory))? {
            let entry = entry.map_err(content_error("read", &directory))?;
            if entry.file_name().eq_ignore_ascii_case(".git") {
                continue;
            }
            let path = entry.path();
            let metadata = fs::symlink_metadata(&path).map_err(content_error("read", &path))?;
            if metadata.is_dir() {
                left.push(path.clone());
            }
            stamps.insert(path, StagedFileStamp::from_metadata(&metadata));
        }
    }
    Ok(stamps)
}

/// A path that changed within the last [`STAGING_PAUSE`], if there is one.
fn newest_unsettled(stamps: &StagedFileStamps, now: SystemTime) -> Option<PathBuf> {
    let border = now.checked_sub(STAGING_PAUSE)?;
    let border = border.duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_new = |stamp: &StagedFileStamp| {
        let (seconds, nanoseconds) = stamp.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
        Duration::new(seconds, nanoseconds) > border
    };
    let found = stamps.iter().find(|(_, stamp)| is_new(stamp));
    found.map(|(path, _)| path.clone())
}

fn difference(before: &StagedFileStamps, after: &StagedFileStamps) -> Option<PathBuf> {
    let changed = before
        .iter()
        .find(|(path, stamp)| after.get(*path) != Some(stamp));
    let new = after.keys().find(|path| !before.contains_key(*path));
    changed.map(|(path, _)| path).or(new).cloned()
}

// === impl StagedFileStamp ===

impl StagedFileStamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            inode: (metadata.dev(), metadata.ino()),
            mode: metadata.mode(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

// === impl StagingError ===

impl StagingError {
    /// True if another attempt may succeed.
    fn is_temporary(&self) -> bool {
        // An I/O error may mean that a file was removed meanwhile by the tool that writes.
        matches!(self, Self::Changing(_) | Self::Content(_))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use code_store::r10k_deploy_file::R10K_FILE;
    use code_store::version_lock::staged_lock;

    fn staged(files: &[&str]) -> (tempfile::TempDir, ContentStore) {
        let root = tempfile::tempdir().unwrap();
        let content = ContentStore::open(root.path().join("content")).unwrap();
        for file in files {
            let path = root.path().join("staged").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        (root, content)
    }

    #[test]
    fn files_and_links_are_taken_and_git_is_not() {
        let (root, content) = staged(&["manifests/site.pp", ".git/HEAD", "modules/a/.git", "a"]);
        let staged = root.path().join("staged");
        symlink("../a", staged.join("modules/link")).unwrap();
        let manifest = read(&content, &staged).unwrap();
        let paths: Vec<String> = manifest
            .entries()
            .map(|(path, _)| path.to_string())
            .collect();
        assert_eq!(paths, ["a", "manifests/site.pp", "modules/link"]);
    }

    #[test]
    fn links_out_and_special_files_are_refused() {
        let (root, content) = staged(&["a"]);
        let staged = root.path().join("staged");
        symlink("/etc/passwd", staged.join("out")).unwrap();
        let error = read(&content, &staged).unwrap_err().to_string();
        assert!(error.contains("leaves its tree: /etc/passwd"), "{error}");
        fs::remove_file(staged.join("out")).unwrap();
        let socket = staged.join("socket");
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let error = read(&content, &staged).unwrap_err();
        assert!(matches!(error, StagingError::Special(path) if path == socket));
        let error = read(&content, &root.path().join("nowhere")).unwrap_err();
        assert!(matches!(error, StagingError::Missing(_)));
    }

    #[test]
    fn what_changes_all_the_time_is_refused() {
        let (root, content) = staged(&["a", "b"]);
        let path = root.path().join("staged/b");
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let is_over = std::sync::Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            for number in 0_u64.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                fs::write(&path, number.to_string()).unwrap();
            }
        });
        let error = read(&content, &root.path().join("staged")).unwrap_err();
        assert!(matches!(error, StagingError::Changing(_)), "{error}");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().unwrap();
        read(&content, &root.path().join("staged")).unwrap();
    }

    #[test]
    fn the_same_code_is_the_same_version_whenever_r10k_was_done() {
        let (root, content) = staged(&["a", R10K_FILE]);
        let staged = root.path().join("staged");
        let commit = |content: &ContentStore| {
            let manifest = read(content, &staged).unwrap();
            staged_lock("production", &manifest).control.commit
        };
        let first = commit(&content);
        fs::write(staged.join(R10K_FILE), "{}").unwrap();
        assert_eq!(commit(&content), first);
        fs::write(staged.join("a"), "other").unwrap();
        assert_ne!(commit(&content), first);
    }
}
