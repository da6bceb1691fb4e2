//! A real disk whose power can be cut: [`PowerCutDisk`].
//!
//! ext4 on a loop device over a file in FUSE, whose [`medium`] keeps writes in memory until they
//! are flushed. A cut kills the processes of the disk, drops any subset of the unflushed writes,
//! and mounts the rest.
//!
//! Invariants: nothing but this file is ever written, and a disk is unmounted and detached when its
//! handle is dropped, also by a panic; the remains of a killed run are removed when the next one
//! creates its first disk.

mod block_file;
pub mod medium;
mod mounts;
mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fuser::{BackgroundSession, Config, MountOption, SessionACL};

use block_file::BlockFile;
use medium::{Medium, Survivors};
use mounts::{PREFIX, clear_leftovers, force_unmount, mount_ext4, run, unmount};
pub use workload::Workload;

/// A disk that loses unflushed writes when its power is cut.
#[derive(Debug)]
pub struct PowerCutDisk {
    directory: PathBuf,
    file: BlockFile,
    session: Option<BackgroundSession>,
    is_mounted: bool,
    /// The medium at the moment of the last cut.
    frozen: Medium,
}

/// The default size of a disk: enough for a PostgreSQL cluster, and quick to create.
pub const USUAL_BYTES: u64 = 256 << 20;

/// Environment variable with the number of cuts of each workload; `cargo xtask test --full` and
/// `cargo xtask soak` set more.
const CUTS_VARIABLE: &str = "TUTTI_POWER_CUTS";

/// Number of power cuts of each workload in the plain test command.
const USUAL_CUTS: u64 = 6;

/// Number of power cuts of each workload in this run.
pub fn cuts() -> u64 {
    let number = std::env::var(CUTS_VARIABLE).ok();
    number
        .and_then(|text| text.parse().ok())
        .unwrap_or(USUAL_CUTS)
}

/// The seed of this run, printed so that a failing run can be repeated: `TUTTI_SEED`, or a random
/// one.
#[expect(clippy::print_stderr, reason = "a failing test shows it")]
pub fn seed() -> u64 {
    let given = std::env::var("TUTTI_SEED").ok();
    let seed = given
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(rand::random);
    eprintln!("TUTTI_SEED={seed}");
    seed
}

/// Prints the number of cuts of a workload, and their rate per second.
#[expect(
    clippy::print_stdout,
    reason = "a figure for the developer who runs the tests"
)]
pub fn print_figures(cuts: u64, since: Instant, more: &str) {
    let per_second = cuts as f64 / since.elapsed().as_secs_f64();
    println!("{cuts} power cuts, {per_second:.1} per second; {more}");
}

static NUMBER: AtomicU64 = AtomicU64::new(0);
static CLEARED: Once = Once::new();

// === impl PowerCutDisk ===

