//! Files of nodes that are stored on the server: their destination ([`DownloadDirectory`]) and the result made
//! of a node's answer ([`NodeDownload::shape`]).
//!
//! Invariants: the file names that a node reports are never trusted; all files are written into a
//! new directory, so there is no link to follow, and that directory replaces the old one as a
//! whole. It is on the disk before the outcome is written, so an outcome that is delivered again
//! leaves the same files.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pcp::Certname;
use pxp::action::{ActionResult, CollectedFiles};
use pxp::defaults::{COLLECT_BYTES, COLLECT_ITEMS};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::defaults::{DESTINATION_BYTES, FILE_NAME_BYTES};
use crate::outcome::{self, OutcomeContext, RunOutcome};

const KIND: &str = "tutti/download-error";

/// Serializes downloads to the same destination.
static TAKING: Mutex<()> = Mutex::new(());

/// Destination of the files of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DownloadDirectory {
    /// Directory with one subdirectory for each node.
    directory: PathBuf,
    /// Name of the file or directory in it.
    name: String,
}

/// Destination of the files of one node.
pub(crate) struct NodeDownload {
    pub(crate) directory: Arc<DownloadDirectory>,
    pub(crate) certname: Certname,
}

/// Reason that no file was stored.
#[derive(Debug, thiserror::Error)]
enum DownloadStoreError {
    #[error("the node told {0:?}, which is no path in a directory")]
    Path(String),
    #[error("the node told a file whose content cannot be read")]
    Content,
    #[error(
        "the node told more than {COLLECT_BYTES} bytes or {COLLECT_ITEMS} files and directories"
    )]
    TooMuch,
    #[error("the server cannot keep {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

// === impl DownloadDirectory ===

impl DownloadDirectory {
    /// The destination below `root` for a plan job.
    pub(crate) fn new(
        root: &Path,
        plan_job: i64,
        destination: &str,
        source: &str,
    ) -> Result<Self, &'static str> {
        let destination = destination.trim_end_matches('/');
        if destination.len() > DESTINATION_BYTES || !is_inside(destination) {
            return Err("the destination of a download is a relative path, without `.` and `..`");
        }
        let name = source.trim_end_matches('/').rsplit('/').next();
        let name = name.filter(|name| source.starts_with('/') && is_inside(name));
        let name =
            name.ok_or("the source of a download is the absolute path of a file or directory")?;
        Ok(Self {
            directory: root.join(plan_job.to_string()).join(destination),
            name: name.to_owned(),
        })
    }
}

/// True if the relative path stays inside its directory, whatever the directory contains.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| {
        !matches!(part, "" | "." | "..") && !part.contains('\0') && part.len() <= FILE_NAME_BYTES
    })
}

// === impl NodeDownload ===

impl NodeDownload {
    /// Shapes the end of a run. Blocks on the disk.
    pub(crate) fn shape(&self, told: &ActionResult, known: OutcomeContext) -> RunOutcome {
        if told.exitcode != 0 || told.cancelled || told.timed_out {
            return outcome::shape(told, known, None);
        }
        let kept = match told.stdout_truncated {
            true => Err(DownloadStoreError::TooMuch),
            false => self.store_files(told.stdout.as_deref().unwrap_or_default()),
        };
        let (exitcode, stdout) = match kept {
            Ok(value) => (0, value),
            Err(error) => {
                let error = json!({"kind": KIND, "msg": error.to_string(), "details": {}});
                (1, json!({"_error": error}))
            }
        };
        let result = ActionResult {
            exitcode,
            stdout: Some(stdout.to_string()),
            ..ActionResult::default()
        };
        outcome::shape(&result, known, None)
    }

    fn store_files(&self, told: &str) -> Result<Value, DownloadStoreError> {
        let collected: CollectedFiles =
            serde_json::from_str(told).map_err(|_| DownloadStoreError::Content)?;
        let all = &self.directory.directory;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| DownloadStoreError::Io { path, source }
        };
        let mut making = DirBuilder::new();
        making.recursive(true).mode(0o700);
        making.create(all).map_err(failed(all))?;
        let incoming = tempfile::Builder::new()
            .prefix(".incoming-")
            .tempdir_in(all);
        let incoming = incoming.map_err(failed(all))?;
        let top = incoming.path().join(&self.directory.name);
        write(&top, &collected)?;
        let directory = all.join(self.certname.as_str());
        move_into_place(incoming, &directory).map_err(failed(&directory))?;
        let mut value = json!({"path": directory.join(&self.directory.name)});
        if collected.left_out > 0 {
            value["left_out"] = Value::from(collected.left_out);
        }
        Ok(value)
    }
}

