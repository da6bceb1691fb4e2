//! Debian 13's puppetserver 8.7 for `tests/conformance`, unpacked below `target`. Main function:
//! [`ensure`].
//!
//! Debian 12 has puppetserver 7.9.5. The jars of Debian 13 do not run beside those of Debian 12, because
//! each names its class path absolutely. So the package is unpacked with all dependencies, Java and the C
//! library included, and the test runs it with that directory as its root.
//!
//! Invariant: nothing is installed on the machine.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::apt::{self, Apt};
use crate::run;

const SUITE: &str = "trixie";
/// `base-files` has the links from `/lib` to `/usr/lib`, which every Debian has and no package
/// depends on.
const PACKAGES: [&str; 2] = ["puppetserver", "base-files"];

/// The directory relative to the workspace, from which `tests/testkit/src/peers/debian_root.rs`
/// reads it.
const DIRECTORY: &str = "target/oracles/puppetserver8";
/// A link that a package creates when it is installed, and its target.
const LINK: (&str, &str) = ("usr/share/java/clojure.jar", "clojure-1.12.jar");
/// Files that a package copies when it is installed, from and to; Puppet looks for the user root.
const COPIES: [(&str, &str); 2] = [
    ("usr/share/base-passwd/passwd.master", "etc/passwd"),
    ("usr/share/base-passwd/group.master", "etc/group"),
];
/// Files that the test starts or reads.
const FILES: [&str; 4] = [
    LINK.0,
    "usr/share/puppetserver/puppetserver.jar",
    "usr/lib/jvm/default-java/bin/java",
    "etc/puppet/puppetserver/conf.d/auth.conf",
];

/// Ensures that puppetserver 8.7 is unpacked: 150 MB to download, 440 MB on the disk.
pub(crate) fn ensure() -> Result<()> {
    let directory = run::root().join(DIRECTORY);
    if directory.is_dir() {
        return Ok(());
    }
    println!("unpacking puppetserver of {SUITE} and its dependencies into {DIRECTORY}");
    let scratch = directory.with_extension("part");
    apt::remove(&scratch)?;
    let root = scratch.join("root");
    let apt = Apt::begin(&scratch, SUITE)?;
    for package in apt.download(&apt.closure(&PACKAGES)?)? {
        apt::unpack(&package, &root)?;
    }
    configure(&root)?;
    if let Some(missing) = FILES.iter().find(|file| !root.join(file).exists()) {
        bail!("puppetserver of {SUITE} and its dependencies have no {missing}");
    }
    std::fs::rename(&root, &directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    apt::remove(&scratch)
}

/// Does what the scripts of the packages do, as far as puppetserver needs it.
fn configure(root: &Path) -> Result<()> {
    std::os::unix::fs::symlink(LINK.1, root.join(LINK.0))?;
    for (from, to) in COPIES {
        std::fs::copy(root.join(from), root.join(to))
            .with_context(|| format!("cannot copy {from} to {to}"))?;
    }
    Ok(())
}
