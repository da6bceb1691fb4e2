//! Puppet 8 for `tests/oracles`: Debian 13's `puppet-agent`, unpacked below `target`. Main
//! function: [`ensure`].
//!
//! Debian 12 has Puppet 7.23. The package of Debian 13 contains Ruby code only, so it runs with the
//! Ruby and the gems of Debian 12's packages.
//!
//! Invariant: nothing is installed on the machine, and apt checks the signatures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::run;

const SUITE: &str = "trixie";
const PACKAGE: &str = "puppet-agent";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The directory relative to the workspace, from which `tests/oracles/src/lib.rs` reads it.
const DIRECTORY: &str = "target/oracles/puppet8";
/// The file by which an unpacked package is recognized.
const LIBRARY: &str = "usr/lib/ruby/vendor_ruby/puppet.rb";

/// Ensures that Puppet 8 is unpacked.
pub(crate) fn ensure() -> Result<()> {
    let directory = run::root().join(DIRECTORY);
    if directory.join(LIBRARY).is_file() {
        return Ok(());
    }
    println!("unpacking {PACKAGE} of {SUITE} into {DIRECTORY}");
    let scratch = directory.with_extension("part");
    remove(&scratch)?;
    remove(&directory)?;
    let apt = Apt::begin(&scratch)?;
    let package = apt.download()?;
    let root = scratch.join("root");
    let mut unpack = Command::new("dpkg-deb");
    run::visible(unpack.arg("-x").arg(package).arg(&root))?;
    if !root.join(LIBRARY).is_file() {
        bail!("{PACKAGE} of {SUITE} has no {LIBRARY}");
    }
    std::fs::rename(&root, &directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    remove(&scratch)
}

fn remove(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// apt with lists and caches of its own, for one Debian suite.
struct Apt {
    directory: PathBuf,
}

impl Apt {
    fn begin(scratch: &Path) -> Result<Self> {
        let directory = scratch.join("apt");
        for part in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(directory.join(part))?;
        }
        let source = format!("deb [signed-by={KEYRING}] {} {SUITE} main\n", mirror()?);
        std::fs::write(directory.join("sources.list"), source)?;
        Ok(Self { directory })
    }

    fn download(&self) -> Result<PathBuf> {
        run::visible(self.command().arg("update"))?;
        run::visible(self.command().args(["download", PACKAGE]))?;
        let files = std::fs::read_dir(&self.directory)?;
        let mut paths = files.flatten().map(|file| file.path());
        paths
            .find(|path| path.extension().is_some_and(|it| it == "deb"))
            .with_context(|| format!("apt-get downloaded no {PACKAGE}"))
    }

    fn command(&self) -> Command {
        let own =
            |option: &str, part: &str| format!("{option}={}", self.directory.join(part).display());
        let mut command = Command::new("apt-get");
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.arg("-q");
        for option in [
            own("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            own("Dir::State::lists", "lists"),
            own("Dir::Cache", "cache"),
            "Acquire::Languages=none".to_owned(),
            // the directory need not be writable for apt's own user
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }
}

/// The address of this machine's Debian mirror.
fn mirror() -> Result<String> {
    let output = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI)"])
        .arg("Created-By: Packages")
        .output()
        .context("cannot start apt-get")?;
    let addresses = String::from_utf8_lossy(&output.stdout);
    addresses
        .lines()
        .find(|line| line.trim_end_matches('/').ends_with("/debian"))
        .map(str::to_owned)
        .context("apt knows no address that ends in /debian; run `apt-get update` on a Debian")
}