impl PowerCutDisk {
    /// The reason for which this machine cannot have such disks; `None` if it can.
    pub fn obstacle() -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("it needs root, to mount".to_owned());
        }
        for device in ["/dev/fuse", "/dev/loop-control"] {
            if !Path::new(device).exists() {
                return Some(format!("there is no {device}"));
            }
        }
        for program in ["mkfs.ext4", "mount", "umount", "unshare", "setpriv"] {
            if Command::new(program).arg("-V").output().is_err() {
                return Some(format!("there is no program {program}"));
            }
        }
        // Containers may have the devices without the permission to use them.
        let probe = Self::new(MINIMUM_BYTES);
        probe.err().map(|error| format!("{error:#}"))
    }

    /// A disk for a test; `None` if this machine cannot have one, which is printed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub fn for_test() -> Option<Self> {
        match Self::obstacle() {
            Some(obstacle) => {
                eprintln!("SKIPPED: no disk whose power can be cut: {obstacle}");
                None
            }
            None => Some(Self::new(USUAL_BYTES).expect("a disk could be made before")),
        }
    }

    /// A disk with an empty ext4, mounted.
    pub fn new(size_bytes: u64) -> Result<Self> {
        CLEARED.call_once(clear_leftovers);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        for part in ["fuse", "disk"] {
            std::fs::create_dir_all(directory.join(part))?;
        }
        let mut disk = Self {
            directory,
            file: BlockFile::new(size_bytes),
            session: None,
            is_mounted: false,
            frozen: Medium::default(),
        };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("tutti-power-cut".to_owned())];
        config.acl = SessionACL::Owner;
        let session = fuser::spawn_mount(disk.file.clone(), disk.directory.join("fuse"), &config);
        disk.session = Some(session.context("cannot mount a FUSE file system")?);
        let file = disk.file.power_on(Medium::default());
        let mut format = Command::new("mkfs.ext4");
        let block_bytes = medium::SECTOR_BYTES.to_string();
        format.args(["-q", "-F", "-b", &block_bytes]);
        format.args(["-E", "nodiscard,lazy_itable_init=0"]);
        run(format.arg(disk.directory.join("fuse").join(&file)))?;
        disk.mount(&file)?;
        Ok(disk)
    }

    /// Mount point of the disk.
    pub fn path(&self) -> PathBuf {
        self.directory.join("disk")
    }

    /// Makes the whole content of the disk durable.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::syncfs(std::fs::File::open(self.path())?)?;
        Ok(())
    }

    /// Makes the power fail by itself after this number of further writes and flushes of the disk.
    pub fn cut_after(&self, events: u64) {
        self.file.cut_after(events);
    }

    /// Number of writes and flushes since the power was switched on.
    pub fn events(&self) -> u64 {
        self.file.events()
    }

    /// Waits until the power has failed by itself, at most for this time; `false` if it is still
    /// on.
    pub fn wait_for_cut(&self, at_most: Duration) -> bool {
        self.file.wait_off(at_most)
    }

    /// Cuts the power, kills the processes that use the disk, and removes the disk. Returns the
    /// number of unflushed writes.
    pub fn cut<'a>(
        &mut self,
        workloads: impl IntoIterator<Item = &'a mut Workload>,
    ) -> Result<usize> {
        self.file.power_off();
        self.frozen = self.file.medium();
        let mut workloads: Vec<&mut Workload> = workloads.into_iter().collect();
        for workload in &mut workloads {
            workload.kill()?;
        }
        // Processes that wait for the disk end only when it answers.
        self.file.fail_requests();
        for workload in workloads {
            workload.wait_until_gone()?;
        }
        self.unmount()?;
        Ok(self.frozen.unflushed())
    }

    /// Switches the power on again, with these of the unflushed writes at the cut. May be called
    /// again with others, for another outcome of the same cut.
    pub fn restore(&mut self, survivors: Survivors, seed: u64) -> Result<()> {
        self.unmount()?;
        let file = self.file.power_on(self.frozen.cut(survivors, seed));
        self.mount(&file)
            .with_context(|| format!("the file system is lost: {survivors:?}, seed {seed}"))
    }

    fn mount(&mut self, file: &str) -> Result<()> {
        mount_ext4(&self.directory.join("fuse").join(file), &self.path())?;
        self.is_mounted = true;
        Ok(())
    }

    fn unmount(&mut self) -> Result<()> {
        if self.is_mounted {
            unmount(&self.path())?;
            self.is_mounted = false;
        }
        Ok(())
    }
}

impl Drop for PowerCutDisk {
    fn drop(&mut self) {
        // No process may wait for the disk when it is removed.
        self.file.fail_requests();
        force_unmount(&self.path());
        if let Some(session) = self.session.take()
            && session.umount_and_join().is_err()
        {
            force_unmount(&self.directory.join("fuse"));
        }
        // Remains are removed by the next run.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The smallest disk that has a journal.
const MINIMUM_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;
    use std::process::Stdio;

    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// Number of power cuts of a busy file system, and of outcomes of each.
    const TORN_CUTS: u64 = 12;
    const TORN_OUTCOMES: u64 = 10;

    /// The latest cut, in writes and flushes: after several superblocks.
    const LATEST_EVENT: u64 = 60;

    /// Writes the file system's superblock repeatedly, until the power fails.
    const BUSY: &str = r#"
        while :; do
            echo x >"$1/file"
            mount -o remount,ro "$1"
            mount -o remount,rw "$1"
        done
    "#;

    /// Longer than a healthy machine needs for the writes before a cut.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn is_mounted(path: &Path) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(&format!(" {} ", path.display()))
    }

