//! A whole installation of the real programs on loopback. Main type: [`Installation`].
//!
//! Invariant: everything is below one temporary directory and on ports of its own, so installations
//! do not affect each other; the ports stay the same when a program is killed and started again.
//! With `TUTTI_KEEP` in the environment the directory is kept, to examine it after a failure.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context as _, Result};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientTls, TlsFiles};
use rustls::ClientConfig;
use serde_json::Value;
use tempfile::TempDir;

use crate::service::ServiceSpec;

/// The two programs under test.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Path of the program `tutti`.
    pub tutti: PathBuf,
    /// Path of the program `tutti-agent`.
    pub agent: PathBuf,
}

/// The directories and ports of an installation.
#[derive(Debug)]
pub struct Installation {
    root: TempDir,
    programs: Programs,
    ports: Ports,
}

#[derive(Debug)]
struct Ports {
    api: u16,
    broker: u16,
    remote_broker: u16,
    puppet_api: u16,
}

/// Offset of the next port. Ports are below the kernel's ephemeral range, so that no outgoing
/// connection can take one while its owner is being restarted.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);
const FIRST_PORT: u16 = 18_000;
const PORTS: u16 = 14_000;
const PORTS_APART: u32 = 211;

// === impl Programs ===

impl Programs {
    /// `tutti` at the path that Cargo gives to tests, and `tutti-agent` in the same directory.
    pub fn beside(tutti: impl Into<PathBuf>) -> Result<Self> {
        let tutti = tutti.into();
        let agent = tutti.with_file_name("tutti-agent");
        anyhow::ensure!(
            agent.exists(),
            "{} is not built; run `cargo build --workspace --bins` (cargo xtask test does)",
            agent.display()
        );
        Ok(Self { tutti, agent })
    }
}

// === impl Installation ===

impl Installation {
    /// Creates the directories, a CA, and the server's configuration with `extra` TOML at its end.
    pub fn new(programs: Programs, extra: &str) -> Result<Self> {
        let mut root = tempfile::Builder::new().prefix("tutti-test-").tempdir()?;
        root.disable_cleanup(std::env::var_os("TUTTI_KEEP").is_some());
        let ports = Ports {
            api: free_port()?,
            broker: free_port()?,
            remote_broker: free_port()?,
            puppet_api: free_port()?,
        };
        let installation = Self {
            root,
            programs,
            ports,
        };
        installation.lay_out(extra)?;
        Ok(installation)
    }

    /// Path of the program `tutti`.
    pub fn tutti(&self) -> &Path {
        &self.programs.tutti
    }

    /// The directory that contains the whole installation.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Directory of the server's state.
    pub fn data_dir(&self) -> PathBuf {
        self.root().join("data")
    }

    /// The directory of the server's CA.
    pub fn ca_dir(&self) -> PathBuf {
        self.data_dir().join("ca")
    }

    /// The port of the API.
    pub fn api_port(&self) -> u16 {
        self.ports.api
    }

    /// The port of the server's own broker.
    pub fn broker_port(&self) -> u16 {
        self.ports.broker
    }

    /// The port of the CA and of task files (Puppet's 8140).
    pub fn puppet_api_port(&self) -> u16 {
        self.ports.puppet_api
    }

    /// The port of the standalone broker.
    pub fn remote_broker_port(&self) -> u16 {
        self.ports.remote_broker
    }

    /// The service `tutti server`.
    pub fn server(&self) -> ServiceSpec {
        let config = self.root().join("tutti.toml");
        let arguments = ["server".into(), "--config".into(), config.into_os_string()];
        ServiceSpec::new(
            "server",
            &self.programs.tutti,
            arguments,
            &self.root().join("server.log"),
        )
    }