/// Writes everything that was collected to `top`, which must not exist.
fn write(top: &Path, collected: &CollectedFiles) -> Result<(), DownloadStoreError> {
    if collected.items.len() > COLLECT_ITEMS {
        return Err(DownloadStoreError::TooMuch);
    }
    let mut left = COLLECT_BYTES;
    if collected.is_directory {
        create_directory(top)?;
    }
    for item in &collected.items {
        let path = match (collected.is_directory, item.path.as_str()) {
            (true, path) if is_inside(path) => top.join(path),
            (false, "") => top.to_owned(),
            (_, path) => return Err(DownloadStoreError::Path(path.to_owned())),
        };
        let Some(content) = &item.content else {
            create_directory(&path)?;
            continue;
        };
        let content = BASE64
            .decode(content)
            .map_err(|_| DownloadStoreError::Content)?;
        let size = content.len() as u64;
        left = left.checked_sub(size).ok_or(DownloadStoreError::TooMuch)?;
        let mode = if item.is_executable { 0o700 } else { 0o600 };
        let mut opening = OpenOptions::new();
        opening.write(true).create_new(true).mode(mode);
        let written = opening.open(&path).and_then(|mut file| {
            file.write_all(&content)?;
            file.sync_all()
        });
        written.map_err(|source| DownloadStoreError::Io { path, source })?;
    }
    Ok(())
}

fn create_directory(path: &Path) -> Result<(), DownloadStoreError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(|source| DownloadStoreError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Moves the new directory into place; existing files there are removed.
fn move_into_place(incoming: tempfile::TempDir, directory: &Path) -> io::Result<()> {
    let _taking = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::rename(incoming.path(), directory)?;
    // The directory no longer exists under its temporary name.
    let _ = incoming.keep();
    let parent = directory.parent().unwrap_or(directory);
    File::open(parent)?.sync_all()
}

/// The plan jobs that have files below `root`.
pub(crate) fn list_plan_jobs(root: &Path) -> io::Result<Vec<i64>> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}

