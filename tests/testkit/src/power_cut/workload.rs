//! A process that uses a disk, with all processes that it starts: [`Workload`].
//!
//! Invariant: it has a PID namespace of its own, so that killing its first process ends all of them
//! at once, as a power cut does; and it ends with the thread that started it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// A process, its descendants, and the lines that it prints.
#[derive(Debug)]
pub struct Workload {
    child: Child,
    lines: mpsc::Receiver<String>,
    reader: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<String>>,
}

/// Longer than a healthy machine needs to start a process, so that a broken test ends with a
/// message.
const PATIENCE: Duration = Duration::from_secs(60);

/// Replaces the machine's boot id by a new one, in the mount namespace of the workload only, and
/// executes its arguments.
const ANOTHER_BOOT: &str = r#"
    id=$(mktemp) && cat /proc/sys/kernel/random/uuid >"$id" &&
    mount --bind "$id" /proc/sys/kernel/random/boot_id && rm "$id" && exec "$@"
"#;

// === impl Workload ===

impl Workload {
    /// Starts a program with its arguments and environment. Its output can be read line by line.
    pub fn start(program: &Command) -> Result<Self> {
        Self::start_with(program, &[])
    }

    /// Starts a program that depends on the boot id: it sees a `/proc` of its own processes, with a
    /// boot id that no other process has.
    pub fn start_in_another_boot(program: &Command) -> Result<Self> {
        Self::start_with(program, &["--mount-proc", "sh", "-c", ANOTHER_BOOT, "sh"])
    }

    /// `before` is inserted between the options of `unshare` and the program.
    fn start_with(program: &Command, before: &[&str]) -> Result<Self> {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "unshare", "--pid", "--fork"])
            .arg("--kill-child=SIGKILL")
            .args(before)
            .arg(program.get_program())
            .args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().context("cannot start a workload")?;
        let output = child.stdout.take().context("no output")?;
        let mut stderr = child.stderr.take().context("no output")?;
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // The bytes that were read before an error are kept.
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            lines,
            reader: Some(reader),
            stderr: Some(stderr),
        })
    }

    /// Waits for the next line of the output; `None` if the program has ended.
    pub fn next_line(&self) -> Result<Option<String>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(Some(line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("the workload prints nothing"),
        }
    }

    /// The lines of the output that were not read yet; complete once the program has ended.
    pub fn lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// Standard error of the program. Waits for its end; empty on a second call.
    pub fn stderr(&mut self) -> String {
        let stderr = self.stderr.take().map(JoinHandle::join);
        stderr.and_then(Result::ok).unwrap_or_default()
    }

    /// True if the program has ended.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Kills the program and all processes that it started.
    pub(super) fn kill(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = self.child.id();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let text = std::fs::read_to_string(children).unwrap_or_default();
        let mut pids: Vec<i32> = text.split_ascii_whitespace().flat_map(str::parse).collect();
        if pids.is_empty() {
            // `unshare` has no child yet; killing it also ends one that it is just starting.
            pids.push(pid.cast_signed());
        }
        for pid in pids.into_iter().filter_map(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::KILL);
        }
        Ok(())
    }

    /// Waits until all of its processes have ended.
    pub(super) fn wait_until_gone(&mut self) -> Result<()> {
        self.child.wait()?;
        if let Some(reader) = self.reader.take()
            && reader.join().is_err()
        {
            bail!("the thread that reads what the workload prints panicked");
        }
        Ok(())
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        // A failing test drops its disk first or last; the processes must end in both cases.
        let _ = self.kill();
        let _ = self.child.wait();
    }
}
