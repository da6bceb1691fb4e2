//! The Puppet of this machine: [`InstalledPuppet`].

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

/// The directory in which the packages of Puppet and OpenVox install `puppet`.
const PACKAGE_DIRECTORY: &str = "/opt/puppetlabs/bin";

/// The oldest major version whose agents get catalogs from Tutti.
const OLDEST_MAJOR: u32 = 7;

/// A program `puppet` that can be an agent of this server.
#[derive(Debug)]
pub(crate) struct InstalledPuppet {
    pub(super) program: PathBuf,
    /// The version that it prints, such as `7.23.0`.
    pub(super) version: String,
}

// === impl InstalledPuppet ===

impl InstalledPuppet {
    /// Finds `puppet` in `$PATH` or where its packages install it.
    pub(super) async fn find() -> Result<Self> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&search)
            .chain([PathBuf::from(PACKAGE_DIRECTORY)])
            .map(|directory| directory.join("puppet"))
            .find(|program| program.is_file());
        let Some(program) = program else {
            bail!(
                "there is no program `puppet`, neither in $PATH nor in {PACKAGE_DIRECTORY}; install it (Debian and \
                 Ubuntu: `apt install puppet-agent`; other systems: the package openvox-agent, see \
                 https://voxpupuli.org/openvox/install/), or run `tutti quickstart`, which needs none"
            );
        };
        let version = version(&program).await?;
        let major = version.split('.').next().and_then(|it| it.parse().ok());
        ensure!(
            major.is_some_and(|major: u32| major >= OLDEST_MAJOR),
            "{} is Puppet {version}; agents of Puppet {OLDEST_MAJOR} and newer get catalogs from this server",
            program.display()
        );
        Ok(Self { program, version })
    }
}

async fn version(program: &Path) -> Result<String> {
    let shown = program.display();
    let output = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("cannot start {shown}"))?;
    ensure!(
        output.status.success(),
        "{shown} --version ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