    fn has_loop_device(directory: &Path) -> bool {
        let devices = Command::new("losetup").arg("--all").output().unwrap();
        let devices = String::from_utf8(devices.stdout).unwrap();
        devices.contains(&directory.display().to_string())
    }

    #[test]
    fn a_cut_leaves_what_was_synced_and_not_all_that_was_written() {
        let Some(mut disk) = PowerCutDisk::for_test() else {
            return;
        };
        let path = disk.path();
        disk.sync().unwrap();
        std::fs::write(path.join("synced"), "x").unwrap();
        disk.sync().unwrap();
        std::fs::write(path.join("written"), "x").unwrap();
        disk.cut([]).unwrap();
        for survivors in [Survivors::None, Survivors::All] {
            disk.restore(survivors, 0).unwrap();
            assert_eq!(std::fs::read(path.join("synced")).unwrap(), b"x");
            assert!(
                std::fs::read(path.join("written"))
                    .unwrap_or_default()
                    .is_empty()
            );
        }
    }

    #[test]
    fn a_file_system_is_mounted_after_its_superblock_was_cut() {
        let Some(mut disk) = PowerCutDisk::for_test() else {
            return;
        };
        let path = disk.path();
        let mut random = StdRng::seed_from_u64(seed());
        for cut in 0..TORN_CUTS {
            let mut busy = Command::new("sh");
            let mut busy = Workload::start(busy.args(["-c", BUSY, "sh"]).arg(&path)).unwrap();
            disk.cut_after(random.random_range(0..LATEST_EVENT));
            assert!(
                disk.wait_for_cut(PATIENCE),
                "cut {cut}: nothing was written"
            );
            disk.cut([&mut busy]).unwrap();
            for seed in 0..TORN_OUTCOMES {
                let survivors = Survivors::Sectors(random.random_range(0.05..0.95));
                disk.restore(survivors, seed).unwrap();
            }
            disk.sync().unwrap();
        }
    }

    #[test]
    fn a_disk_is_unmounted_and_detached_by_a_panic_too() {
        if PowerCutDisk::for_test().is_none() {
            return;
        }
        let (told, path) = std::sync::mpsc::channel();
        let panicked = std::thread::spawn(move || {
            let disk = PowerCutDisk::new(MINIMUM_BYTES).unwrap();
            told.send(disk.directory.clone()).unwrap();
            panic!("a test that fails");
        });
        assert!(panicked.join().is_err());
        let directory = path.recv().unwrap();
        for part in ["disk", "fuse"] {
            assert!(!is_mounted(&directory.join(part)), "{part}");
        }
        assert!(!has_loop_device(&directory));
        assert!(!directory.exists());
    }

    /// Not a test itself: the test run that is killed.
    #[test]
    #[ignore = "the process that is killed"]
    fn has_a_disk_until_it_is_killed() {
        let disk = PowerCutDisk::new(MINIMUM_BYTES).unwrap();
        println!("\ndirectory {}", disk.directory.display());
        std::thread::park();
    }

    #[test]
    fn leftovers_of_a_killed_run_are_cleared_by_the_next() {
        if PowerCutDisk::for_test().is_none() {
            return;
        }
        let name = "power_cut::tests::has_a_disk_until_it_is_killed";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let directory = lines.find_map(|line| line.strip_prefix("directory ").map(PathBuf::from));
        let directory = directory.unwrap();
        assert!(is_mounted(&directory.join("disk")));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_mounted(&directory.join("disk")));
        clear_leftovers();
        assert!(!is_mounted(&directory.join("disk")) && !is_mounted(&directory.join("fuse")));
        assert!(!directory.exists());
    }
}
