//! The directory that holds a quickstart. Main type: [`QuickstartLayout`].

use std::ffi::OsString;
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rand::RngExt as _;

/// Paths and ports of a quickstart.
#[derive(Debug)]
pub(super) struct QuickstartLayout {
    pub root: PathBuf,
    pub ports: QuickstartPorts,
    /// Path of the running `tutti` program.
    pub tutti: OsString,
}

/// Ports that may be taken. The kernel gives none of them to an outgoing connection (those begin at 32,768 by default), which
/// could have it before the server listens there.
const PORTS: RangeInclusive<u16> = 10_000..=17_999;

/// Ports that are tried; on a machine where every second one is in use, a search in a million fails.
const PORT_TRIES: usize = 20;

/// Free ports on loopback.
#[derive(Debug)]
pub(super) struct QuickstartPorts {
    pub api: u16,
    pub broker: u16,
    pub puppet_api: u16,
}

// === impl QuickstartLayout ===

impl QuickstartLayout {
    /// Creates the directory, the code and the server's configuration. Code that is `deployed` comes from a control
    /// repository, so no environment is created.
    pub(super) fn create(directory: Option<&Path>, deployed: bool) -> Result<Self> {
        let root = match directory {
            Some(directory) => empty_directory(directory)?,
            None => tempfile::Builder::new()
                .prefix("tutti-quickstart-")
                .tempdir()
                .context("cannot make a temporary directory")?
                .keep(),
        };
        let place = Self {
            root,
            ports: QuickstartPorts::find_free()?,
            tutti: std::env::current_exe()?.into(),
        };
        let environments = place.root.join("code/environments");
        let code = match deployed {
            true => environments,
            false => environments.join("production/modules"),
        };
        std::fs::create_dir_all(code)?;
        std::fs::write(place.config(), place.server_config(deployed))?;
        Ok(place)
    }

    pub(super) fn config(&self) -> PathBuf {
        self.root.join("tutti.toml")
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    fn cacert(&self) -> PathBuf {
        self.data_dir().join("ca/ca_crt.pem")
    }

    /// Environment variables for the client, as set in a shell.
    pub(super) fn client_settings(&self) -> [(&'static str, OsString); 3] {
        [
            (
                "TUTTI_SERVICE_URL",
                format!("https://localhost:{}", self.ports.api).into(),
            ),
            ("TUTTI_CACERT", self.cacert().into()),
            ("TUTTI_TOKEN_FILE", self.root.join("token").into()),
        ]
    }

    /// Path of this program as typed from the current directory.
    pub(super) fn typed_program(&self) -> String {
        let program = Path::new(&self.tutti);
        let name = program.file_name().unwrap_or(program.as_os_str());
        let search = std::env::var_os("PATH").unwrap_or_default();
        let first = std::env::split_paths(&search)
            .map(|directory| directory.join(name))
            .find(|candidate| candidate.exists());
        if first.is_some_and(|first| first == program) {
            return name.to_string_lossy().into_owned();
        }
        let here = std::env::current_dir().unwrap_or_default();
        match program.strip_prefix(here) {
            Ok(below) if below.components().count() > 1 => below.display().to_string(),
            Ok(below) => format!("./{}", below.display()),
            Err(_) => program.display().to_string(),
        }
    }

    /// The client, configured for this server.
    pub(super) fn client(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.tutti);
        command.envs(self.client_settings());
        command
    }

    fn server_config(&self, deployed: bool) -> String {
        let QuickstartPorts {
            api,
            broker,
            puppet_api,
        } = self.ports;
        let deployments = match deployed {
            true => "directory = \"versions\"\nr10k_config = \"r10k.yaml\"\n",
            false => "",
        };
        format!(
            "certname = \"localhost\"\n\
             data_dir = \"data\"\n\n\
             [api]\nlisten = \"127.0.0.1:{api}\"\n\n\
             [broker]\nlisten = \"127.0.0.1:{broker}\"\n\n\
             [puppet_api]\nlisten = \"127.0.0.1:{puppet_api}\"\n\n\
             [code]\ncodedir = \"code\"\n{deployments}\n\
             # Fit for a first look only: every request under these names is signed.\n\
             [ca]\nautosign = [\"*.quickstart\"]\n"
        )
    }
}

// === impl QuickstartPorts ===

impl QuickstartPorts {
    /// Three ports that are free now; the listeners are held until all are known, so they differ.
    fn find_free() -> Result<Self> {
        let listeners = [listen()?, listen()?, listen()?];
        let port = |listener: &TcpListener| anyhow::Ok(listener.local_addr()?.port());
        let [api, broker, puppet_api] = &listeners;
        Ok(Self {
            api: port(api)?,
            broker: port(broker)?,
            puppet_api: port(puppet_api)?,
        })
    }
}

/// Listens on a free port.
fn listen() -> Result<TcpListener> {
    let ports = (0..PORT_TRIES).map(|_| rand::rng().random_range(PORTS));
    let mut listening = ports.filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    listening.next().with_context(|| {
        let (first, last) = (PORTS.start(), PORTS.end());
        format!("no free port on 127.0.0.1: {PORT_TRIES} from {first} to {last} are in use")
    })
}

fn empty_directory(directory: &Path) -> Result<PathBuf> {
    let shown = directory.display();
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {shown}"))?;
    let occupied = std::fs::read_dir(directory)?.next().is_some();
    anyhow::ensure!(
        !occupied,
        "{shown} is not empty; name a directory that is, or none"
    );
    directory
        .canonicalize()
        .with_context(|| format!("cannot find {shown}"))
}