    /// The service `tutti broker`, which connects to the server.
    pub fn standalone_broker(&self) -> Result<ServiceSpec> {
        let config = self.root().join("broker.toml");
        let (cert, key) = self.certificate("broker.test")?;
        let text = format!(
            "certname = \"broker.test\"\ndata_dir = \"broker-data\"\n\n[tls]\ncert = {cert:?}\n\
             key = {key:?}\nca = {:?}\ncrl = {:?}\n\n[broker]\nlisten = \"127.0.0.1:{}\"\n\
             controller_uris = [\"wss://localhost:{}/server\"]\n",
            self.ca_dir().join("ca_crt.pem"),
            self.ca_dir().join("ca_crl.pem"),
            self.ports.remote_broker,
            self.ports.api,
        );
        std::fs::write(&config, text)?;
        let arguments = ["broker".into(), "--config".into(), config.into_os_string()];
        let log = self.root().join("broker.log");
        Ok(ServiceSpec::new(
            "broker",
            &self.programs.tutti,
            arguments,
            &log,
        ))
    }

    /// The service `tutti-agent` for a node, on the server's own broker or on the standalone one.
    pub fn agent(&self, certname: &str, broker_port: u16, extra: &str) -> Result<ServiceSpec> {
        let home = self.agent_home(certname);
        for directory in ["spool", "tasks-cache", "modules", "modules.d"] {
            std::fs::create_dir_all(home.join(directory))?;
        }
        let (cert, key) = self.certificate(certname)?;
        let config = home.join("pxp-agent.conf");
        let home = home.display();
        let text = format!(
            "broker-ws-uris : [\"wss://localhost:{broker_port}/pcp2/\"]\npcp-version : \"2\"\n\
             broker-certnames : [\"localhost\", \"broker.test\"]\n\
             primary-uris : [\"https://localhost:{}\"]\nssl-ca-cert : {:?}\nssl-cert : {cert:?}\n\
             ssl-key : {key:?}\nssl-crl : {:?}\nspool-dir : \"{home}/spool\"\n\
             task-cache-dir : \"{home}/tasks-cache\"\nmodules-dir : \"{home}/modules\"\n\
             modules-config-dir : \"{home}/modules.d\"\npidfile : \"{home}/agent.pid\"\n\
             logfile : \"-\"\n{extra}",
            self.ports.puppet_api,
            self.ca_dir().join("ca_crt.pem"),
            self.ca_dir().join("ca_crl.pem"),
        );
        std::fs::write(&config, text)?;
        let arguments = [
            "--config-file".into(),
            config.into_os_string(),
            "--foreground".into(),
        ];
        let log = self.agent_home(certname).join("agent.log");
        Ok(ServiceSpec::new(
            certname,
            &self.programs.agent,
            arguments,
            &log,
        ))
    }

    /// The directory of an agent.
    pub fn agent_home(&self, certname: &str) -> PathBuf {
        self.root().join("agents").join(certname)
    }

    /// Adds an executable with its metadata to the environment `production`.
    pub fn add_task(&self, module: &str, file: &str, metadata: &Value, script: &str) -> Result<()> {
        let tasks = self
            .root()
            .join("code/environments/production/modules")
            .join(module)
            .join("tasks");
        std::fs::create_dir_all(&tasks)?;
        let path = tasks.join(file);
        std::fs::write(&path, script)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        std::fs::write(path.with_extension("json"), metadata.to_string())?;
        Ok(())
    }

    /// Adds sections to the server's configuration; a running server does not read them.
    pub fn configure(&self, sections: &str) -> Result<()> {
        let config = self.root().join("tutti.toml");
        let text = std::fs::read_to_string(&config)?;
        std::fs::write(config, text + sections)?;
        Ok(())
    }

    /// Sets the program that is `puppet` for the agent of this node.
    pub fn puppet_program(&self, certname: &str, program: &Path) -> Result<()> {
        self.puppet_settings(certname, &serde_json::json!({"puppet_bin": program}))
    }

    /// Writes the whole `pxp-module-puppet.conf` of this node, which its next run reads.
    pub fn puppet_settings(&self, certname: &str, settings: &Value) -> Result<()> {
        let modules = self.agent_home(certname).join("modules.d");
        std::fs::create_dir_all(&modules)?;
        std::fs::write(modules.join("pxp-module-puppet.conf"), settings.to_string())?;
        Ok(())
    }

