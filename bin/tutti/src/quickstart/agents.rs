//! Three agents, each with its own directory and certificate. Main function: [`start`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use super::child::{ChildProcess, ChildReadiness};
use super::layout::QuickstartLayout;
use super::print_step;

/// Certnames of the agents.
pub(super) const NAMES: [&str; 3] = ["anna.quickstart", "ben.quickstart", "carla.quickstart"];

/// Path of `tutti-agent`, which is installed beside `tutti`. Under `cargo run` only `tutti` was
/// built, so the agent is built now.
pub(super) async fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("tutti-agent");
    if let Some(cargo) = std::env::var_os("CARGO") {
        build(&cargo, &own).await?;
    }
    ensure!(
        beside.exists(),
        "there is no {}; install tutti-agent beside tutti, or build it: cargo build --release \
         --package tutti-agent",
        beside.display()
    );
    Ok(beside)
}

async fn build(cargo: &OsString, own: &Path) -> Result<()> {
    let mut command = tokio::process::Command::new(cargo);
    // Both packages, so that the build of `cargo run` is reused: the agent alone would need the
    // libraries with fewer features, and all of them rebuilt.
    command.args([
        "build",
        "--package",
        "tutti",
        "--package",
        "tutti-agent",
        "--locked",
    ]);
    if own.components().any(|part| part.as_os_str() == "release") {
        command.arg("--release");
    }
    command.current_dir(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into()));
    let status = command
        .stdin(Stdio::null())
        .status()
        .await
        .context("cannot start cargo")?;
    ensure!(status.success(), "tutti-agent could not be built");
    Ok(())
}

/// Obtains a certificate for each agent and starts it; ready means associated with the broker.
pub(super) async fn start(place: &QuickstartLayout, program: &Path) -> Result<Vec<ChildProcess>> {
    let mut agents = Vec::new();
    for name in NAMES {
        let home = home(place, name);
        bootstrap(place, program, name, &home).await?;
        agents.push(start_agent(place, program, name, &home.join("ssl")).await?);
        print_step(&format!("agent {name}"), "certificate signed, connected");
    }
    Ok(agents)
}

/// The directory of an agent.
pub(super) fn home(place: &QuickstartLayout, name: &str) -> PathBuf {
    place.root.join("agents").join(name)
}

/// Starts an agent with the certificate in a directory that has the layout of Puppet's `ssldir`.
pub(super) async fn start_agent(
    place: &QuickstartLayout,
    program: &Path,
    name: &str,
    ssl: &Path,
) -> Result<ChildProcess> {
    let home = home(place, name);
    for directory in ["spool", "tasks-cache", "modules", "modules.d"] {
        let directory = home.join(directory);
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let config = home.join("pxp-agent.conf");
    std::fs::write(&config, agent_config(place, name, &home, ssl))?;
    let command = [
        program.into(),
        "--config-file".into(),
        config.into(),
        "--foreground".into(),
    ];
    ChildProcess::start(
        name,
        &command,
        &home.join("agent.log"),
        ChildReadiness::Connected,
    )
    .await
}

async fn bootstrap(
    place: &QuickstartLayout,
    program: &Path,
    name: &str,
    home: &Path,
) -> Result<()> {
    let output = tokio::process::Command::new(program)
        .args(["bootstrap", "--certname", name, "--server"])
        .arg(format!("localhost:{}", place.ports.puppet_api))
        .arg("--ssl-dir")
        .arg(home.join("ssl"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("cannot start tutti-agent")?;
    if !output.status.success() {
        bail!(
            "{name} gets no certificate: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

fn agent_config(place: &QuickstartLayout, name: &str, home: &Path, ssl: &Path) -> String {
    let (home, ssl) = (home.display(), ssl.display());
    let (broker, puppet_api) = (place.ports.broker, place.ports.puppet_api);
    format!(
        "broker-ws-uris : [\"wss://localhost:{broker}/pcp2/\"]\n\
         pcp-version : \"2\"\n\
         primary-uris : [\"https://localhost:{puppet_api}\"]\n\
         ssl-ca-cert : \"{ssl}/certs/ca.pem\"\n\
         ssl-cert : \"{ssl}/certs/{name}.pem\"\n\
         ssl-key : \"{ssl}/private_keys/{name}.pem\"\n\
         ssl-crl : \"{ssl}/crl.pem\"\n\
         spool-dir : \"{home}/spool\"\n\
         task-cache-dir : \"{home}/tasks-cache\"\n\
         modules-dir : \"{home}/modules\"\n\
         modules-config-dir : \"{home}/modules.d\"\n\
         pidfile : \"{home}/agent.pid\"\n\
         logfile : \"-\"\n"
    )
}
