//! Debian packages that are unpacked below `target` and not installed. Main type: [`Apt`].
//!
//! Invariant: nothing is installed on the machine, and apt checks the signatures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::run;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with lists and caches of its own, for one Debian suite.
pub(crate) struct Apt {
    directory: PathBuf,
}

impl Apt {
    /// Reads the lists of a suite into a directory below `scratch`.
    pub(crate) fn begin(scratch: &Path, suite: &str) -> Result<Self> {
        let directory = scratch.join("apt");
        for part in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(directory.join(part))?;
        }
        let source = format!("deb [signed-by={KEYRING}] {} {suite} main\n", mirror()?);
        std::fs::write(directory.join("sources.list"), source)?;
        std::fs::write(directory.join("status"), "")?;
        let apt = Self { directory };
        run::visible(apt.command("apt-get").args(["-q", "update"]))?;
        Ok(apt)
    }

    /// The names of packages that match a regular expression.
    pub(crate) fn packages(&self, pattern: &str) -> Result<Vec<String>> {
        let mut search = self.command("apt-cache");
        let output = search.args(["search", "--names-only", pattern]).output()?;
        if !output.status.success() {
            bail!("apt-cache search failed: {}", output.status);
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let names = lines
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// The packages and all that they depend on, as on a machine where nothing is installed. Packages
    /// that every Debian has are left out if no other depends on them.
    pub(crate) fn closure(&self, packages: &[&str]) -> Result<Vec<String>> {
        let mut simulate = self.command("apt-get");
        let output = simulate
            .args(["-q", "--simulate", "--no-install-recommends", "install"])
            .args(packages)
            .output()?;
        if !output.status.success() {
            let cause = String::from_utf8_lossy(&output.stderr);
            bail!("apt-get cannot resolve {}: {cause}", packages.join(" "));
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let installed = lines.lines().filter_map(|line| line.strip_prefix("Inst "));
        let names = installed.filter_map(|rest| rest.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// Downloads packages; gives the paths of their files in the order of their names.
    pub(crate) fn download(&self, packages: &[String]) -> Result<Vec<PathBuf>> {
        run::visible(
            self.command("apt-get")
                .args(["-q", "download"])
                .args(packages),
        )?;
        let files = std::fs::read_dir(&self.directory)?.flatten();
        let paths = files.map(|file| file.path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "deb"))
            .collect();
        paths.sort();
        if paths.len() != packages.len() {
            bail!(
                "apt-get downloaded {} of {} packages",
                paths.len(),
                packages.len()
            );
        }
        Ok(paths)
    }

    fn command(&self, program: &str) -> Command {
        let own =
            |option: &str, part: &str| format!("{option}={}", self.directory.join(part).display());
        let mut command = Command::new(program);
        command.current_dir(&self.directory).stdin(Stdio::null());
        for option in [
            own("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            own("Dir::State::lists", "lists"),
            // no packages are installed
            own("Dir::State::status", "status"),
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

/// Unpacks a package into a directory.
pub(crate) fn unpack(package: &Path, directory: &Path) -> Result<()> {
    let mut unpack = Command::new("dpkg-deb");
    run::visible(unpack.arg("-x").arg(package).arg(directory))
}

/// Removes a directory that may be missing.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
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