    fn lay_out(&self, extra: &str) -> Result<()> {
        let environment = self.code_dir().join("environments/production");
        std::fs::create_dir_all(environment.join("modules"))?;
        let Ports {
            api,
            broker,
            puppet_api,
            ..
        } = self.ports;
        let text = format!(
            "certname = \"localhost\"\ndata_dir = \"data\"\n\n[api]\nlisten = \
             \"127.0.0.1:{api}\"\n\n[puppet_api]\nlisten = \"127.0.0.1:{puppet_api}\"\n\n[code]\n\
             codedir = \"code\"\n\n[broker]\nlisten = \"127.0.0.1:{broker}\"\nremote_brokers = \
             [\"broker.test\"]\n\n{extra}"
        );
        std::fs::write(self.root().join("tutti.toml"), text)?;
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: pki::KeyType::EcP256,
        };
        std::fs::create_dir_all(self.data_dir())?;
        CertificateAuthority::init(&self.ca_dir(), &options)?;
        Ok(())
    }

    /// The code directory, which contains the environments.
    pub fn code_dir(&self) -> PathBuf {
        self.root().join("code")
    }

    /// Creates a directory in the layout of Puppet's `ssldir`, with a certificate for `certname`.
    pub fn ssl_dir(&self, certname: &str, directory: &Path) -> Result<()> {
        for name in [
            "certs",
            "private_keys",
            "public_keys",
            "certificate_requests",
        ] {
            std::fs::create_dir_all(directory.join(name))?;
        }
        let (cert, key) = self.certificate(certname)?;
        let name = format!("{certname}.pem");
        std::fs::copy(cert, directory.join("certs").join(&name))?;
        std::fs::copy(key, directory.join("private_keys").join(&name))?;
        std::fs::copy(
            self.ca_dir().join("ca_crt.pem"),
            directory.join("certs/ca.pem"),
        )?;
        std::fs::copy(self.ca_dir().join("ca_crl.pem"), directory.join("crl.pem"))?;
        Ok(())
    }

    /// A certificate of the installation's CA for `certname` and localhost, and its key.
    pub fn certificate(&self, certname: &str) -> Result<(PathBuf, PathBuf)> {
        self.certificate_with(certname, &["localhost", "127.0.0.1"])
    }

    /// A certificate of the installation's CA for `certname` only, and its key.
    pub fn client_certificate(&self, certname: &str) -> Result<(PathBuf, PathBuf)> {
        self.certificate_with(certname, &[])
    }

    /// What a program needs to connect to the servers of the installation as `certname`.
    pub fn client_tls(&self, certname: &str) -> Result<Arc<ClientConfig>> {
        let (cert, key) = self.client_certificate(certname)?;
        Ok(ClientTls::load(&TlsFiles {
            cert,
            key,
            ca: self.ca_dir().join("ca_crt.pem"),
            crl: None,
        })?)
    }

    fn certificate_with(&self, certname: &str, names: &[&str]) -> Result<(PathBuf, PathBuf)> {
        let home = self.root().join("certificates");
        std::fs::create_dir_all(&home)?;
        let (cert, key) = (
            home.join(format!("{certname}.pem")),
            home.join(format!("{certname}.key")),
        );
        if !cert.exists() {
            let ca = CertificateAuthority::open(&self.ca_dir())?;
            let options = GenerateOptions {
                alt_names: names
                    .iter()
                    .map(|it| it.parse())
                    .collect::<Result<_, _>>()?,
                ..GenerateOptions::default()
            };
            let made = ca.generate(certname, &options)?;
            std::fs::write(&key, made.key_pem)?;
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600))?;
            std::fs::write(&cert, made.cert_pem)?;
        }
        Ok((cert, key))
    }
}

/// A port on which no process listens at the moment.
pub(crate) fn free_port() -> Result<u16> {
    // Concurrent test programs have neighbouring process ids, so each starts far from the others.
    let start = std::process::id().wrapping_mul(PORTS_APART) % u32::from(PORTS);
    let start = u16::try_from(start)?;
    for _ in 0..PORTS {
        let offset = NEXT_PORT
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(start)
            % PORTS;
        let port = FIRST_PORT + offset;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    None.context("no free port on 127.0.0.1")
}
