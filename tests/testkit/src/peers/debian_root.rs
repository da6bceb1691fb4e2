//! Packages of Debian 13 on a machine with another release. Main type: [`DebianRoot`].
//!
//! `xtask/src/puppetserver8.rs` unpacks puppetserver 8.7 with its dependencies into a directory. Jars name
//! their class path absolutely, so a program must run with that directory as its root.
//!
//! Invariant: the mounts are those of the program's own namespace and end with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

const IN_ROOT: &str = include_str!("in_root.sh");
/// The directory in which `xtask/src/puppetserver8.rs` unpacks the packages.
const DIRECTORY: &str = "../../target/oracles/puppetserver8";

/// A directory in which packages of Debian 13 are unpacked.
#[derive(Clone, Debug)]
pub(super) struct DebianRoot {
    path: PathBuf,
}

// === impl DebianRoot ===

impl DebianRoot {
    /// The root with puppetserver 8.7.
    pub(super) fn puppetserver8() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DIRECTORY);
        ensure!(
            path.is_dir(),
            "{} does not exist; `cargo xtask oracles` unpacks it",
            path.display()
        );
        let path = path.canonicalize()?;
        Ok(Self { path })
    }

    /// The reason for which this host cannot run a program in another root; `None` if it can.
    pub(super) fn obstacle() -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("only root can make namespaces and mounts".to_owned());
        }
        // A container may run as root without the necessary rights.
        let mut probe = Command::new("unshare");
        probe.args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
        match probe.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("mounting in a namespace: {status}")),
            Err(error) => Some(format!("there is no program unshare: {error}")),
        }
    }

    /// The path on this host of a file in the root.
    pub(super) fn host_path(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// The command that runs `program` in the root, where it also sees `directory`.
    pub(super) fn command(&self, directory: &Path, program: &str) -> Vec<OsString> {
        let mut command = ["unshare", "--mount", "sh", "-c", IN_ROOT, "in_root.sh"]
            .map(OsString::from)
            .to_vec();
        command.extend([(&self.path).into(), directory.into(), program.into()]);
        command
    }
}
