//! Tests of the program from outside: exit codes, signals, files.

mod again;
mod lease;

use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node with certificates, whose broker is not running.
struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        };
        let options = InitOptions {
            common_name: "Puppet CA: test".into(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&node.path("ca"), &options).expect("a new CA");
        let made = ca
            .generate("node1.example", &GenerateOptions::default())
            .expect("a certificate");
        node.write("cert.pem", &made.cert_pem);
        node.write("key.pem", &made.key_pem);
        node.write("ca.pem", &ca.ca_bundle().expect("a CA certificate"));
        node.write(
            "pxp-agent.conf",
            &format!(
                "broker-ws-uri = \"wss://127.0.0.1:1/pcp2/\"\npcp-version = \"2\"\n\
                 ssl-cert = \"{d}/cert.pem\"\nssl-key = \"{d}/key.pem\"\n\
                 ssl-ca-cert = \"{d}/ca.pem\"\nlogfile = \"{d}/agent.log\"\n\
                 spool-dir = \"{d}/spool\"\ntask-cache-dir = \"{d}/cache\"\n\
                 pidfile = \"{d}/agent.pid\"\n",
                d = node.dir.path().display()
            ),
        );
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file in the test's directory");
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tutti-agent"));
        command
            .env("HOME", self.dir.path())
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end. Returns its exit code and both outputs.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command();
        let output = command.args(arguments).stdout(Stdio::piped()).output();
        let output = output.expect("the program");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (output.status.code(), printed)
    }

    fn start(&self) -> Running {
        let mut command = self.command();
        command
            .arg("--config-file")
            .arg(self.path("pxp-agent.conf"));
        Running(command.spawn().expect("the program"))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("agent.log")).unwrap_or_default()
    }
}

/// A running agent, which does not outlive its test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).expect("a process id");
        kill_process(Pid::from_raw(pid).expect("a process id"), signal).expect("it runs");
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the program ends", || {
            status = self.0.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("it has ended")
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        let stderr = self.0.stderr.as_mut().expect("a pipe");
        stderr.read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Polls until `holds` is true: the state of another process cannot be awaited.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_configuration_that_cannot_be_used_has_its_own_exit_code() {
    let node = Node::new();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--no-such-flag"], 2, "--no-such-flag"),
        (&["--config-file", "agent.toml"], 2, "agent.toml"),
        (&[], 3, "broker-ws-uri"),
        (&["--broker-ws-uri", "ws://b"], 3, "wss://"),
        (&["--broker-ws-uri", "wss://b"], 3, "tutti-agent bootstrap"),
        (&["bootstrap"], 2, "--server"),
        (&["bootstrap", "--server", "a/b"], 2, "a/b"),
        (&["run-action"], 2, ""),
    ];
    for (args, code, says) in cases {
        let output = node.command().args(*args).output().expect("the program");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {stderr}");
        assert!(stderr.contains(says), "{args:?}: {stderr}");
    }
    for args in [["--version"], ["--help"]] {
        assert!(
            node.command()
                .args(args)
                .output()
                .expect("the program")
                .status
                .success()
        );
    }
}

#[test]
fn sigterm_and_sigint_end_it_with_success_and_remove_the_pid_file() {
    let node = Node::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut agent = node.start();
        until("it tries to connect", || {
            node.log().contains("not connected")
        });
        let pid = std::fs::read_to_string(node.path("agent.pid")).expect("the PID file");
        assert_eq!(pid.trim(), agent.0.id().to_string());
        agent.signal(signal);
        assert_eq!(agent.ended().code(), Some(0), "{}", agent.stderr());
        assert!(!node.path("agent.pid").exists());
        std::fs::remove_file(node.path("agent.log")).expect("the log");
    }
}

#[test]
fn a_second_agent_is_refused_and_the_first_goes_on() {
    let node = Node::new();
    let mut first = node.start();
    until("it tries to connect", || {
        node.log().contains("not connected")
    });
    let mut second = node.start();
    assert_eq!(second.ended().code(), Some(1));
    let said = second.stderr();
    assert!(
        said.contains(&format!("process {}", first.0.id())),
        "{said}"
    );
    assert!(first.0.try_wait().expect("a child").is_none());
    assert!(node.path("agent.pid").exists());
}

#[test]
fn sigusr2_reopens_the_log() {
    let node = Node::new();
    let agent = node.start();
    until("it tries to connect", || {
        node.log().contains("not connected")
    });
    std::fs::rename(node.path("agent.log"), node.path("agent.log.1")).expect("the log");
    agent.signal(Signal::USR2);
    until("the new log has begun", || {
        node.log().contains("reopened log file")
    });
}

#[test]
fn certificates_that_do_not_fit_each_other_are_named_at_the_start() {
    let node = Node::new();
    let other = Node::new();
    std::fs::copy(other.path("key.pem"), node.path("key.pem")).expect("a key");
    let mut agent = node.start();
    assert_eq!(agent.ended().code(), Some(3));
    let said = agent.stderr();
    assert!(said.contains("key.pem"), "{said}");
}

/// `systemctl enable --now tutti-agent` returns while the certificate is not signed yet.
#[test]
fn it_is_ready_for_systemd_while_it_waits_for_its_certificate() {
    let node = Node::new();
    let socket = UnixDatagram::bind(node.path("notify")).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    node.write(
        "pxp-agent.conf",
        &format!(
            "broker-ws-uri = \"wss://127.0.0.1:1/pcp2/\"\nca-uri = \"127.0.0.1:1\"\n\
             certname = \"new.example\"\nssl-dir = \"{d}/ssl\"\nlogfile = \"{d}/agent.log\"\n\
             spool-dir = \"{d}/spool\"\ntask-cache-dir = \"{d}/cache\"\n\
             pidfile = \"{d}/agent.pid\"\n",
            d = node.dir.path().display()
        ),
    );
    let mut command = node.command();
    command
        .arg("--config-file")
        .arg(node.path("pxp-agent.conf"))
        .env("NOTIFY_SOCKET", node.path("notify"));
    let mut agent = Running(command.spawn().expect("the program"));
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).expect("a notification");
    let told = String::from_utf8_lossy(&buffer[..length]).into_owned();
    assert!(told.contains("READY=1"), "{told}");
    assert!(
        told.contains("STATUS=cannot fetch the CA certificate yet"),
        "{told}"
    );
    agent.signal(Signal::TERM);
    assert_eq!(agent.ended().code(), Some(0), "{}", agent.stderr());
}
