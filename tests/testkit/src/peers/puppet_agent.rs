//! One node's `puppet agent`: its directories and settings. Main type: [`PuppetAgent`].
//!
//! Invariant: nodes on one machine share nothing, neither certificates nor state nor locks.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context as _, Result};
use tokio::process::Command;

use super::puppet8::Puppet8;
use crate::installation::Installation;

/// Path of `puppet` in Debian's package.
pub const PUPPET: &str = "/usr/bin/puppet";

/// A node's `puppet agent`.
#[derive(Clone, Debug)]
pub struct PuppetAgent {
    certname: String,
    home: PathBuf,
    server_port: u16,
    /// The command `puppet` as the shell reads it.
    puppet: String,
}

// === impl PuppetAgent ===

impl PuppetAgent {
    /// Creates the directories of a node of the installation, whose server listens on `server_port`
    /// of localhost.
    pub fn new(installation: &Installation, certname: &str, server_port: u16) -> Result<Self> {
        Self::with_command(installation, certname, server_port, PUPPET.to_owned())
    }

    /// The same with Puppet 8.10, for a server on the port of the Puppet API.
    pub fn new_puppet8(installation: &Installation, certname: &str) -> Result<Self> {
        let words = Puppet8::new()?.puppet_command(installation.root());
        let quoted = words.iter().map(|word| {
            let word = word.to_string_lossy().replace('\'', r"'\''");
            format!("'{word}'")
        });
        let command = quoted.collect::<Vec<_>>().join(" ");
        let server_port = installation.puppet_api_port();
        Self::with_command(installation, certname, server_port, command)
    }

    fn with_command(
        installation: &Installation,
        certname: &str,
        server_port: u16,
        puppet: String,
    ) -> Result<Self> {
        let home = installation.agent_home(certname).join("puppet");
        installation.ssl_dir(certname, &home.join("ssl"))?;
        std::fs::create_dir_all(home.join("var/state"))?;
        let agent = Self {
            certname: certname.to_owned(),
            home,
            server_port,
            puppet,
        };
        agent.configure("usecacheonfailure = false\n")?;
        agent.facts(&[])?;
        Ok(agent)
    }

    /// The certname of the node.
    pub fn certname(&self) -> &str {
        &self.certname
    }

    /// The configuration directory of the node.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The state directory of the node, which contains locks and the last report.
    pub fn state_dir(&self) -> PathBuf {
        self.home.join("var/state")
    }

    /// A program that runs `puppet` as this node, since several nodes share one machine.
    pub fn program(&self) -> PathBuf {
        self.home.join("puppet")
    }

    /// Writes the node's `puppet.conf`, with `more` settings at the end of `[main]`.
    pub fn configure(&self, more: &str) -> Result<()> {
        let home = self.home.display();
        let text = format!(
            "[main]\ncertname = {certname}\nconfdir = {home}\nvardir = {home}/var\npublicdir = {home}/public\nssldir = \
             {home}/ssl\nserver = localhost\nserverport = {port}\ncolor = false\n{more}",
            certname = self.certname,
            port = self.server_port,
        );
        std::fs::write(self.home.join("puppet.conf"), text)?;
        Ok(())
    }

    /// Sets facts of the node in addition to those of the machine. Names and values are simple
    /// words.
    pub fn facts(&self, facts: &[(&str, &str)]) -> Result<()> {
        let facts = facts.iter();
        let exports: String = facts
            .map(|(name, value)| format!("export FACTER_{name}={value}\n"))
            .collect();
        self.write_wrapper(&exports)
    }

    /// Runs `puppet arguments…` as this node and waits for its end.
    pub async fn run(&self, arguments: &[&str]) -> Result<Output> {
        let output = Command::new(self.program())
            .args(arguments)
            .kill_on_drop(true)
            .output();
        output.await.context("cannot run puppet")
    }

    /// Writes the wrapper. Debian's `puppet` takes its directories from the command line, after the
    /// subcommand.
    fn write_wrapper(&self, exports: &str) -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let (home, puppet) = (self.home.display(), &self.puppet);
        let text = format!(
            "#!/bin/sh\n{exports}sub=$1; shift\nexec {puppet} \"$sub\" --confdir '{home}' --vardir \
             '{home}/var' \"$@\"\n"
        );
        let program = self.program();
        // A new file, because one that is being executed cannot be written.
        let new = self.home.join("puppet.new");
        std::fs::write(&new, text)?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755))?;
        std::fs::rename(new, program)?;
        Ok(())
    }
}
