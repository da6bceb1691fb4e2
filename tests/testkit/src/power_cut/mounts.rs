//! Mounting and unmounting by the system's own programs, and removal of the mounts of killed test
//! runs.
//!
//! Invariant: only paths below the temporary directory whose names begin with [`PREFIX`] are ever
//! touched. A loop device is created with its mount and ends with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Prefix of the directories of power cut disks; the id of the owning process follows.
pub(super) const PREFIX: &str = "tutti-power-cut-";

/// Number of attempts to unmount while the kernel still ends the processes that used the disk.
const UNMOUNT_TRIES: u32 = 200;

/// The pause between two attempts.
const UNMOUNT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Runs a program of the system and waits for its end.
pub(super) fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}", said.trim());
    Ok(())
}

/// Mounts a file that contains ext4; the loop device in between is removed when it is unmounted.
pub(super) fn mount_ext4(file: &Path, at: &Path) -> Result<()> {
    let mut command = Command::new("mount");
    command.args(["-t", "ext4", "-o", "loop,nodiscard"]);
    run(command.arg(file).arg(at))
}

/// Unmounts; the processes that used the mount have ended, or are about to end.
pub(super) fn unmount(at: &Path) -> Result<()> {
    let mut tries = 0;
    loop {
        match run(Command::new("umount").arg(at)) {
            Ok(()) => return Ok(()),
            Err(error) if tries == UNMOUNT_TRIES => return Err(error),
            Err(_) if !is_mounted(at) => return Ok(()),
            Err(_) => tries += 1,
        }
        std::thread::sleep(UNMOUNT_PAUSE);
    }
}

/// Unmounts even if the mount is used, for the cleanup of a broken test.
pub(super) fn force_unmount(at: &Path) {
    while is_mounted(at) {
        if run(Command::new("umount").arg("--lazy").arg(at)).is_err() {
            return;
        }
    }
}

fn is_mounted(at: &Path) -> bool {
    mounted().iter().any(|path| path == at)
}

/// All mount points in the order of mounting.
fn mounted() -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split(' ').nth(4));
    fields.map(PathBuf::from).collect()
}

/// Unmounts and removes the remains of test runs that have ended.
pub(super) fn clear_leftovers() {
    let root = std::env::temp_dir();
    let mut left: Vec<PathBuf> = mounted();
    left.retain(|path| is_left(path, &root));
    for path in left.iter().rev() {
        force_unmount(path);
    }
    let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
    let directories = entries
        .map(|entry| entry.path())
        .filter(|it| is_left(it, &root));
    for directory in directories {
        let holds_mount = mounted().iter().any(|it| it.starts_with(&directory));
        if !holds_mount {
            // Remains are found by the next run.
            let _ = std::fs::remove_dir_all(&directory);
        }
    }
}

/// True if a path is in the directory of a disk whose process has ended.
fn is_left(path: &Path, root: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else {
        return false;
    };
    let first = below.iter().next().and_then(|name| name.to_str());
    let rest = first.and_then(|name| name.strip_prefix(PREFIX));
    let pid = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}
