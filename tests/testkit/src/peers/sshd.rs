//! A real OpenSSH server for tests. Main type: [`Sshd`].
//!
//! It runs as an ordinary user, which is `postgres` when the test runs as root (a user with a shell
//! that the tests need anyway), so the only login is that user's own. Everything is in one
//! directory with its own host key and port; its `bin`, first in the sessions' PATH, contains a
//! `sudo` that requests the password `sesame` and changes nothing but `$SUDO_AS`.
//!
//! Invariant: the server and its sessions end with the handle.

use std::ffi::OsString;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

use crate::installation::free_port;
use crate::service::{Service, ServiceSpec};

/// The password that the `sudo` of the sessions accepts.
pub const SUDO_PASSWORD: &str = "sesame";

/// An OpenSSH server for one test.
#[derive(Debug)]
pub struct Sshd {
    directory: TempDir,
    user: String,
    port: u16,
    spec: ServiceSpec,
    service: Option<Service>,
}

const START_DEADLINE: Duration = Duration::from_secs(30);

const SUDO: &str = r#"#!/bin/sh
prompt= user= ask=
while :; do
    case $1 in
    -S) ask=1 ;;
    -n | -H) ;;
    -p) prompt=$2; shift ;;
    -u) user=$2; shift ;;
    *) break ;;
    esac
    shift
done
if [ -z "$ask" ]; then
    echo "sudo: a password is required" >&2
    exit 1
fi
while :; do
    printf %s "$prompt" >&2
    IFS= read -r answer || exit 1
    [ "$answer" = sesame ] && break
    echo "Sorry, try again." >&2
done
SUDO_AS=$user
export SUDO_AS
exec "$@"
"#;

// === impl Sshd ===

impl Sshd {
    /// Starts a server on a free port.
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("sshd-").tempdir()?;
        let port = free_port()?;
        let (user, switch) = account()?;
        let path = directory.path();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        make_key(&path.join("host_key"), ED25519)?;
        make_key(&path.join("user_key"), ED25519)?;
        std::fs::copy(path.join("user_key.pub"), path.join("authorized_keys"))?;
        std::fs::create_dir(path.join("bin"))?;
        std::fs::create_dir(path.join("tmp"))?;
        let sudo = path.join("bin/sudo");
        std::fs::write(&sudo, SUDO)?;
        std::fs::set_permissions(&sudo, std::fs::Permissions::from_mode(0o755))?;
        std::fs::write(path.join("sshd_config"), configuration(path, port))?;
        let mut arguments: Vec<OsString> = Vec::new();
        let mut program = PathBuf::from("/usr/sbin/sshd");
        if let Some((uid, gid)) = switch {
            for name in ["host_key", "authorized_keys", "tmp"] {
                chown(path.join(name), Some(uid), Some(gid))?;
            }
            let ids = [format!("--reuid={uid}"), format!("--regid={gid}")];
            arguments.extend(ids.map(OsString::from));
            arguments.push("--clear-groups".into());
            arguments.push(program.into());
            program = PathBuf::from("setpriv");
        }
        arguments.extend(["-D", "-e", "-f"].map(OsString::from));
        arguments.push(path.join("sshd_config").into());
        let spec = ServiceSpec::new("sshd", &program, arguments, &path.join("log"));
        let mut sshd = Self {
            directory,
            user,
            port,
            spec,
            service: None,
        };
        sshd.resume()?;
        Ok(sshd)
    }

    /// Creates another key for the user and authorizes it; `kind` are options of `ssh-keygen`.
    pub fn other_private_key(&self, kind: &[&str]) -> Result<String> {
        let path = self.path("other_key");
        for old in [&path, &path.with_extension("pub")] {
            if old.exists() {
                std::fs::remove_file(old)?;
            }
        }
        make_key(&path, kind)?;
        let known = std::fs::read_to_string(self.path("authorized_keys"))?;
        let public = std::fs::read_to_string(path.with_extension("pub"))?;
        std::fs::write(self.path("authorized_keys"), known + &public)?;
        std::fs::read_to_string(&path).context("cannot read the key")
    }

    /// Starts the server again, on the same port with the same keys.
    pub fn resume(&mut self) -> Result<()> {
        let service = self.spec.spawn()?;
        let deadline = Instant::now() + START_DEADLINE;
        // The server does not report that it listens.
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > deadline {
                bail!("sshd does not listen; log:\n{}", service.log_text());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.service = Some(service);
        Ok(())
    }

    /// Kills the server and its sessions, as a power cut does. Processes that they started remain.
    pub fn kill(&mut self) {
        let Some(service) = self.service.take() else {
            return;
        };
        let mut sessions = Vec::new();
        find_sessions(service.pid(), &mut sessions);
        kill_and_wait(service.pid());
        sessions.into_iter().for_each(kill_and_wait);
    }

    /// Replaces the host key, as on a host that was installed anew; takes effect at the next start.
    pub fn change_host_key(&self) -> Result<()> {
        let key = self.path("host_key");
        let owner = std::fs::metadata(&key)?;
        std::fs::remove_file(&key)?;
        make_key(&key, ED25519)?;
        let (uid, gid) = (
            std::os::unix::fs::MetadataExt::uid(&owner),
            std::os::unix::fs::MetadataExt::gid(&owner),
        );
        Ok(chown(&key, Some(uid), Some(gid))?)
    }

    /// The only user who can log in.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The user's private key.
    pub fn private_key(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.path("user_key"))?)
    }

    /// The server's line of a `known_hosts` file.
    pub fn known_hosts(&self) -> Result<String> {
        let key = std::fs::read_to_string(self.path("host_key.pub"))?;
        let mut words = key.split(' ');
        let (kind, key) = (words.next(), words.next());
        let (kind, key) = kind.zip(key).context("ssh-keygen wrote no public key")?;
        Ok(format!("[127.0.0.1]:{} {kind} {}\n", self.port, key.trim()))
    }

    /// A directory in which the user may write.
    pub fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    /// The content of its log.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill();
    }
}

