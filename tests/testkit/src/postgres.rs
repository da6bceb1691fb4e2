//! A private, real PostgreSQL for tests.
//!
//! [`Postgres`] is a server of its own: data in a temporary directory, reached by a Unix socket in
//! it only, fsync on. It refuses to run as root, so a test that runs as root starts it as another
//! user ([`Account`]).
//!
//! Invariant: the server ends with its handle, and with the test process, however that ends (the
//! kernel sends it a signal at its parent's death).

mod place;

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use place::{Account, account, programs};

/// A private PostgreSQL server; it ends with its handle.
#[derive(Debug)]
pub struct Postgres {
    directory: Directory,
    programs: PathBuf,
    account: Option<Account>,
    process: Mutex<Option<Process>>,
    databases: AtomicU64,
    /// Its port on the address of the setup; `None` if it has no address.
    tcp: Option<u16>,
    setup: PostgresSetup,
}

/// Differences from the default server.
#[derive(Clone, Debug, Default)]
pub struct PostgresSetup {
    /// The address on which it listens; `None`: only its Unix socket.
    pub address: Option<String>,
    /// Settings of `postgresql.conf` as `name=value`.
    pub settings: Vec<String>,
    /// Lines of `pg_hba.conf` before the default ones, which admit every user.
    pub hba: Vec<String>,
    /// Names and contents of files in its data directory, readable by the server only.
    pub files: Vec<(String, String)>,
}

/// Directory with a server's data, log and socket.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Removed with the handle; `None` if the directory is kept.
    temporary: Option<tempfile::TempDir>,
}

