//! Every Puppet module that Debian 12 packages, for `tests/oracles`: unpacked below `target`. Main
//! function: [`ensure`].
//!
//! Invariant: each module has the directory name under which its package would install it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::apt::{self, Apt};
use crate::run;

const SUITE: &str = "bookworm";
const PACKAGES: &str = "^puppet-module-";

/// The directory relative to the workspace, from which `tests/oracles/src/lib.rs` reads it.
const DIRECTORY: &str = "target/oracles/modules";
/// The directory in which packages have their modules.
const AVAILABLE: &str = "/usr/share/puppet/modules.available/";
/// The directory in which a package links its module when it is installed.
const INSTALLED: &str = "/usr/share/puppet/modules/";

/// The directory of the modules.
pub(crate) fn directory() -> PathBuf {
    run::root().join(DIRECTORY)
}

/// Ensures that the modules are unpacked.
pub(crate) fn ensure() -> Result<()> {
    let directory = directory();
    if directory.is_dir() {
        return Ok(());
    }
    println!("unpacking the Puppet modules of {SUITE} into {DIRECTORY}");
    let scratch = directory.with_extension("part");
    apt::remove(&scratch)?;
    let (root, modules) = (scratch.join("root"), scratch.join("modules"));
    std::fs::create_dir_all(&modules)?;
    let apt = Apt::begin(&scratch, SUITE)?;
    let mut count = 0;
    for package in apt.download(&apt.packages(PACKAGES)?)? {
        // packages without a link are empty ones that depend on others
        if let Some((available, installed)) = link_of(&package)? {
            apt::unpack(&package, &root)?;
            let from = root
                .join(AVAILABLE.trim_start_matches('/'))
                .join(&available);
            std::fs::rename(&from, modules.join(&installed))
                .with_context(|| format!("{} has no {available}", package.display()))?;
            count += 1;
        }
    }
    if count == 0 {
        bail!("{SUITE} has no package {PACKAGES}");
    }
    std::fs::rename(&modules, &directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    apt::remove(&scratch)
}

/// The names of a package's module in its package and when installed, which the package's
/// script passes to `update-alternatives`.
fn link_of(package: &Path) -> Result<Option<(String, String)>> {
    let mut show = Command::new("dpkg-deb");
    let output = show.arg("--info").arg(package).arg("postinst").output()?;
    let script = String::from_utf8_lossy(&output.stdout);
    let word = |directory: &str| {
        let mut words = script.split_whitespace();
        words.find_map(|word| word.strip_prefix(directory).map(str::to_owned))
    };
    Ok(word(AVAILABLE).zip(word(INSTALLED)))
}
