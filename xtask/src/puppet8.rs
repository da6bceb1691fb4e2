//! Puppet 8 for `tests/oracles`: Debian 13's `puppet-agent`, unpacked below `target`. Main
//! function: [`ensure`].
//!
//! Debian 12 has Puppet 7.23. The package of Debian 13 contains Ruby code only, so it runs with the
//! Ruby and the gems of Debian 12's packages.
//!
//! Invariant: nothing is installed on the machine.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::apt::{self, Apt};
use crate::run;

const SUITE: &str = "trixie";
const PACKAGE: &str = "puppet-agent";

/// The directory relative to the workspace, from which `tests/oracles/src/lib.rs` reads it.
const DIRECTORY: &str = "target/oracles/puppet8";
const LIBRARY_DIRECTORY: &str = "usr/lib/ruby/vendor_ruby";
/// The file by which an unpacked package is recognized.
const LIBRARY: &str = "usr/lib/ruby/vendor_ruby/puppet.rb";

/// The directory of Puppet's library, for `ruby -I`.
pub(crate) fn library_directory() -> PathBuf {
    run::root().join(DIRECTORY).join(LIBRARY_DIRECTORY)
}

/// True if Puppet 8 is unpacked.
pub(crate) fn is_unpacked() -> bool {
    run::root().join(DIRECTORY).join(LIBRARY).is_file()
}

/// Ensures that Puppet 8 is unpacked.
pub(crate) fn ensure() -> Result<()> {
    if is_unpacked() {
        return Ok(());
    }
    let directory = run::root().join(DIRECTORY);
    println!("unpacking {PACKAGE} of {SUITE} into {DIRECTORY}");
    let scratch = directory.with_extension("part");
    apt::remove(&scratch)?;
    apt::remove(&directory)?;
    let root = scratch.join("root");
    for package in Apt::begin(&scratch, SUITE)?.download(&[PACKAGE.to_owned()])? {
        apt::unpack(&package, &root)?;
    }
    if !root.join(LIBRARY).is_file() {
        bail!("{PACKAGE} of {SUITE} has no {LIBRARY}");
    }
    std::fs::rename(&root, &directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    apt::remove(&scratch)
}