/// The server's process and the thread that is its parent: the kernel's signal is sent at the death
/// of the parent *thread*, and the threads of tests do not live long.
#[derive(Debug)]
struct Process {
    pid: rustix::process::Pid,
    commands: mpsc::Sender<Stop>,
    thread: std::thread::JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
enum Stop {
    /// A fast shutdown, as by an administrator.
    Fast,
    /// A kill, as by a power cut.
    Kill,
}

/// Longer than a healthy machine needs, so that a broken test ends with a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// Exit status of `pg_isready` for a server that refuses sessions, such as one that starts.
const REJECTS_CONNECTIONS: i32 = 1;

/// The default port of clients.
const USUAL_PORT: u16 = 5432;

static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

impl Postgres {
    /// The server that the tests of this process share; it ends with the last handle.
    pub fn shared() -> Result<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = shared.upgrade() {
            return Ok(running);
        }
        let started = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&started);
        Ok(started)
    }

    /// Starts a new server.
    pub fn start() -> Result<Self> {
        Self::start_with(PostgresSetup::default(), &std::env::temp_dir())
    }

    /// Starts a new server that also listens on 127.0.0.1, for clients that cannot use a Unix
    /// socket.
    pub fn start_on_tcp() -> Result<Self> {
        Self::start_as(PostgresSetup {
            address: Some("127.0.0.1".to_owned()),
            ..PostgresSetup::default()
        })
    }

    /// Starts a new server with this setup.
    pub fn start_as(setup: PostgresSetup) -> Result<Self> {
        Self::start_with(setup, &std::env::temp_dir())
    }

    /// Starts a new server whose data, log and socket are in a directory below this one.
    pub fn start_in(parent: &Path) -> Result<Self> {
        Self::start_with(PostgresSetup::default(), parent)
    }

    fn start_with(setup: PostgresSetup, parent: &Path) -> Result<Self> {
        let server = Self::place(setup, parent)?;
        server.init()?;
        server.resume()?;
        Ok(server)
    }

    /// A copy of this server's current data, which is not started.
    pub fn copy(&self) -> Result<Self> {
        let parent = self.directory.path().parent();
        let copy = Self::place(
            self.setup.clone(),
            parent.context("a directory has a parent")?,
        )?;
        let output = self
            .command("pg_basebackup", &[])
            .args(["-U", "tutti", "--no-sync", "--checkpoint=fast", "-h"])
            .arg(self.directory.path())
            .args(["-p", &self.port().to_string(), "-D"])
            .arg(copy.data())
            .output()
            .context("cannot run pg_basebackup")?;
        ensure!(
            output.status.success(),
            "pg_basebackup: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        copy.databases
            .store(self.databases.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(copy)
    }

    /// This server, which is not running, with the port of the other one for its next start.
    #[must_use]
    pub fn at_place_of(mut self, other: &Self) -> Self {
        self.tcp = other.tcp;
        self
    }

    fn place(setup: PostgresSetup, parent: &Path) -> Result<Self> {
        let programs = programs()?;
        let account = account()?;
        let directory = tempfile::Builder::new().prefix("pg-").tempdir_in(parent)?;
        if let Some(Account { uid, gid, .. }) = account {
            std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o711))?;
            chown(directory.path(), Some(uid), Some(gid))?;
        }
        let tcp = match setup.address {
            Some(_) => Some(crate::installation::free_port()?),
            None => None,
        };
        Ok(Self {
            directory: Directory {
                path: directory.path().to_owned(),
                temporary: Some(directory),
            },
            programs,
            account,
            process: Mutex::new(None),
            databases: AtomicU64::new(0),
            tcp,
            setup,
        })
    }

    fn init(&self) -> Result<()> {
        let output = self
            .command("initdb", &[])
            .args([
                "--auth=trust",
                "--username=tutti",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                // Text is compared by the rules of a language, unless the schema specifies
                // otherwise.
                "--locale-provider=icu",
                "--icu-locale=en-US",
            ])
            .arg("--no-sync")
            .arg("-D")
            .arg(self.data())
            .output()
            .context("cannot run initdb")?;
        ensure!(
            output.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let hba = self.data().join("pg_hba.conf");
        let usual = std::fs::read_to_string(&hba)?;
        std::fs::write(&hba, format!("{}\n{usual}", self.setup.hba.join("\n")))?;
        for (name, content) in &self.setup.files {
            let path = self.data().join(name);
            std::fs::write(&path, content)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            if let Some(Account { uid, gid, .. }) = self.account {
                chown(&path, Some(uid), Some(gid))?;
            }
        }
        Ok(())
    }

    /// Starts a server on the data that another handle created with [`Postgres::start_in`] and
    /// [`Postgres::keep`].
    pub fn start_on(directory: &Path) -> Result<Self> {
        let server = Self {
            directory: Directory {
                path: directory.to_owned(),
                temporary: None,
            },
            programs: programs()?,
            account: account()?,
            process: Mutex::new(None),
            databases: AtomicU64::new(0),
            tcp: None,
            setup: PostgresSetup::default(),
        };
        server.resume()?;
        Ok(server)
    }

    /// Stops the server as an administrator does and keeps its directory, which is returned.
    pub fn keep(mut self) -> Result<PathBuf> {
        self.stop()?;
        if let Some(temporary) = self.directory.temporary.take() {
            return Ok(temporary.keep());
        }
        Ok(self.directory.path.clone())
    }

    /// The URL of an existing database.
    pub fn url(&self, database: &str) -> String {
        url(self.directory(), database)
    }

    /// Creates an empty database and returns its URL.
    pub fn create_database(&self) -> Result<String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(match self.tcp_place() {
            Some(place) => format!("postgresql://tutti@{place}/{name}"),
            None => url(self.directory(), &name),
        })
    }

    /// `127.0.0.1:PORT`, if it listens there.
    pub fn tcp_place(&self) -> Option<String> {
        let address = self.setup.address.as_ref()?;
        self.tcp.map(|port| format!("{address}:{port}"))
    }

    /// The URL of the same database over the Unix socket.
    pub fn local_url(&self, database_url: &str) -> String {
        let database = database_url.rsplit('/').next().unwrap_or_default();
        let place = self.directory().display().to_string().replace('/', "%2F");
        format!("postgresql://tutti@{place}:{}/{database}", self.port())
    }

    /// The port, which is also in the name of its Unix socket.
    fn port(&self) -> u16 {
        self.tcp.unwrap_or(USUAL_PORT)
    }

    /// The directory of its socket.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs SQL in a database as the administrator; returns the output.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String> {
        let output = Command::new(self.programs.join("psql"))
            .args([
                "-X",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "tutti",
                "-d",
                database,
            ])
            .arg("-h")
            .arg(self.directory.path())
            .args(["-p", &self.port().to_string()])
            .args(["-c", sql])
            .output()
            .context("cannot run psql")?;
        ensure!(
            output.status.success(),
            "psql: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// The whole content of a database, as SQL.
    pub(crate) fn dump(&self, database: &str) -> Result<Vec<u8>> {
        let output = Command::new(self.programs.join("pg_dump"))
            .args(["-U", "tutti", "-d", database, "-h"])
            .arg(self.directory.path())
            .args(["-p", &self.port().to_string()])
            .output()
            .context("cannot run pg_dump")?;
        ensure!(
            output.status.success(),
            "pg_dump: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output.stdout)
    }

    /// Kills a session that is committing in this database, as the kernel does when memory is
    /// short; the server then ends all other sessions too and recovers. False if there was no such
    /// session.
    pub fn kill_committing(&self, database: &str) -> Result<bool> {
        let found = self.psql(
            "postgres",
            &format!(
                "SELECT pid FROM pg_stat_activity \
                 WHERE datname = '{database}' AND state = 'active' AND query = 'COMMIT'"
            ),
        )?;
        let pid = found.lines().next().map(str::parse).transpose()?;
        let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else {
            return Ok(false);
        };
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        Ok(true)
    }

    /// Stops the server as an administrator does: connections are cut, everything is on the disk.
    pub fn stop(&self) -> Result<()> {
        self.end(Stop::Fast)
    }

    /// Kills the server, as a power cut does.
    pub fn kill(&self) -> Result<()> {
        self.end(Stop::Kill)
    }

    /// Starts the server again on the same data and waits until it answers.
    pub fn resume(&self) -> Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(process.is_none(), "the server is running");
        // After a kill, the children of the server hold its shared memory for a moment.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let started = self.spawn()?;
            match self.await_ready(&started, deadline)? {
                true => {
                    *process = Some(started);
                    return Ok(());
                }
                false if Instant::now() < deadline => finish(started, Stop::Kill)?,
                false => bail!("PostgreSQL does not start: {}", self.log()),
            }
        }
    }

    /// Starts the server, which is not running, so that it never becomes ready: it accepts connections, and answers
    /// that it is starting up.
    pub fn resume_without_getting_ready(&self) -> Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(process.is_none(), "the server is running");
        let signal = self.data().join("standby.signal");
        std::fs::write(&signal, "")?;
        if let Some(Account { uid, gid, .. }) = self.account {
            chown(&signal, Some(uid), Some(gid))?;
        }
        let settings = self.data().join("postgresql.auto.conf");
        let usual = std::fs::read_to_string(&settings)?;
        std::fs::write(&settings, format!("{usual}\nhot_standby = off\n"))?;
        let started = self.spawn()?;
        let deadline = Instant::now() + PATIENCE;
        while self.readiness()?.code() != Some(REJECTS_CONNECTIONS) {
            ensure!(
                Instant::now() < deadline && is_alive(started.pid),
                "PostgreSQL does not start: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        *process = Some(started);
        Ok(())
    }

    fn spawn(&self) -> Result<Process> {
        let mut command = self.command("postgres", &["--pdeathsig", "QUIT"]);
        command
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.directory.path());
        let address = self.setup.address.as_deref().unwrap_or_default();
        command.args(["-c", &format!("listen_addresses={address}")]);
        command.args(["-c", &format!("port={}", self.port())]);
        command.args(["-c", "fsync=on", "-c", "max_connections=200"]);
        // After a crash, the server makes its files durable before it reads its journal: 1,200 files, and by default a flush of
        // the disk for each. One call does it for the whole file system.
        command.args(["-c", "recovery_init_sync_method=syncfs"]);
        for setting in &self.setup.settings {
            command.args(["-c", setting]);
        }
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"))?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let (commands, orders) = mpsc::channel();
        let (told, spawned) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || {
                let child = command.spawn();
                // The receiver waits below.
                let _ = told.send(
                    child
                        .as_ref()
                        .map(Child::id)
                        .map_err(|error| error.to_string()),
                );
                if let Ok(child) = child {
                    supervise(child, &orders);
                }
            })?;
        let id = spawned
            .recv()?
            .map_err(anyhow::Error::msg)
            .context("cannot run postgres")?;
        let pid = i32::try_from(id)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        Ok(Process {
            pid: pid.context("a process id is positive")?,
            commands,
            thread,
        })
    }

    fn await_ready(&self, process: &Process, deadline: Instant) -> Result<bool> {
        while Instant::now() < deadline {
            if process.thread.is_finished() || !is_alive(process.pid) {
                return Ok(false);
            }
            if self.readiness()?.success() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }

    fn readiness(&self) -> Result<ExitStatus> {
        Command::new(self.programs.join("pg_isready"))
            .args(["-q", "-p", &self.port().to_string(), "-U", "tutti", "-h"])
            .arg(self.directory.path())
            .status()
            .context("cannot run pg_isready")
    }

    fn end(&self, stop: Stop) -> Result<()> {
        let process = self
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        process.map_or(Ok(()), |process| finish(process, stop))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A command for a program of the server, run as an account that the server accepts.
    fn command(&self, program: &str, setpriv: &[&str]) -> Command {
        let program = self.programs.join(program);
        let mut arguments: Vec<OsString> = setpriv.iter().map(OsString::from).collect();
        if let Some(Account { uid, gid, .. }) = &self.account {
            arguments.extend(["--reuid".into(), uid.to_string().into()]);
            arguments.extend([
                "--regid".into(),
                gid.to_string().into(),
                "--clear-groups".into(),
            ]);
        }
        let mut command = if arguments.is_empty() {
            Command::new(program)
        } else {
            let mut command = Command::new("setpriv");
            command.args(arguments).arg("--").arg(program);
            command
        };
        command.current_dir(self.directory.path());
        command
    }
}

/// The URL of a database whose server has its socket in `directory`.
pub(crate) fn url(directory: &Path, database: &str) -> String {
    let host = directory.display().to_string().replace('/', "%2F");
    format!("postgresql://tutti@{host}/{database}")
}

impl Directory {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The directory is removed next, so nothing needs to be written. An error cannot be
        // returned.
        let _ = self.end(Stop::Kill);
    }
}

/// The parent of the server: waits for the order to stop it, and for its end.
fn supervise(mut child: Child, orders: &mpsc::Receiver<Stop>) {
    // A dropped sender is a dropped handle.
    let stop = orders.recv().unwrap_or(Stop::Kill);
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let (Stop::Fast, Some(pid)) = (stop, pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    } else {
        let _ = child.kill();
    }
    let _ = child.wait();
}

fn finish(process: Process, stop: Stop) -> Result<()> {
    // A thread that has ended needs no order.
    let _ = process.commands.send(stop);
    if process.thread.join().is_err() {
        bail!("the thread that keeps PostgreSQL panicked");
    }
    Ok(())
}

fn is_alive(pid: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // A child that has ended and was not waited for is a zombie.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
