//! Scripts that run with the Ruby and the Puppet 8.10 of Debian 13. Main type: [`Puppet8`].
//!
//! Invariant: a script sees of this host only one directory, at the same path.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result};

use super::debian_root::DebianRoot;

/// The packages of Debian 13, among them Puppet 8.10 and Facter 4.10.
#[derive(Clone, Debug)]
pub struct Puppet8 {
    root: DebianRoot,
}

// === impl Puppet8 ===

impl Puppet8 {
    /// The unpacked packages.
    pub fn new() -> Result<Self> {
        let root = DebianRoot::puppetserver8()?;
        Ok(Self { root })
    }

    /// The reason for which this machine cannot run it; `None` if it can.
    #[must_use]
    pub fn obstacle() -> Option<String> {
        DebianRoot::obstacle()
    }

    /// The words of the command `puppet`, which sees `directory`.
    #[must_use]
    pub fn puppet_command(&self, directory: &Path) -> Vec<OsString> {
        let mut words = self.root.command(directory, "/usr/bin/ruby");
        words.push("/usr/bin/puppet".into());
        words
    }

    /// Runs the Ruby program in a file of `directory`, which it sees, with `input` as its standard input.
    /// Lines before the first one that begins with `#!` and contains `ruby` are skipped, since the packages
    /// have no shell.
    pub fn run_ruby(&self, directory: &Path, script: &Path, input: &[u8]) -> Result<Output> {
        let mut words = self.root.command(directory, "/usr/bin/ruby").into_iter();
        let mut command = Command::new(words.next().context("the command is empty")?);
        let mut child = command
            .args(words)
            .arg("-x")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start unshare")?;
        let mut stdin = child.stdin.take().context("there is no standard input")?;
        stdin.write_all(input)?;
        drop(stdin);
        Ok(child.wait_with_output()?)
    }
}
