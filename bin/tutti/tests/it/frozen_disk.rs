//! A disk that stops all writes: [`FreezableDisk`].
//!
//! A thread that writes to a frozen disk stands still in the kernel until the disk is thawed, with all locks of its
//! program that it holds; reading goes on. Invariant: the disk is thawed and unmounted at the end, also if the test is
//! killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// Size of a disk: some releases of a small environment.
const BYTES: u64 = 64 << 20;

/// Time in which a thread comes to its next write; a busy machine needs some seconds.
const STANDSTILL_TIME: Duration = Duration::from_secs(60);

/// A disk with an empty ext4.
#[derive(Debug)]
pub(crate) struct FreezableDisk {
    directory: PathBuf,
    /// Thaws and unmounts the disk when its standard input ends.
    guard: Child,
}

// === impl FreezableDisk ===

impl FreezableDisk {
    /// Mounts a disk, whose content is in `image`, at a directory. `None` if this user may not.
    pub(crate) fn mount(image: &Path, directory: &Path) -> Option<Self> {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::File::create(image)
            .unwrap()
            .set_len(BYTES)
            .unwrap();
        let script = "read -r _; fsfreeze --unfreeze \"$0\"; umount --lazy \"$0\"";
        let is_mounted = succeeds(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image))
            && succeeds(
                Command::new("mount")
                    .args(["-o", "loop"])
                    .args([image, directory]),
            );
        if !is_mounted {
            println!("NOT RUN: this user may not mount a disk; run the test as root");
            return None;
        }
        let mut guard = Command::new("sh");
        guard.args(["-c", script]).arg(directory);
        let guard = guard.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        Some(Self {
            directory: directory.to_owned(),
            guard: guard.unwrap(),
        })
    }

    /// Stops all writes from now on.
    pub(crate) fn freeze(&self) {
        self.change("--freeze");
    }

    /// Lets the writes that stand still, and all others, go on.
    pub(crate) fn thaw(&self) {
        self.change("--unfreeze");
    }

    fn change(&self, change: &str) {
        let mut command = Command::new("fsfreeze");
        assert!(
            succeeds(command.arg(change).arg(&self.directory)),
            "{change}"
        );
    }
}

impl Drop for FreezableDisk {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Waits until a thread of a process stands still at a frozen disk.
pub(crate) async fn wait_for_standstill(pid: Pid) {
    let tasks = format!("/proc/{}/task", pid.as_raw_nonzero());
    let is_standing = || {
        let tasks = std::fs::read_dir(&tasks).unwrap().flatten();
        let mut waits = tasks.map(|task| std::fs::read_to_string(task.path().join("wchan")));
        waits.any(|wait| wait.is_ok_and(|wait| wait == "percpu_rwsem_wait"))
    };
    let until = Instant::now() + STANDSTILL_TIME;
    // the kernel notifies no process of it
    while !is_standing() {
        assert!(Instant::now() < until, "no thread came to a frozen disk");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
