//! Small machines with a real systemd as their first process, on this host. Main type:
//! [`BootedMachine`].
//!
//! A machine is an overlay over this host's file system in namespaces of its own, booted within a
//! second.
//!
//! Invariants: a machine writes nothing to the host; machines of one [`MachineNetwork`] reach each
//! other on loopback and nothing else; a machine ends with its handle.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// Maximum boot time of a machine; it usually takes a second.
const BOOT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
const INIT: &str = include_str!("init.sh");
/// The programs that machines need on the host.
const PROGRAMS: [&str; 4] = ["unshare", "nsenter", "mount", "umount"];
const SYSTEMD: &str = "/lib/systemd/systemd";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A loopback network of machines.
#[derive(Debug)]
pub struct MachineNetwork {
    directory: TempDir,
    /// Certnames and host names, all on 127.0.0.1.
    names: Vec<String>,
}

/// A running machine; it ends with its handle.
#[derive(Debug)]
pub struct BootedMachine {
    name: String,
    directory: PathBuf,
    /// The process that waits for the first process of the machine.
    unshare: Child,
    /// The process id of the machine's first process on this host.
    init: u32,
}

/// The result of a command in a machine.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Both outputs, standard output first.
    pub text: String,
    pub code: Option<i32>,
}

// === impl MachineNetwork ===

impl MachineNetwork {
    /// The reason for which this host cannot boot machines; `None` if it can.
    pub fn obstacle() -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("only root can make namespaces and mounts".to_owned());
        }
        for program in PROGRAMS {
            if Command::new(program).arg("--version").output().is_err() {
                return Some(format!("there is no program {program}"));
            }
        }
        if !Path::new(SYSTEMD).exists() {
            return Some(format!(
                "there is no {SYSTEMD}: install the package systemd"
            ));
        }
        // A container may run as root without the necessary rights.
        Self::probe().err().map(|error| format!("{error:#}"))
    }

    fn probe() -> Result<()> {
        let source = tempfile::tempdir()?;
        let network = Self::new(&[])?;
        network.boot("probe", source.path()).map(drop)
    }

    /// Creates a network in which these names are known.
    pub fn new(names: &[&str]) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("tutti-machines-")
            .tempdir()?;
        let network = Self {
            directory,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        std::fs::write(network.namespace(), "")?;
        let namespace = format!("--net={}", network.namespace().display());
        let made = ["ip", "link", "set", "lo", "up"];
        run(Command::new("unshare").arg(namespace).args(made))?;
        Ok(network)
    }

    /// Boots a machine, which can read `source` of this host but not write there.
    pub fn boot(&self, name: &str, source: &Path) -> Result<BootedMachine> {
        let directory = self.directory.path().join(name);
        std::fs::create_dir(&directory)?;
        run(Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(&directory))?;
        for part in ["up", "work", "root"] {
            std::fs::create_dir(directory.join(part))?;
        }
        let script = directory.join("init.sh");
        std::fs::write(&script, INIT)?;
        let console = std::fs::File::create(directory.join("console.log"))?;
        let unshare = Command::new("nsenter")
            .arg(format!("--net={}", self.namespace().display()))
            .args(["unshare", "--pid", "--mount", "--uts", "--ipc", "--cgroup"])
            .args(["--fork", "--kill-child", "--", "sh"])
            .arg(&script)
            .arg(&directory)
            .arg(name)
            .arg(source)
            .arg(self.hosts())
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console)
            .spawn()?;
        let mut machine = BootedMachine {
            name: name.to_owned(),
            directory,
            unshare,
            init: 0,
        };
        machine.until_up()?;
        Ok(machine)
    }

    fn namespace(&self) -> PathBuf {
        self.directory.path().join("network")
    }

    fn hosts(&self) -> String {
        let mut hosts = "127.0.0.1 localhost\n::1 localhost".to_owned();
        for name in &self.names {
            // Writing to a String cannot fail.
            let _ = write!(hosts, "\n127.0.0.1 {name}");
        }
        hosts
    }
}