/// Removes the files of a plan job below `root`.
pub(crate) fn remove_plan_job(root: &Path, plan_job: i64) -> io::Result<()> {
    std::fs::remove_dir_all(root.join(plan_job.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::state::RunState;

    const KNOWN: OutcomeContext = OutcomeContext {
        stock_agent: false,
        cancelling: None,
        timeout_seconds: 60,
        has_replaced_bytes: false,
    };

    fn landing(root: &Path, destination: &str) -> NodeDownload {
        NodeDownload {
            directory: Arc::new(DownloadDirectory::new(root, 7, destination, "/etc/app/").unwrap()),
            certname: "a.example".parse().unwrap(),
        }
    }

    fn shape(landing: &NodeDownload, told: &Value) -> (RunState, Value) {
        let result = ActionResult {
            stdout: Some(told.to_string()),
            ..ActionResult::default()
        };
        let shaped = landing.shape(&result, KNOWN);
        (shaped.state, serde_json::from_str(&shaped.result).unwrap())
    }

    fn tree(items: &Value) -> Value {
        json!({"is_directory": true, "items": items, "left_out": 2})
    }

    #[test]
    fn a_directory_lands_whole_and_replaces_what_was_there() {
        let root = tempfile::tempdir().unwrap();
        let landing = landing(root.path(), "deep/etc");
        let first = json!([
            {"path": "old", "content": "eA=="}, {"path": "bin"},
            {"path": "bin/run", "content": "", "is_executable": true},
        ]);
        let (state, value) = shape(&landing, &tree(&first));
        assert_eq!(state, RunState::Finished, "{value}");
        let top = root.path().join("7/deep/etc/a.example/app");
        assert_eq!(value, json!({"path": top, "left_out": 2}));
        assert_eq!(std::fs::read(top.join("old")).unwrap(), b"x");
        let mode = std::fs::metadata(top.join("bin/run"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o7777, 0o700);
        let again = json!([{"path": "new", "content": "eQ=="}]);
        for _ in 0..2 {
            shape(&landing, &tree(&again));
        }
        assert!(!top.join("old").exists());
        assert_eq!(std::fs::read(top.join("new")).unwrap(), b"y");
        let beside = std::fs::read_dir(root.path().join("7/deep/etc")).unwrap();
        assert_eq!(beside.count(), 1, "nothing is left of what was before");
        assert_eq!(list_plan_jobs(root.path()).unwrap(), [7]);
        remove_plan_job(root.path(), 7).unwrap();
        assert!(list_plan_jobs(root.path()).unwrap().is_empty());
    }

    #[test]
    fn hostile_answers_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let landing = landing(root.path(), "x");
        let file = |path: &str| json!([{"path": path, "content": "eA=="}]);
        let twice = json!([{"path": "a", "content": ""}, {"path": "a", "content": "eA=="}]);
        let through = json!([{"path": "a", "content": ""}, {"path": "a/b", "content": "eA=="}]);
        let many: Vec<Value> = (0..=COLLECT_ITEMS)
            .map(|number| json!({"path": number.to_string()}))
            .collect();
        for told in [
            tree(&file("../escaped")),
            tree(&file("a/../../escaped")),
            tree(&file("/escaped")),
            tree(&file("")),
            tree(&file("a//b")),
            tree(&file("a\u{0}b")),
            tree(&file(&"x".repeat(300))),
            tree(&file("no/parent")),
            tree(&twice),
            tree(&through),
            tree(&json!(many)),
            tree(&json!([{"path": "a", "content": "no base64!"}])),
            json!({"is_directory": false, "items": file("../escaped")}),
            json!({"is_directory": false, "items": [{"path": ""}, {"path": "", "content": ""}]}),
            json!({"items": 3}),
            json!("text"),
        ] {
            let (state, value) = shape(&landing, &told);
            assert_eq!(state, RunState::Failed, "{told} {value}");
            assert_eq!(value["_error"]["kind"], KIND, "{told}");
        }
        assert!(!root.path().join("escaped").exists());
        let left = std::fs::read_dir(root.path().join("7/x")).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_link_in_the_way_is_replaced_and_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "").unwrap();
        std::fs::create_dir_all(root.path().join("7/x")).unwrap();
        symlink(outside.path(), root.path().join("7/x/a.example")).unwrap();
        shape(&landing(root.path(), "x"), &tree(&json!([])));
        assert!(outside.path().join("kept").exists());
    }

    #[test]
    fn what_an_agent_cannot_read_is_its_error() {
        let root = tempfile::tempdir().unwrap();
        let error = json!({"_error": {"kind": KIND, "msg": "cannot read /etc/app", "details": {}}});
        let told = ActionResult {
            exitcode: 1,
            stdout: Some(error.to_string()),
            ..ActionResult::default()
        };
        let shaped = landing(root.path(), "x").shape(&told, KNOWN);
        assert_eq!(shaped.state, RunState::Failed);
        assert_eq!(shaped.message, "cannot read /etc/app");
        assert!(list_plan_jobs(root.path()).unwrap().is_empty());
    }

    #[test]
    fn places_are_inside_of_the_plan_jobs_own() {
        let root = Path::new("/d");
        for (destination, source) in [
            ("", "/a"),
            ("/abs", "/a"),
            ("../x", "/a"),
            ("x/../y", "/a"),
            ("x", "relative"),
            ("x", "/"),
            ("x", "/a/.."),
            ("x\0", "/a"),
        ] {
            let place = DownloadDirectory::new(root, 1, destination, source);
            assert!(place.is_err(), "{destination:?} {source:?}");
        }
        let place = DownloadDirectory::new(root, 1, "x/y/", "/var/log/").unwrap();
        assert_eq!(place.directory, Path::new("/d/1/x/y"));
        assert_eq!(place.name, "log");
    }
}
