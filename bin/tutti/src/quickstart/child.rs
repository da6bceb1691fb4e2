//! A child process that reports its readiness. Main type: [`ChildProcess`].
//!
//! Invariant: readiness is awaited, never guessed: the child gets a socket in `NOTIFY_SOCKET`, as
//! from systemd, and sends `READY=1` on it. A child ends with its handle.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::UnixDatagram;
use tokio::sync::Mutex;

/// Time limit of a start, which creates keys and a database; on a busy machine that takes some
/// seconds.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// Time limit of a stop; longer than a server's own drain deadline.
const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// Number of log lines shown if a process could not start.
const LOG_LINES: usize = 15;

#[derive(Debug)]
pub(super) struct ChildProcess {
    name: String,
    log: PathBuf,
    id: u32,
    process: Mutex<tokio::process::Child>,
}

/// What a child tells the service manager when others can use it.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChildReadiness {
    /// It has started.
    Started,
    /// It has also connected to its broker, which an agent does after its start.
    Connected,
}

// === impl ChildReadiness ===

impl ChildReadiness {
    fn is_told_by(self, line: &[u8]) -> bool {
        match self {
            Self::Started => line == b"READY=1",
            Self::Connected => line.starts_with(b"STATUS=connected to "),
        }
    }
}

// === impl ChildProcess ===

impl ChildProcess {
    /// Starts `command` and waits until it tells that it is ready.
    pub(super) async fn start(
        name: &str,
        command: &[OsString],
        log: &Path,
        readiness: ChildReadiness,
    ) -> Result<Self> {
        let sockets = tempfile::tempdir().context("cannot make a temporary directory")?;
        let notify = sockets.path().join("notify");
        let socket = UnixDatagram::bind(&notify).context("cannot make a notification socket")?;
        let (program, arguments) = command.split_first().context("no program")?;
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut process = tokio::process::Command::new(program)
            .args(arguments)
            .env("NOTIFY_SOCKET", &notify)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true)
            // Ctrl-C is handled by the quickstart, which then stops its children in order.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let id = process.id().context("the process ended at once")?;
        tokio::select! {
            ready = tokio::time::timeout(START_DEADLINE, wait_until_ready(&socket, readiness)) => match ready {
                Ok(ready) => ready.with_context(|| format!("cannot hear from the {name}"))?,
                Err(_) => bail!("the {name} did not get ready in {} s:\n{}", START_DEADLINE.as_secs(), last_log_lines(log)),
            },
            status = process.wait() => bail!("the {name} ended: {}:\n{}", status?, last_log_lines(log)),
        }
        Ok(Self {
            name: name.to_owned(),
            log: log.to_owned(),
            id,
            process: Mutex::new(process),
        })
    }

    /// Waits for an unrequested end; returns the name.
    pub(super) async fn wait_for_end(&self) -> &str {
        // An error means that the child no longer exists.
        let _ = self.process.lock().await.wait().await;
        &self.name
    }

    /// Stops the child and waits for its end.
    pub(super) async fn stop(self) -> Result<()> {
        let mut process = self.process.into_inner();
        if process.try_wait()?.is_none() {
            let pid = i32::try_from(self.id).ok().and_then(Pid::from_raw);
            kill_process(pid.context("no process id")?, Signal::TERM)?;
        }
        match tokio::time::timeout(STOP_DEADLINE, process.wait()).await {
            Ok(status) => {
                let status = status?;
                anyhow::ensure!(
                    status.success(),
                    "the {} ended: {status}; see {}",
                    self.name,
                    self.log.display()
                );
                Ok(())
            }
            Err(_) => bail!(
                "the {} does not stop; it is killed; see {}",
                self.name,
                self.log.display()
            ),
        }
    }
}

async fn wait_until_ready(socket: &UnixDatagram, readiness: ChildReadiness) -> std::io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let mut lines = buffer[..length].split(|byte| *byte == b'\n');
        if lines.any(|line| readiness.is_told_by(line)) {
            return Ok(());
        }
    }
}

fn last_log_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::ChildReadiness;

    #[test]
    fn an_agent_that_has_started_is_not_connected_yet() {
        let told = |line: &[u8]| {
            [ChildReadiness::Started, ChildReadiness::Connected].map(|it| it.is_told_by(line))
        };
        assert_eq!(told(b"READY=1"), [true, false]);
        assert_eq!(told(b"STATUS=connecting to pcp://a"), [false, false]);
        assert_eq!(told(b"STATUS=connected to pcp://a"), [false, true]);
    }
}