impl Drop for MachineNetwork {
    fn drop(&mut self) {
        // If the mount was not made, it need not be removed.
        let _ = run(Command::new("umount").arg(self.namespace()));
    }
}

// === impl BootedMachine ===

impl BootedMachine {
    /// Runs a script as root in a login shell.
    pub fn run(&self, script: &str) -> Result<Typed> {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.init.to_string()])
            .args(["-m", "-p", "-u", "-i", "-C", "-n", "-r", "-w", "--"])
            .args(["env", "-i", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb"])
            .arg(format!("PATH={PATH}"))
            .args(["bash", "-c", script])
            .stdin(Stdio::null());
        let output = command.output().context("cannot run nsenter")?;
        Ok(Typed {
            text: text(&output),
            code: output.status.code(),
        })
    }

    /// Runs a script that must succeed; returns its output.
    pub fn expect(&self, script: &str) -> Result<String> {
        let typed = self.run(script)?;
        ensure!(
            typed.code == Some(0),
            "on {}: `{script}` ended with {:?}:\n{}\n{}",
            self.name,
            typed.code,
            typed.text,
            self.journal()
        );
        Ok(typed.text)
    }

    /// Repeats a script until it succeeds and prints `part`.
    pub fn until(&self, script: &str, part: &str) -> Result<String> {
        let started = Instant::now();
        loop {
            let typed = self.run(script)?;
            if typed.code == Some(0) && typed.text.contains(part) {
                return Ok(typed.text);
            }
            ensure!(
                started.elapsed() < BOOT,
                "on {}: `{script}` never printed {part:?}; it ended with {:?}:\n{}\n{}",
                self.name,
                typed.code,
                typed.text,
                self.journal()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Writes a file as an editor would, and creates the directories above it.
    pub fn write(&self, path: &str, content: &str) -> Result<()> {
        ensure!(path.starts_with('/'), "{path} is no absolute path");
        let marker = "END OF THE FILE";
        self.expect(&format!(
            "mkdir -p \"$(dirname '{path}')\" && cat > '{path}' <<'{marker}'\n{content}{marker}\n"
        ))?;
        Ok(())
    }

    /// The last lines of the machine's journal, for messages.
    fn journal(&self) -> String {
        let journal = self.run("journalctl --no-pager -n 60 -o cat");
        journal.map_or_else(|error| format!("{error:#}"), |typed| typed.text)
    }

    fn until_up(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < BOOT {
            if let Some(status) = self.unshare.try_wait()? {
                bail!("{} ended with {status}: {}", self.name, self.console());
            }
            if let Some(init) = self.find_init() {
                self.init = init;
                let state = self.run("systemctl is-system-running")?.text;
                if ["running", "degraded"].contains(&state.trim()) {
                    return Ok(());
                }
            }
            std::thread::sleep(LOOK);
        }
        bail!("{} did not come up: {}", self.name, self.console())
    }

    /// The child process of `unshare`, once it is systemd.
    fn find_init(&self) -> Option<u32> {
        let pid = self.unshare.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let child: u32 = children.split_whitespace().next()?.parse().ok()?;
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        (name.trim() == "systemd").then_some(child)
    }

    fn console(&self) -> String {
        let console = std::fs::read_to_string(self.directory.join("console.log"));
        console.unwrap_or_else(|error| error.to_string())
    }
}

impl Drop for BootedMachine {
    fn drop(&mut self) {
        // `--kill-child` also ends the first process of the machine, and therefore all of them.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        let started = Instant::now();
        while run(Command::new("umount").arg(&self.directory)).is_err()
            && started.elapsed() < Duration::from_secs(10)
        {
            std::thread::sleep(LOOK);
        }
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}: {}",
        output.status,
        text(&output)
    );
    Ok(())
}

fn text(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}
