//! A real OpenLDAP server for tests. Main type: [`Slapd`].
//!
//! Everything is in one directory, on two ports of 127.0.0.1: one plain with `StartTLS`, one with
//! TLS, with a certificate for `localhost` of a CA of its own. It has the entries of [`TREE`], and
//! those that a test adds; every password is the login with `-password` appended. It runs as the
//! user of the test.
//!
//! Invariant: the server ends with the handle.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType};
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use crate::installation::free_port;
use crate::service::{Service, ServiceSpec};

/// The base of all entries.
pub const BASE: &str = "dc=example,dc=test";
/// The DN that may write everything.
pub const ROOT_DN: &str = "cn=root,dc=example,dc=test";
/// The password of [`ROOT_DN`].
pub const ROOT_PASSWORD: &str = "root-password";
/// The DN that may look up users. Anonymous clients see nothing.
pub const LOOKUP_DN: &str = "cn=lookup,dc=example,dc=test";
/// The password of [`LOOKUP_DN`].
pub const LOOKUP_PASSWORD: &str = "lookup-password";

/// The initial entries. `admins` contains `operators`, which contains `night`, in which `fred` is;
/// `round` and `about` contain each other; `twin` exists twice.
pub const TREE: &str = include_str!("slapd.ldif");

/// An OpenLDAP server for one test.
#[derive(Debug)]
pub struct Slapd {
    directory: TempDir,
    plain_port: u16,
    tls_port: u16,
    spec: ServiceSpec,
    service: Option<Service>,
}

const START_DEADLINE: Duration = Duration::from_secs(30);
const PROGRAM: &str = "/usr/sbin/slapd";

// === impl Slapd ===

impl Slapd {
    /// True if slapd is installed on this machine.
    pub fn is_installed() -> bool {
        Path::new(PROGRAM).exists()
    }

    /// Starts a server with the initial entries.
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("slapd-").tempdir()?;
        let path = directory.path();
        let (plain_port, tls_port) = (free_port()?, free_port()?);
        std::fs::create_dir(path.join("db"))?;
        certificates(path)?;
        std::fs::write(path.join("slapd.conf"), configuration(path))?;
        let spec = ServiceSpec::new(
            "slapd",
            Path::new(PROGRAM),
            [
                "-d".to_owned(),
                "256".to_owned(),
                "-h".to_owned(),
                format!("ldap://127.0.0.1:{plain_port} ldaps://127.0.0.1:{tls_port}"),
                "-f".to_owned(),
                path.join("slapd.conf").display().to_string(),
            ],
            &path.join("log"),
        );
        let mut slapd = Self {
            directory,
            plain_port,
            tls_port,
            spec,
            service: None,
        };
        slapd.resume()?;
        slapd.modify(TREE)?;
        Ok(slapd)
    }

    /// Starts the server again, on the same ports with the same entries.
    pub fn resume(&mut self) -> Result<()> {
        let service = self.spec.spawn()?;
        let deadline = Instant::now() + START_DEADLINE;
        // The server does not report that it listens.
        for port in [self.plain_port, self.tls_port] {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                if Instant::now() > deadline {
                    bail!("slapd does not listen; log:\n{}", service.log_text());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        self.service = Some(service);
        Ok(())
    }

    /// Kills the server, as if its machine were gone.
    pub async fn kill(&mut self) -> Result<()> {
        match self.service.take() {
            Some(service) => service.kill().await,
            None => Ok(()),
        }
    }

    /// Stops the process: it still accepts connections but sends nothing.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Continues the stopped process.
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let service = self.service.as_ref().context("slapd does not run")?;
        Ok(kill_process(service.pid(), signal)?)
    }

    /// Applies LDIF; entries without `changetype` are added.
    pub fn modify(&self, ldif: &str) -> Result<()> {
        let mut child = Command::new("ldapmodify")
            .args(["-a", "-x", "-H"])
            .arg(format!("ldap://127.0.0.1:{}", self.plain_port))
            .args(["-D", ROOT_DN, "-w", ROOT_PASSWORD])
            .env("LDAPNOINIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run ldapmodify; install ldap-utils")?;
        let mut input = child.stdin.take().context("ldapmodify has no input")?;
        input.write_all(ldif.as_bytes())?;
        drop(input);
        let done = child.wait_with_output()?;
        let words = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "ldapmodify: {words}");
        Ok(())
    }

    /// The port on 127.0.0.1 without TLS until StartTLS.
    pub fn plain_port(&self) -> u16 {
        self.plain_port
    }

    /// The port on 127.0.0.1 with TLS.
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// The CA of its certificate, in PEM.
    pub fn ca_file(&self) -> PathBuf {
        self.path("ca/ca_crt.pem")
    }

    /// The content of its log.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn certificates(path: &Path) -> Result<()> {
    let options = InitOptions {
        common_name: "CA of the test's directory".to_owned(),
        key_type: KeyType::EcP256,
    };
    let ca = CertificateAuthority::init(&path.join("ca"), &options)?;
    let options = GenerateOptions {
        alt_names: vec!["localhost".parse()?],
        ..GenerateOptions::default()
    };
    let made = ca.generate("directory.test", &options)?;
    std::fs::write(path.join("key.pem"), made.key_pem)?;
    std::fs::write(path.join("cert.pem"), made.cert_pem)?;
    Ok(())
}

fn configuration(path: &Path) -> String {
    let path = path.display();
    format!(
        "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\ninclude /etc/ldap/schema/nis.schema\n\
         modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\n\
         pidfile {path}/pid\nargsfile {path}/args\n\
         TLSCACertificateFile {path}/ca/ca_crt.pem\nTLSCertificateFile {path}/cert.pem\n\
         TLSCertificateKeyFile {path}/key.pem\n\
         database mdb\nsuffix \"{BASE}\"\nrootdn \"{ROOT_DN}\"\nrootpw {ROOT_PASSWORD}\n\
         directory {path}/db\nmaxsize 67108864\noverlay memberof\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.base=\"{LOOKUP_DN}\" read by * none\n"
    )
}
