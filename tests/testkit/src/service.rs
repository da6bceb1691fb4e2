//! A real program as a child process: started, awaited until ready, killed. Main type: [`Service`].
//!
//! Invariant: readiness is received on `NOTIFY_SOCKET`, never guessed, and no child outlives its
//! handle or the thread that started it: the kernel ends it even when the test is killed. So a
//! service is started on the thread of a test, never on one that may end before.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};

/// Maximum duration of a start, on a machine that compiles and tests at the same time.
const START_DEADLINE: Duration = Duration::from_secs(60);
const STOP_DEADLINE: Duration = Duration::from_secs(40);

/// The command of a service, which can be started repeatedly.
#[derive(Clone, Debug)]
pub struct ServiceSpec {
    /// Name of the service in errors.
    pub name: String,
    /// Path of the executable.
    pub program: PathBuf,
    /// The arguments of the executable.
    pub arguments: Vec<OsString>,
    /// Variables that are added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The file to which both outputs are appended.
    pub log: PathBuf,
}

/// A started service; it ends with its handle.
#[derive(Debug)]
pub struct Service {
    name: String,
    log: PathBuf,
    child: Child,
    pid: Pid,
}

// === impl ServiceSpec ===

impl ServiceSpec {
    /// The service `program arguments…`, logging to `log`.
    pub fn new<A: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: &Path,
    ) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments
                .into_iter()
                .map(|one| one.as_ref().to_owned())
                .collect(),
            environment: Vec::new(),
            log: log.to_owned(),
        }
    }

    /// Starts the service without waiting until it is ready.
    pub fn spawn(&self) -> Result<Service> {
        self.spawn_with(None)
    }

    /// Starts the service and waits until it reports that it is ready.
    pub async fn start(&self) -> Result<Service> {
        let sockets = tempfile::tempdir().context("cannot make a temporary directory")?;
        let path = sockets.path().join("notify");
        let socket = UnixDatagram::bind(&path).context("cannot make a notification socket")?;
        let mut service = self.spawn_with(Some(&path))?;
        let ready = tokio::select! {
            ready = tokio::time::timeout(START_DEADLINE, is_ready(&socket)) => ready,
            status = service.child.wait() => {
                bail!("{} ended: {}; log:\n{}", self.name, status?, service.log_text());
            }
        };
        match ready {
            Ok(ready) => ready.with_context(|| format!("cannot hear from {}", self.name))?,
            Err(_) => bail!(
                "{} did not get ready; log:\n{}",
                self.name,
                service.log_text()
            ),
        }
        Ok(service)
    }

    fn spawn_with(&self, notify: Option<&Path>) -> Result<Service> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("cannot write {}", self.log.display()))?;
        // `setpriv` executes the program in its own process, so the process id is that of the
        // program.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        if let Some(notify) = notify {
            command.env("NOTIFY_SOCKET", notify);
        }
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {} ({})", self.name, self.program.display()))?;
        let id = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let pid = id.with_context(|| format!("{} ended at once", self.name))?;
        Ok(Service {
            name: self.name.clone(),
            log: self.log.clone(),
            child,
            pid,
        })
    }
}

// === impl Service ===

impl Service {
    /// The process id of the service.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The log of all starts.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends SIGKILL, and waits for the end.
    pub async fn kill(mut self) -> Result<()> {
        self.child
            .kill()
            .await
            .with_context(|| format!("cannot kill {}", self.name))
    }

    /// Sends SIGTERM, and waits for the end.
    pub async fn stop(mut self) -> Result<ExitStatus> {
        kill_process(self.pid, Signal::TERM)?;
        match tokio::time::timeout(STOP_DEADLINE, self.child.wait()).await {
            Ok(status) => Ok(status?),
            Err(_) => bail!("{} does not stop; log:\n{}", self.name, self.log_text()),
        }
    }

    /// Waits until the service ends by itself.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }
}

async fn is_ready(socket: &UnixDatagram) -> std::io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if buffer[..length]
            .split(|byte| *byte == b'\n')
            .any(|line| line == b"READY=1")
        {
            return Ok(());
        }
    }
}
