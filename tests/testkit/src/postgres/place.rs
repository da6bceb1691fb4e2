//! The paths of PostgreSQL's programs, and the account for them: [`Account`].

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The account that the server runs as, since it refuses root.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The directory of the server's programs, which Debian keeps out of the path, in a directory for
/// each version.
pub(super) fn programs() -> Result<PathBuf> {
    let mut directories: Vec<PathBuf> = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .collect();
    directories.push("/usr/local/bin".into());
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    versions.sort();
    directories.extend(versions.into_iter().rev());
    directories
        .into_iter()
        .find(|directory| directory.join("initdb").is_file() && directory.join("psql").is_file())
        .context("PostgreSQL is not installed: `apt install postgresql` (15 or newer)")
}

/// The account to switch to; `None` if the current one can be used.
pub(super) fn account() -> Result<Option<Account>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let passwd = std::fs::read_to_string(Path::new("/etc/passwd"))?;
    for name in ["postgres", "nobody"] {
        let line = passwd
            .lines()
            .find(|line| line.split(':').next() == Some(name));
        let fields: Vec<&str> = line.iter().flat_map(|line| line.split(':')).collect();
        if let [_, _, uid, gid, ..] = fields.as_slice() {
            return Ok(Some(Account {
                uid: uid.parse()?,
                gid: gid.parse()?,
            }));
        }
    }
    bail!("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}
