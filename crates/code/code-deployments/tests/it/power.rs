//! Power cuts: a file that gets its final name must be on the disk before.
//!
//! A deployment runs under strace, which records the order of writes, syncs and renames. [`Disk`]
//! tracks what a power cut could lose at each point. It assumes more loss than real file systems
//! have: everything that was not synced.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::kills::{DIRECTORY, deployment};
use crate::world::World;

const CALLS: &str = "write,pwrite64,openat,mkdir,link,linkat,symlink,rename,renameat2,fsync,syncfs";

/// The data that a power cut could lose.
#[derive(Default)]
struct Disk {
    /// Files without content, and names of files; by numbers, since names change.
    lost: BTreeMap<u64, Lost>,
    last: u64,
    /// The number of files that got their final names.
    named: usize,
    switched: usize,
}

#[derive(Clone, Debug)]
enum Lost {
    Content(PathBuf),
    Name(PathBuf),
}

/// A call, without its result.
#[derive(Clone, Debug)]
struct Call {
    name: String,
    /// Paths of the descriptors and strings in the arguments, in order.
    paths: Vec<PathBuf>,
    creates: bool,
    /// The data that was not on the disk at its start.
    before: BTreeSet<u64>,
}

// === impl Lost ===

impl Lost {
    fn path(&self) -> &Path {
        let (Self::Content(path) | Self::Name(path)) = self;
        path
    }

    fn move_to(&mut self, to: PathBuf) {
        let (Self::Content(path) | Self::Name(path)) = self;
        *path = to;
    }
}

// === impl Disk ===

impl Disk {
    fn lose(&mut self, lost: Lost) {
        self.last += 1;
        self.lost.insert(self.last, lost);
    }

    /// Checks before a call that everything that gets its final name is on the disk.
    fn begin(&mut self, call: &Call, world: &Path) -> Result<(), String> {
        let moves = ["link", "linkat", "rename", "renameat2"];
        let (Some(from), Some(to)) = (call.paths.first(), call.paths.last()) else {
            return Ok(());
        };
        let deploys = world.join("deploys");
        let live = world.join("code/environments/production");
        let is_switch = *to == live && call.name.starts_with("rename");
        let versions = deploys.join("versions");
        let is_final = to.starts_with(deploys.join("content/objects"))
            || to.starts_with(deploys.join("content/trees"))
            || to.parent() == Some(versions.as_path());
        if !moves.contains(&call.name.as_str()) || !(is_final || is_switch) {
            return Ok(());
        }
        self.named += 1;
        self.switched += usize::from(is_switch);
        // The version that goes live must also have its own name on the disk.
        let must = |path: &Path| match is_switch {
            true => path.starts_with(&versions) && !path.to_string_lossy().contains(".incoming-"),
            false => path.starts_with(from),
        };
        let mut lost = self.lost.values();
        let is_source = |lost: &Lost| matches!(lost, Lost::Name(path) if path == from);
        match lost.find(|lost| !is_source(lost) && must(lost.path())) {
            Some(lost) => Err(format!("{call:?}: {lost:?} is not on the disk")),
            None => Ok(()),
        }
    }

    fn end(&mut self, call: &Call) {
        let Some(path) = call.paths.last().cloned() else {
            return;
        };
        match call.name.as_str() {
            "write" | "pwrite64" => self.lose(Lost::Content(path)),
            "openat" if !call.creates => {}
            "openat" | "mkdir" | "symlink" => self.lose(Lost::Name(path)),
            "link" | "linkat" => self.lose(Lost::Name(path)),
            "rename" | "renameat2" => {
                for lost in self.lost.values_mut() {
                    if let Ok(rest) = lost.path().strip_prefix(&call.paths[0]) {
                        // Joining an empty path would append a slash.
                        let moved = path.join(rest).components().collect();
                        lost.move_to(moved);
                    }
                }
                self.lose(Lost::Name(path));
            }
            "syncfs" => self.lost.retain(|id, _| !call.before.contains(id)),
            "fsync" => self.lost.retain(|id, lost| {
                let is_of_it = match lost {
                    Lost::Content(file) => *file == path,
                    Lost::Name(name) => name.parent() == Some(&path),
                };
                !(is_of_it && call.before.contains(id))
            }),
            _ => {}
        }
    }
}

/// Parses a line of strace, without the process id.
fn call(text: &str, disk: &Disk) -> Call {
    let (name, arguments) = text.split_once('(').unwrap();
    let mut paths = Vec::new();
    // Descriptors are `7</path>`, strings are `"/path"`.
    let mut rest = arguments.split(" = ").next().unwrap();
    while let Some(start) = rest.find(['<', '"']) {
        let close = if rest[start..].starts_with('<') {
            '>'
        } else {
            '"'
        };
        let inner = &rest[start + 1..];
        let Some(end) = inner.find(close) else { break };
        let path = Path::new(&inner[..end]);
        if path.is_absolute() && !rest[..start].ends_with("AT_FDCWD") {
            paths.push(path.to_owned());
        }
        rest = &inner[end + 1..];
    }
    Call {
        name: name.to_owned(),
        paths,
        creates: arguments.contains("O_CREAT"),
        before: disk.lost.keys().copied().collect(),
    }
}

/// Checks all calls. `without` is a call that is ignored.
fn check(log: &str, world: &Path, without: &str) -> Result<Disk, String> {
    let mut disk = Disk::default();
    let mut open: HashMap<&str, Call> = HashMap::new();
    for line in log.lines() {
        let (process, text) = line.split_once(' ').unwrap();
        let text = text.trim_start();
        let is_call = |c: char| c.is_ascii_lowercase();
        let call = if let Some(resumed) = text.strip_prefix("<... ") {
            let Some(call) = open.remove(process) else {
                continue;
            };
            assert!(resumed.starts_with(&call.name), "{line}");
            call
        } else if text.starts_with(is_call) && text.contains('(') {
            let call = call(text, &disk);
            if call.name != without {
                disk.begin(&call, world)?;
            }
            if text.ends_with("<unfinished ...>") {
                open.insert(process, call);
                continue;
            }
            call
        } else {
            continue;
        };
        if !text.contains(" = -1 ") && call.name != without {
            disk.end(&call);
        }
    }
    Ok(disk)
}

#[tokio::test]
async fn whatever_has_its_name_is_on_the_disk() {
    let mut world = World::new();
    world.module("apt").write("VERSION", "1").commit();
    world.control().write("VERSION", "1");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    world.stop();
    let log = world.path().join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "0", "-e", &format!("trace={CALLS}"), "-o"]);
    let program = deployment();
    command.arg(&log).arg(program.get_program());
    command
        .args(program.get_args())
        .env(DIRECTORY, world.path());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("strace is not installed").success());
    let log = std::fs::read_to_string(&log).unwrap();
    let disk = check(&log, world.path(), "").unwrap();
    assert_eq!(disk.switched, 1);
    // Two contents, two trees, the version and the link.
    assert!(disk.named >= 6, "{}", disk.named);
    // Without the syncs, the check must fail.
    let told = check(&log, world.path(), "syncfs").err().unwrap();
    assert!(told.contains("is not on the disk"), "{told}");
    let told = check(&log, world.path(), "fsync").err().unwrap();
    assert!(told.contains("production_"), "{told}");
}