fn configuration(path: &Path, port: u16) -> String {
    let path = path.display();
    format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {path}/host_key\nPidFile none\n\
         AuthorizedKeysFile {path}/authorized_keys\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication yes\nKbdInteractiveAuthentication no\nMaxStartups 200\n\
         SetEnv PATH={path}/bin:/usr/local/bin:/usr/bin:/bin\nLogLevel VERBOSE\n"
    )
}

/// The options of `ssh-keygen` for an Ed25519 key.
const ED25519: &[&str] = &["-t", "ed25519"];

fn make_key(path: &Path, kind: &[&str]) -> Result<()> {
    let made = Command::new("ssh-keygen")
        .args(kind)
        .args(["-q", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .output()
        .context("cannot run ssh-keygen; install openssh-client")?;
    let words = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "ssh-keygen: {words}");
    Ok(())
}

/// The user that the server runs as, and the ids to switch to.
fn account() -> Result<(String, Option<(u32, u32)>)> {
    let own = rustix::process::geteuid();
    let passwd = std::fs::read_to_string("/etc/passwd")?;
    for line in passwd.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, ..] = fields.as_slice() else {
            continue;
        };
        let (uid, gid): (u32, u32) = (uid.parse()?, gid.parse()?);
        if own.is_root() && *name == "postgres" {
            return Ok(((*name).to_owned(), Some((uid, terminals()?.unwrap_or(gid)))));
        }
        if !own.is_root() && uid == own.as_raw() {
            return Ok(((*name).to_owned(), None));
        }
    }
    bail!("no user to run sshd as: root needs a user postgres (package postgresql)")
}

/// The group of terminals: a server that is not root can give its user a terminal only if it has
/// the right group from the start.
fn terminals() -> Result<Option<u32>> {
    let groups = std::fs::read_to_string("/etc/group")?;
    let line = groups.lines().find(|line| line.starts_with("tty:"));
    let id = line.and_then(|line| line.split(':').nth(2));
    Ok(id.map(str::parse).transpose()?)
}

/// Kills a process and waits for its end, since its port accepts connections until then.
fn kill_and_wait(process: Pid) {
    // The process may have ended meanwhile.
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else {
        return;
    };
    let _ = kill_process(process, Signal::KILL);
    let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], None);
}

/// Collects the server's own processes below one of them: a session has two, and its shell is not
/// one.
fn find_sessions(pid: Pid, found: &mut Vec<Pid>) {
    let pid = pid.as_raw_nonzero();
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in list.unwrap_or_default().split_whitespace() {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        let child = child.parse().ok().and_then(Pid::from_raw);
        if let Some(child) = child.filter(|_| name.trim().starts_with("sshd")) {
            find_sessions(child, found);
            found.push(child);
        }
    }
}
