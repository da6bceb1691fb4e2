//! A node with a Puppet agent: [`PuppetNode`].
//!
//! Invariant: all paths that Puppet writes to are set, so that it writes nothing outside of the node's directory,
//! also as root.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};

use super::super::agents;
use super::super::layout::QuickstartLayout;
use super::installed::InstalledPuppet;

/// Exit code of `puppet agent --test` if it has changed something.
const CHANGED: i32 = 2;

/// Directories and programs of a node.
#[derive(Debug)]
pub(super) struct PuppetNode {
    pub(super) certname: &'static str,
    home: PathBuf,
}

/// The directory whose files the demonstration's class manages on a node.
pub(super) fn managed_directory(place: &QuickstartLayout, certname: &str) -> PathBuf {
    agents::home(place, certname).join("managed")
}

// === impl PuppetNode ===

impl PuppetNode {
    /// Creates the directories of a node, its `puppet.conf`, and its program `bin/puppet`.
    pub(super) fn create(
        place: &QuickstartLayout,
        puppet: &InstalledPuppet,
        certname: &'static str,
    ) -> Result<Self> {
        let node = Self {
            certname,
            home: agents::home(place, certname),
        };
        for directory in [node.confdir(), node.home.join("bin")] {
            std::fs::create_dir_all(&directory)
                .with_context(|| format!("cannot make {}", directory.display()))?;
        }
        let settings = node.settings(place.ports.puppet_api);
        std::fs::write(node.confdir().join("puppet.conf"), settings)?;
        let program = node.program();
        std::fs::write(&program, node.wrapper(&puppet.program))?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(node)
    }

    fn confdir(&self) -> PathBuf {
        self.home.join("puppet")
    }

    /// The directory with the node's certificate.
    pub(super) fn ssl_dir(&self) -> PathBuf {
        self.confdir().join("ssl")
    }

    /// `puppet` as this node.
    fn program(&self) -> PathBuf {
        self.home.join("bin/puppet")
    }

    /// The command line of a run.
    pub(super) fn command_line(&self) -> String {
        format!("{} agent --test", self.program().display())
    }

    /// Makes `bin/puppet` the program that Tutti's agent runs on this node.
    pub(super) fn configure_agent(&self) -> Result<()> {
        let directory = self.home.join("modules.d");
        std::fs::create_dir_all(&directory)?;
        let settings = serde_json::json!({"puppet_bin": self.program()}).to_string();
        std::fs::write(directory.join("pxp-module-puppet.conf"), settings)?;
        Ok(())
    }

    /// Runs Puppet with its output on the terminal.
    pub(super) async fn run_shown(&self) -> Result<()> {
        let status = self.run().status().await;
        let status = status.context("cannot start puppet")?;
        match is_success(status) {
            true => Ok(()),
            false => bail!("Puppet did not succeed on {}: {status}", self.certname),
        }
    }

    /// Runs Puppet and prints its output only if it fails.
    pub(super) async fn run_quietly(&self) -> Result<()> {
        let output = self.run().output().await.context("cannot start puppet")?;
        if is_success(output.status) {
            return Ok(());
        }
        let printed = [output.stdout, output.stderr].concat();
        bail!(
            "Puppet did not succeed on {}: {}\n{}",
            self.certname,
            output.status,
            String::from_utf8_lossy(&printed)
        )
    }

    fn run(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.program());
        command
            .args(["agent", "--test"])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    fn settings(&self, port: u16) -> String {
        let (certname, confdir) = (self.certname, self.confdir());
        let confdir = confdir.display();
        format!(
            "[main]\n\
             certname = {certname}\n\
             server = localhost\n\
             serverport = {port}\n\
             codedir = {confdir}/code\n\
             ssldir = {confdir}/ssl\n\
             publicdir = {confdir}/public\n\
             logdir = {confdir}/log\n\
             rundir = {confdir}/run\n\
             color = false\n"
        )
    }

    /// A shell script, because `puppet` takes the directory of its `puppet.conf` from the command line only.
    fn wrapper(&self, puppet: &Path) -> String {
        let confdir = self.confdir();
        let (puppet, confdir) = (quote(puppet), quote(&confdir));
        format!(
            "#!/bin/sh\nsubcommand=$1\nshift\n\
             exec {puppet} \"$subcommand\" --confdir {confdir} --vardir {confdir}/var \"$@\"\n"
        )
    }
}

fn is_success(status: ExitStatus) -> bool {
    status.success() || status.code() == Some(CHANGED)
}

/// A path as one word of a shell.
fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
