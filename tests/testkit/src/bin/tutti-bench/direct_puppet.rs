//! An unchanged run of a node with many files: by Puppet, and by the agent alone.
//!
//! Invariant: both runs are of the same catalog and the same files; CPU time is that of all processes of a
//! run on the node, without the server.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use testkit::figures::Percentiles;
use testkit::installation::Installation;
use testkit::machine;
use testkit::peers::PuppetAgent;
use testkit::peers::puppet_agent::PUPPET;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::measurement::figure;

const NODE: &str = "direct.test";

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectPuppetSize {
    /// Files of the catalog, each with a source of its own.
    files: usize,
    /// Runs of Puppet.
    puppet_runs: usize,
    /// Runs of the agent alone.
    agent_runs: usize,
}

impl DirectPuppetSize {
    pub(crate) const FULL: Self = Self {
        files: 500,
        puppet_runs: 5,
        agent_runs: 50,
    };
    pub(crate) const SMALLEST: Self = Self {
        files: 2,
        puppet_runs: 1,
        agent_runs: 1,
    };
}

pub(crate) async fn run(installation: &Installation, size: DirectPuppetSize) -> Result<()> {
    if !Path::new(PUPPET).exists() {
        figure(
            "unchanged run of a node",
            &json!({"skipped": format!("there is no {PUPPET}")}),
        );
        return Ok(());
    }
    write_version(installation, size.files)?;
    let server = installation.server().start().await?;
    let puppet = PuppetAgent::new(installation, NODE, installation.puppet_api_port())?;
    let agent = AgentRuns::new(installation, &puppet)?;
    let first = agent.run().await?;
    ensure!(
        !first.contains(NOT_STARTED),
        "the first run is one of Puppet: {first}"
    );
    let mut times = RunTimes::begin()?;
    for _ in 0..size.puppet_runs {
        let since = Instant::now();
        let ran = puppet.run(&["agent", "--test"]).await?;
        ensure!(ran.status.success(), "Puppet changed something: {ran:?}");
        times.add(since);
    }
    times.end("puppet agent", size.files)?;
    // the last catalog is Puppet's again
    agent.run().await?;
    let mut times = RunTimes::begin()?;
    for _ in 0..size.agent_runs {
        let since = Instant::now();
        let printed = agent.run().await?;
        ensure!(
            printed.contains(NOT_STARTED),
            "Puppet was started: {printed}"
        );
        times.add(since);
    }
    times.end("tutti-agent alone", size.files)?;
    server.stop().await?;
    Ok(())
}

/// Part of the output of a run without Puppet.
const NOT_STARTED: &str = "Puppet is not started";

/// The program that makes a run, as the agent starts it.
struct AgentRuns {
    command: std::path::PathBuf,
    entry: std::path::PathBuf,
    order: String,
}

impl AgentRuns {
    fn new(installation: &Installation, puppet: &PuppetAgent) -> Result<Self> {
        let settings = json!({"puppet_bin": puppet.program(), "files": "native"});
        installation.puppet_settings(NODE, &settings)?;
        let home = installation.agent_home(NODE);
        let entry = home.join("bench-entry");
        std::fs::create_dir_all(&entry)?;
        let order = json!({
            "flags": ["--onetime", "--no-daemonize", "--verbose", "--color", "false"],
            "config_file": home.join("modules.d/pxp-module-puppet.conf"),
            "settings_file": home.join(".puppet-settings.json"),
            "reports_reruns": false,
        });
        Ok(Self {
            command: installation.tutti().with_file_name("tutti-agent"),
            entry,
            order: order.to_string(),
        })
    }

    /// Makes a run; returns its output.
    async fn run(&self) -> Result<String> {
        let mut command = Command::new(&self.command);
        command.args(["run-action", "--puppet"]).arg(&self.entry);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = pipes.spawn()?;
        let mut stdin = running.stdin.take().context("no standard input")?;
        stdin.write_all(self.order.as_bytes()).await?;
        drop(stdin);
        let ended = running.wait_with_output().await?;
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        ensure!(
            ended.status.success(),
            "the run failed: {printed}\nits result: {}",
            std::fs::read_to_string(self.entry.join("puppet.json")).unwrap_or_default()
        );
        Ok(printed)
    }
}

/// Times of runs, and the CPU time of all processes that were waited for meanwhile.
struct RunTimes {
    milliseconds: Vec<f64>,
    cpu_before: f64,
}

impl RunTimes {
    fn begin() -> Result<Self> {
        Ok(Self {
            milliseconds: Vec::new(),
            cpu_before: machine::children_cpu_seconds()?,
        })
    }

    fn add(&mut self, since: Instant) {
        self.milliseconds.push(since.elapsed().as_secs_f64() * 1e3);
    }

    fn end(self, what: &str, files: usize) -> Result<()> {
        let cpu = machine::children_cpu_seconds()? - self.cpu_before;
        let runs = u32::try_from(self.milliseconds.len())?;
        figure(
            "unchanged run of a node",
            &json!({"by": what, "files": files, "ms": Percentiles::of(self.milliseconds)?,
                    "cpu_ms_each": cpu / f64::from(runs) * 1e3}),
        );
        Ok(())
    }
}

/// Writes a version whose catalog has these files, and makes it live.
fn write_version(installation: &Installation, files: usize) -> Result<()> {
    let code = installation.code_dir();
    let version = code
        .join("versions")
        .join(format!("production_{}", "a".repeat(40)));
    let sources = version.join("modules/many/files");
    std::fs::create_dir_all(&sources)?;
    std::fs::create_dir_all(version.join("manifests"))?;
    for number in 0..files {
        std::fs::write(
            sources.join(number.to_string()),
            format!("{number}\n").repeat(500),
        )?;
    }
    let target = installation.root().join("target");
    let manifest = format!(
        "file {{ '{0}': ensure => directory }}\nInteger[0, {1}].each |$n| {{ file {{ \"{0}/${{n}}\": source => \
         \"puppet:///modules/many/${{n}}\", mode => '0644' }} }}\n",
        target.display(),
        files - 1
    );
    std::fs::write(version.join("manifests/site.pp"), manifest)?;
    let live = code.join("environments/production");
    std::fs::remove_dir_all(&live)?;
    std::os::unix::fs::symlink(version, live)?;
    Ok(())
}
