//! The probe of the directories that deployments write to. Main type: [`WriteProbe`].
//!
//! Invariant: the probe does the same operations as a deployment (a file, a hard link from the
//! contents to the versions, a link replaced by a rename), leaves nothing behind, and changes
//! nothing that exists.

mod mounts;
mod obstacle;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use environments::EnvironmentName;
use rustix::fs::{Access, AtFlags, CWD, RenameFlags};
use tempfile::TempDir;

pub use obstacle::WriteObstacle;

use crate::defaults::PROBE_BYTES;
use crate::version::INCOMING;

/// The directories that deployments of this machine write to.
#[derive(Clone, Debug)]
pub struct WriteProbe {
    directory: PathBuf,
    environments: PathBuf,
}

/// The planned change of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeScope {
    /// A version is built and then switched to.
    BuildAndSwitch,
    /// An existing version is switched to, or the environment is removed; a full disk need not
    /// prevent this.
    Switch,
}

// === impl WriteProbe ===

impl WriteProbe {
    /// Creates the probe of `code.directory` and of Puppet's `environments`.
    pub fn new(directory: impl Into<PathBuf>, environments: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            environments: environments.into(),
        }
    }

    /// Returns the obstacles that stop every deployment; empty if there are none. Blocks.
    pub fn obstacles(&self) -> Vec<WriteObstacle> {
        let mut found: Vec<_> = self.probe_building().err().into_iter().collect();
        found.extend(self.probe_switching().err());
        found
    }

    /// Returns the obstacles to a deployment of one environment. Blocks.
    pub fn environment_obstacles(
        &self,
        environment: &EnvironmentName,
        scope: ProbeScope,
    ) -> Vec<WriteObstacle> {
        let mut found = match scope {
            ProbeScope::BuildAndSwitch => self.obstacles(),
            ProbeScope::Switch => self.probe_switching().err().into_iter().collect(),
        };
        if found.is_empty() {
            found.extend(self.probe_replacing(environment).err());
        }
        found
    }

    /// Writes a file in each part of the directory, and links one from the contents into the
    /// versions.
    fn probe_building(&self) -> Result<(), WriteObstacle> {
        let parts = ["content", "versions", "repositories"].map(|part| self.directory.join(part));
        // If the directory itself is missing, it must be created.
        if nearest_existing(&self.directory) != self.directory {
            return probe_in(&self.directory, write_file);
        }
        for part in &parts {
            probe_in(part, write_file)?;
        }
        let [content, versions, _] = &parts;
        let incoming = content.join("incoming");
        // Before the first deployment there is nothing to link between.
        if !incoming.is_dir() || !versions.is_dir() {
            return Ok(());
        }
        link_file(&incoming, versions)
            .map_err(|error| WriteObstacle::for_hard_links(content, versions, &error))
    }

    /// Replaces a link by another, as a switch does.
    fn probe_switching(&self) -> Result<(), WriteObstacle> {
        probe_in(&self.environments, |directory| {
            let staged = probe_directory(directory)?;
            let (fresh, live) = (staged.path().join("fresh"), staged.path().join("live"));
            for link in [&fresh, &live] {
                symlink("nowhere", link)?;
            }
            fs::rename(fresh, live)
        })
    }

    /// Checks that the existing entry under the environment's name can be replaced by a link.
    fn probe_replacing(&self, environment: &EnvironmentName) -> Result<(), WriteObstacle> {
        let link = self.environments.join(environment.as_str());
        let Ok(stands) = fs::symlink_metadata(&link) else {
            return Ok(());
        };
        if is_protected_by_sticky_bit(&self.environments, stands.uid()) {
            return Err(WriteObstacle::sticky(&self.environments, &link));
        }
        if stands.is_symlink() {
            return Ok(());
        }
        if mounts::is_mount_point(&link) {
            return Err(WriteObstacle::mount_point(&link));
        }
        // Moving a directory to another parent writes its `..` entry.
        let access = Access::WRITE_OK | Access::EXEC_OK;
        if stands.is_dir()
            && let Err(error) = rustix::fs::accessat(CWD, &link, access, AtFlags::EACCESS)
        {
            return Err(WriteObstacle::new(&link, &link, &error.into()));
        }
        exchange_links(&self.environments)
            .map_err(|error| WriteObstacle::for_exchange(&link, &error))
    }
}

/// Does something in a directory, or in the nearest existing one above it, in which it would be
/// created.
fn probe_in(wanted: &Path, act: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), WriteObstacle> {
    let at = nearest_existing(wanted);
    act(at).map_err(|error| WriteObstacle::new(wanted, at, &error))
}

/// Returns the path, or the nearest existing one above it.
fn nearest_existing(wanted: &Path) -> &Path {
    let is_missing = |path: &Path| {
        let found = fs::metadata(path);
        found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    let mut above = wanted.ancestors();
    above
        .find(|path| !is_missing(path))
        .unwrap_or(Path::new("/"))
}

/// Writes a file without a name, so that nothing remains even if the process is killed.
fn write_file(directory: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(directory)?;
    file.write_all(&[0; PROBE_BYTES])?;
    file.sync_data()
}

fn link_file(incoming: &Path, versions: &Path) -> io::Result<()> {
    let (from, to) = (probe_directory(incoming)?, probe_directory(versions)?);
    let file = from.path().join("probe");
    fs::File::create(&file)?;
    fs::hard_link(&file, to.path().join("probe"))
}

fn exchange_links(environments: &Path) -> io::Result<()> {
    let staged = probe_directory(environments)?;
    let links = [staged.path().join("fresh"), staged.path().join("live")];
    for link in &links {
        symlink("nowhere", link)?;
    }
    let [fresh, live] = &links;
    Ok(rustix::fs::renameat_with(
        CWD,
        fresh,
        CWD,
        live,
        RenameFlags::EXCHANGE,
    )?)
}

/// Creates a directory that the next start removes if this process is killed.
fn probe_directory(directory: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(INCOMING)
        .tempdir_in(directory)
}

/// Returns true if the directory has the sticky bit and this process may not replace an entry of
/// this owner: only the owners of the entry and of the directory may.
fn is_protected_by_sticky_bit(directory: &Path, owner: u32) -> bool {
    const STICKY: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(directory).is_ok_and(|found| {
        found.mode() & STICKY != 0 && own != 0 && own != owner && own != found.uid()
    })
}
